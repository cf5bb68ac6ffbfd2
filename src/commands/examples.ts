import type { Command } from "commander";

/**
 * The examples at the end of each help. A second line shows more options. tests/commands/examples.test.ts replaces the ids and
 * addresses by real ones, and runs every line.
 */
export const examples: Readonly<Record<string, readonly string[]>> = {
  inboxd: ["inboxd serve", "inboxd doctor"],
  serve: ["inboxd serve", "PORT=0 MAIL_DOMAIN=mail.example.com inboxd serve"],
  migrate: ["inboxd migrate"],
  partition: ["inboxd partition messages attachments source_chunks", "inboxd partition events --by day"],
  config: ["inboxd config", "inboxd config --json"],
  secrets: ["inboxd secrets reseal"],
  "secrets reseal": ["inboxd secrets reseal"],
  version: ["inboxd version"],

  account: ["inboxd account create acme --plan enterprise", "inboxd account list"],
  "account create": ["inboxd account create umbrella", "inboxd account create globex --plan free --json"],
  "account list": ["inboxd account list"],
  "account suspend": ["inboxd account suspend umbrella sending --reason '5 % of its mail bounces'"],
  "account resume": ["inboxd account resume umbrella"],
  key: ["inboxd key create --name billing", "inboxd key list"],
  "key create": [
    "inboxd key create --name billing",
    "inboxd key create --name robot --access agent --external-id tenant-7",
  ],
  "key list": ["inboxd key list", "inboxd key list --account acme"],
  "key show": ["inboxd key show key_01jpw7z1x2e9a8r5k3m0t6vqhd"],
  "key rotate": ["inboxd key rotate key_01jpw7z1x2e9a8r5k3m0t6vqhd --overlap 3600"],
  "key revoke": ["inboxd key revoke key_01jpw7z1x2e9a8r5k3m0t6vqhd"],

  domain: ["inboxd domain add mail.example.com", "inboxd domain list"],
  "domain add": ["inboxd domain add mail.example.com", "inboxd domain add shop.example.com --subdomains --shared"],
  "domain list": ["inboxd domain list", "inboxd domain list --shared --json"],
  "domain show": ["inboxd domain show mail.example.com"],
  "domain verify": [
    "inboxd domain verify mail.example.com",
    "inboxd domain verify shop.example.com --shared --without-dns",
  ],
  "domain rotate-dkim": ["inboxd domain rotate-dkim mail.example.com --retire-days 0"],
  "domain remove": ["inboxd domain remove mail.example.com"],
  operator: ["inboxd operator create ops", "inboxd operator list"],
  "operator create": ["inboxd operator create desk", "inboxd operator create night-shift --expires 2099-01-01 --json"],
  "operator list": ["inboxd operator list"],
  "operator revoke": ["inboxd operator revoke ops"],
  audit: ["inboxd audit", "inboxd audit --action inbox.created --limit 10"],
  console: ["inboxd console", "inboxd console --account acme"],
  authenticate: ["inboxd authenticate mail.eml --ip 192.0.2.9 --from jane@example.com --helo mail.example.com"],
  webhook: ["inboxd webhook set https://example.com/hooks/inboxd", "inboxd webhook list"],
  "webhook list": ["inboxd webhook list"],
  "webhook add": [
    "inboxd webhook add https://example.com/hooks/desk --types message.received,message.failed",
    "inboxd webhook add https://example.com/hooks/desk --inbox ada --skip-automated --include extracted",
  ],
  "webhook change": [
    "inboxd webhook change whk_01jpw7z1x2e9a8r5k3m0t6vqhg --types '*' --description 'Order desk'",
    "inboxd webhook change whk_01jpw7z1x2e9a8r5k3m0t6vqhg --enable",
  ],
  "webhook remove": ["inboxd webhook remove whk_01jpw7z1x2e9a8r5k3m0t6vqhg"],
  "webhook set": [
    "inboxd webhook set https://example.com/hooks/inboxd",
    "inboxd webhook set https://example.com/hooks/acme --account acme",
  ],
  "webhook show": ["inboxd webhook show", "inboxd webhook show whk_01jpw7z1x2e9a8r5k3m0t6vqhg"],
  "webhook test": ["inboxd webhook test", "inboxd webhook test whk_01jpw7z1x2e9a8r5k3m0t6vqhg"],
  "webhook deliveries": [
    "inboxd webhook deliveries evt_01jpw7z1x2e9a8r5k3m0t6vqhd",
    "inboxd webhook deliveries whk_01jpw7z1x2e9a8r5k3m0t6vqhg --state failed",
  ],
  "webhook redeliver": [
    "inboxd webhook redeliver evt_01jpw7z1x2e9a8r5k3m0t6vqhd",
    "inboxd webhook redeliver evt_01jpw7z1x2e9a8r5k3m0t6vqhd whk_01jpw7z1x2e9a8r5k3m0t6vqhg",
  ],
  "webhook recover": [
    "inboxd webhook recover whk_01jpw7z1x2e9a8r5k3m0t6vqhg --after evt_01jpw7z1x2e9a8r5k3m0t6vqhd",
    "inboxd webhook recover whk_01jpw7z1x2e9a8r5k3m0t6vqhg --after start",
  ],
  "webhook rotate": ["inboxd webhook rotate", "inboxd webhook rotate --overlap-seconds 3600"],
  "webhook delete": ["inboxd webhook delete", "inboxd webhook delete --account acme"],
  token: ["inboxd token --inbox ada --ttl 3600"],

  inbox: ["inboxd inbox create grace", "inboxd inbox list"],
  "inbox create": ["inboxd inbox create bob --external-id user-7", "inboxd inbox create --ttl-seconds 3600 --json"],
  "inbox set": [
    "inboxd inbox set ada --display-name 'Ada Lovelace' --metadata plan=gold",
    "inboxd inbox set ada --display-name ''",
  ],
  "inbox alias": ["inboxd inbox alias add ada lovelace", "inboxd inbox alias remove ada lovelace"],
  "inbox alias add": ["inboxd inbox alias add ada lovelace"],
  "inbox alias remove": ["inboxd inbox alias remove ada lovelace"],
  "inbox list": ["inboxd inbox list", "inboxd inbox list --limit 100 --offset 100"],
  "inbox get": ["inboxd inbox get ada"],
  "inbox export": ["inboxd inbox export ada", "inboxd inbox export ada ada.mbox --format mbox"],
  "inbox delete": ["inboxd inbox delete bob"],
  messages: [
    "inboxd messages ada --q invoice --limit 10",
    "inboxd messages ada@inbox.localhost --direction outbound --to jane@example.com --since 2026-03-21",
  ],
  message: ["inboxd message msg_01jpw7z1x2e9a8r5k3m0t6vqhd", "inboxd message msg_01jpw7z1x2e9a8r5k3m0t6vqhd --history"],
  attachment: [
    "inboxd attachment msg_01jpw7z1x2e9a8r5k3m0t6vqhd invoice.pdf",
    "inboxd attachment msg_01jpw7z1x2e9a8r5k3m0t6vqhd invoice.pdf --text",
  ],
  wait: ["inboxd wait ada --from jane@example.com", "inboxd wait ada --subject invoice --timeout 300 --json"],
  usage: ["inboxd usage", "inboxd usage --from 2026-03-01 --to 2026-03-31 --by inbox"],
  threads: ["inboxd threads list ada --unread"],
  "threads list": ["inboxd threads list ada --unread", "inboxd threads list ada --label orders --json"],
  "threads archive": ["inboxd threads archive thr_01jpw7z1x2e9a8r5k3m0t6vqhe --up-to msg_01jpw7z1x2e9a8r5k3m0t6vqhd"],
  "threads trash": ["inboxd threads trash thr_01jpw7z1x2e9a8r5k3m0t6vqhe"],
  "threads restore": ["inboxd threads restore thr_01jpw7z1x2e9a8r5k3m0t6vqhe"],
  "threads label": [
    "inboxd threads label thr_01jpw7z1x2e9a8r5k3m0t6vqhe orders vip",
    "inboxd threads label thr_01jpw7z1x2e9a8r5k3m0t6vqhe vip --remove",
  ],
  "threads labels": ["inboxd threads labels ada"],
  thread: ["inboxd thread thr_01jpw7z1x2e9a8r5k3m0t6vqhe"],
  mark: ["inboxd mark thr_01jpw7z1x2e9a8r5k3m0t6vqhe --up-to msg_01jpw7z1x2e9a8r5k3m0t6vqhd"],
  delete: ["inboxd delete msg_01jpw7z1x2e9a8r5k3m0t6vqhd", "inboxd delete thr_01jpw7z1x2e9a8r5k3m0t6vqhe"],
  events: [
    "inboxd events --last 10 --types '*'",
    "inboxd events --inbox ada --after evt_01jpw7z1x2e9a8r5k3m0t6vqhd --json",
  ],
  outbox: ["inboxd outbox list"],
  "outbox list": ["inboxd outbox list", "inboxd outbox list --kind relay --state waiting"],
  "outbox retry": ["inboxd outbox retry evt_01jpw7z1x2e9a8r5k3m0t6vqhm.whk_01jpw7z1x2e9a8r5k3m0t6vqhn"],
  "outbox cancel": ["inboxd outbox cancel evt_01jpw7z1x2e9a8r5k3m0t6vqhm.whk_01jpw7z1x2e9a8r5k3m0t6vqhn"],
  send: [
    "inboxd send --from ada --to jane@example.com --subject Hello --body 'Hello Jane'",
    "inboxd send --from ada --reply-to-message msg_01jpw7z1x2e9a8r5k3m0t6vqhd --reply-all --markdown --body '**Thank you**, all'",
  ],
  ingest: ["inboxd ingest --to ada@inbox.localhost --from jane@example.com < mail.eml"],
  listen: ["inboxd listen --forward-to http://127.0.0.1:8080/hook"],
  tail: [
    "inboxd tail --types '*'",
    "inboxd tail --inbox ada --include extracted --after evt_01jpw7z1x2e9a8r5k3m0t6vqhd",
  ],

  drafts: ["inboxd drafts list"],
  "drafts list": ["inboxd drafts list", "inboxd drafts list --inbox ada --state scheduled"],
  "drafts show": ["inboxd drafts show msg_01jpw7z1x2e9a8r5k3m0t6vqhb"],
  "drafts send": [
    "inboxd drafts send msg_01jpw7z1x2e9a8r5k3m0t6vqhc",
    "inboxd drafts send msg_01jpw7z1x2e9a8r5k3m0t6vqhb --at 2027-01-15T09:00:00+01:00",
  ],
  "drafts discard": ["inboxd drafts discard msg_01jpw7z1x2e9a8r5k3m0t6vqhf"],
  approvals: ["inboxd approvals list"],
  "approvals list": ["inboxd approvals list", "inboxd approvals list --inbox ada"],
  "approvals show": ["inboxd approvals show msg_01jpw7z1x2e9a8r5k3m0t6vqhh"],
  "approvals approve": ["inboxd approvals approve msg_01jpw7z1x2e9a8r5k3m0t6vqhh 1"],
  "approvals reject": [
    "inboxd approvals reject msg_01jpw7z1x2e9a8r5k3m0t6vqhj 1 --reason 'Not before the price is final'",
  ],
  quarantine: ["inboxd quarantine list"],
  "quarantine list": ["inboxd quarantine list", "inboxd quarantine list --inbox ada --reason unlisted"],
  "quarantine show": [
    "inboxd quarantine show qua_01jpw7z1x2e9a8r5k3m0t6vqhk",
    "inboxd quarantine show qua_01jpw7z1x2e9a8r5k3m0t6vqhk --raw",
  ],
  "quarantine release": ["inboxd quarantine release qua_01jpw7z1x2e9a8r5k3m0t6vqhk"],
  "quarantine delete": ["inboxd quarantine delete qua_01jpw7z1x2e9a8r5k3m0t6vqhk"],

  suppressions: ["inboxd suppressions list", "inboxd suppressions add eve@example.net"],
  "suppressions list": ["inboxd suppressions list", "inboxd suppressions list --reason bounce --limit 100"],
  "suppressions add": [
    "inboxd suppressions add eve@example.net",
    "inboxd suppressions add eve@example.net --inbox ada --detail 'asked us by phone'",
  ],
  "suppressions remove": ["inboxd suppressions remove eve@example.net"],
  "suppressions export": ["inboxd suppressions export suppressions.jsonl", "inboxd suppressions export -"],
  "suppressions import": ["inboxd suppressions import suppressions.jsonl"],

  rules: ["inboxd rules list", "inboxd rules add block spam.example"],
  "rules list": ["inboxd rules list", "inboxd rules list --inbox ada --action allow"],
  "rules add": [
    "inboxd rules add allow boss.example --inbox ada --note 'our customer'",
    "inboxd rules add block rival.example --outbound",
  ],
  "rules remove": ["inboxd rules remove spam.example"],
  policy: ["inboxd policy show", "inboxd policy set --dmarc honour"],
  "policy show": ["inboxd policy show", "inboxd policy show --inbox ada"],
  "policy set": [
    "inboxd policy set --dmarc honour --blocked quarantine",
    "inboxd policy set --unauthenticated accept --send-policy open --inbox ada",
  ],
  "policy remove": ["inboxd policy remove --inbox ada"],

  mcp: ["inboxd mcp --inbox ada --read-only", "DATA_DIR=agent inboxd mcp --embedded"],
  skill: ["inboxd skill"],

  export: ["inboxd export everything.jsonl"],
  import: ["inboxd import everything.jsonl"],
  demo: ["inboxd demo"],
  trigger: ["inboxd trigger code ada", "inboxd trigger bounce ada"],
  healthcheck: ["inboxd healthcheck"],
  doctor: ["inboxd doctor", "inboxd doctor --json"],
  dns: ["inboxd dns --ip 192.0.2.25", "MAIL_DOMAIN=mail.example.com inboxd dns --ip 192.0.2.25 --ip 2001:db8::25"],
  systemd: ["inboxd systemd", "inboxd systemd --user mail --data-dir /var/lib/mail"],
  completion: ['eval "$(inboxd completion bash)"', "inboxd completion zsh"],
};

/** Adds the examples to the help of the program and of each command. */
export function addExamples(program: Command): void {
  addTo(program, program.name());
  for (const command of program.commands) addBelow(command, command.name());
}

function addBelow(command: Command, words: string): void {
  addTo(command, words);
  for (const below of command.commands) addBelow(below, `${words} ${below.name()}`);
}

function addTo(command: Command, words: string): void {
  const lines = examples[words] ?? [];
  if (lines.length > 0) command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`);
}
