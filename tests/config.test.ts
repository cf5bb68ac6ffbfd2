import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError, type Environment, readConfig } from "../src/config.ts";
import { describeConfig } from "../src/config-shown.ts";
import { parseProcesses } from "../src/config-values.ts";
import { testOnlyKey } from "./support/test-only-certificate.ts";

const defaults = describeConfig(readConfig({}));

test("no setting is required", () => {
  const { databaseUrl, outbound, limits, allowPrivateWebhooks } = readConfig({});
  expect(databaseUrl).toBeUndefined();
  expect(outbound).toEqual({ kind: "sandbox" });
  expect(limits.free).toEqual({
    sendsPerMinute: 10,
    sendsPerDay: 200,
    coldRecipientDaily: 20,
    inboxesPerDay: 100,
    loopEchoes: 3,
    inboxes: 0,
    domains: 20,
    keys: 10_000,
    storageBytes: 0,
    inboxBytes: 0,
    receivesPerMinute: 0,
  });
  expect(allowPrivateWebhooks).toBe(true);
});

const noListenHost = "must be an IP address of this machine, 0.0.0.0 for all of them, or its name";
const noPeers =
  "must be hosts such as c1.example.com with commas between them, each with = and an origin such as http://10.0.0.2:3000 if its API answers there";
const noApprovers = "must be at most 5 email addresses with commas between them, none of them at MAIL_DOMAIN";
const noOtlpHeaders = "must be header fields name=value with commas, the values in percent-encoding";
const wrong: readonly [name: string, value: string, end: string][] = [
  ["HOST", "not an address", noListenHost],
  ["HOST", "300.1.1.1", noListenHost],
  ["HOST", "http://127.0.0.1", noListenHost],
  ["SMTP_HOST", "127.0.0.1:25", noListenHost],
  ["DATABASE_URL", "mysql://db.example/inboxd", "must be a URL that begins with postgres://"],
  ["DATABASE_POOLED", "yes", "must be one of 0, 1"],
  ["DATABASE_POOLED", "1", "DATABASE_POOLED: DATABASE_URL and DATABASE_DIRECT_URL must be set with it"],
  ["DATABASE_DIRECT_URL", "postgres://db.example/inboxd", "DATABASE_DIRECT_URL: DATABASE_POOLED must be 1 with it"],
  [
    "BLOBS",
    "https://s3.example.com/mail",
    "must be s3:// and a bucket, such as s3://mail/inboxd?endpoint=https://s3.example.com&region=eu-central-1",
  ],
  ["BLOBS", "s3://mail?bucket=x", "has the parameter bucket, and only endpoint and region are known"],
  ["BLOBS", "s3://mail?endpoint=ftp://s3.example.com", "must have an endpoint that begins with https:// or http://"],
  ["BLOBS", "s3://mail/inboxd", "BLOBS_ACCESS_KEY: must be set when BLOBS is"],
  ["BLOBS_ACCESS_KEY", "key", "BLOBS_SECRET_KEY: must be set when BLOBS_ACCESS_KEY is"],
  ["BLOBS_AFTER_MINUTES", "0", "must be a whole number from 1 to 525600"],
  ["PROCESSES", "all", "must be auto or a whole number from 1 to 128"],
  ["PORT", "http", "must be a whole number from 0 to 65535"],
  ["PORT", "65536", "must be a whole number from 0 to 65535"],
  ["PORT", "-1", "must be a whole number from 0 to 65535"],
  ["PORT", "3e3", "must be a whole number from 0 to 65535"],
  ["BASE_URL", "mail.example.org", "must be a URL that begins with https:// or http://"],
  ["BASE_URL", "https://mail.example.org/?a=b", "must have no user name, query or fragment"],
  ["MAIL_DOMAIN", "inbox_.example", "must be a domain name such as mail.example.com"],
  ["MAIL_DOMAIN", "a..example", "must be a domain name such as mail.example.com"],
  ["SMTP_PORT", "smtp", "must be a whole number from 0 to 65535"],
  ["SMTP_HOSTNAME", "not a name", "must be a domain name such as mail.example.com"],
  ["SMTP_TLS_CERT", "/etc/cert.pem", "SMTP_TLS_KEY: must be set when SMTP_TLS_CERT is"],
  ["SMTP_TLS_KEY", "/etc/key.pem", "SMTP_TLS_CERT: must be set when SMTP_TLS_KEY is"],
  ["SMTP_MAX_BYTES", "100", "must be a whole number from 1024 to 1073741824"],
  ["SMTP_MAX_CONNECTIONS_PER_ADDRESS", "0", "must be a whole number from 1 to 10000"],
  ["TRUSTED_PROXIES", "10.0.0.0/8", "must be IP addresses with commas between them"],
  ["SMTP_PROXY_PROTOCOL", "yes", "must be one of 0, 1"],
  ["SMTP_PROXY_PROTOCOL", "1", "TRUSTED_PROXIES must name the proxies that speak it"],
  ["TRUSTED_RELAYS", "10.0.0.0/33", "must be IP addresses or blocks such as 192.0.2.0/24, with commas between them"],
  ["AUTHENTICATE", "yes", "must be one of auto, always, off"],
  ["AUTH_TIMEOUT_MS", "10", "must be a whole number from 100 to 60000"],
  ["JUDGE_URL", "ftp://judge.example/", "must start with https:// or http://"],
  ["JUDGE_URL", "rspamd+http://rspamd:11333/checkv2", "must have no path behind the host of rspamd"],
  ["APPROVERS", "boss", noApprovers],
  ["APPROVERS", "boss@inbox.localhost", noApprovers],
  ["APPROVERS", "a@e.org,b@e.org,c@e.org,d@e.org,e@e.org,f@e.org", noApprovers],
  ["JUDGE_SECRET", "short", "must have at least 24 characters"],
  ["JUDGE_TIMEOUT_MS", "99", "must be a whole number from 100 to 60000"],
  ["JUDGE_FAILS", "refuse", "must be one of take, quarantine"],
  ["TRUSTED_ARC_SEALERS", "forwarder.example, two words", "must be domain names with commas between them"],
  ["TRUSTED_AUTHSERV_IDS", "mx.example,,", "must be words with commas between them"],
  ["OUTBOUND", "relay.example", 'must be "direct", "sandbox", or begin with smtp:// or smtps://'],
  [
    "DNS_SERVERS",
    "192.0.2.1,dns.example",
    "must be IP addresses with commas between them, each with its port if that is not 53",
  ],
  ["DKIM_SELECTOR", "two words", "must be a DNS label such as inboxd1"],
  ["DKIM_SELECTOR", "mail", "DKIM_KEY: must be set when DKIM_SELECTOR is"],
  ["DKIM_KEY", "/there/is/no/such/file", "must be a private key in PEM, or the path of one"],
  ["API_KEY", "too short", "must be 20 to 512 visible ASCII characters"],
  ["WEBHOOK_URL", "ftp://hooks.example", ""],
  ["WEBHOOK_SECRET", "short", ""],
  ["PLAN", "gold", "must be one of free, developer, enterprise"],
  ["INGEST_TOKEN", "too short", "must be 32 to 512 visible ASCII characters"],
  ["CELL_PEERS", "c1.example.com=ftp://10.0.0.2", noPeers],
  ["CELL_PEERS", "c1.example.com,", noPeers],
  ["CELL_PEERS", "c1.example.com", "CELL_PEERS: INGEST_TOKEN must be set with it, the same in all cells"],
  ["SIGNING_KEY", "short", "must have at least 32 characters"],
  ["ENCRYPTION_KEY", "short", "must have at least 32 characters"],
  ["SENDS_PER_MINUTE", "many", "must be a whole number, or one for a plan such as enterprise=100"],
  ["SENDS_PER_DAY", "gold=3", "must be a whole number, or one for a plan such as enterprise=100"],
  ["COLD_RECIPIENT_DAILY", "20,", "must be a whole number, or one for a plan such as enterprise=100"],
  ["INBOXES_PER_DAY", "-1", "must be a whole number, or one for a plan such as enterprise=100"],
  ["RECEIVES_PER_MINUTE", "gold=3", "must be a whole number, or one for a plan such as enterprise=100"],
  ["SEARCH_WORDS", "body", "must be one of all, head, off, or one for a plan such as enterprise=all"],
  ["SMTP_MAILS_PER_MINUTE_PER_ADDRESS", "-1", "must be a whole number from 0 to 1000000"],
  ["KEYS_PER_ACCOUNT", "1000000000", "must be a whole number, or one for a plan such as enterprise=100"],
  ["ACCOUNT_BYTES", "1e9", "must be a whole number, or one for a plan such as enterprise=100"],
  ["SEND_WAIT_MS", "30001", "must be a whole number from 0 to 30000"],
  ["RETURN_PATH", "none", "must be one of verp, inbox"],
  ["ASK_DELIVERED", "yes", "must be one of 0, 1"],
  ["BOUNCE_SUPPRESSION_DAYS", "-1", "must be a whole number from 0 to 3650"],
  ["QUARANTINE_DAYS", "0", "must be a whole number from 1 to 3650"],
  ["MAX_QUEUE_HOURS", "0", "must be a whole number from 1 to 720"],
  ["WEBHOOK_TIMEOUT_MS", "99", "must be a whole number from 100 to 60000"],
  ["RELAY_RETRY_SECONDS", "60,", "must be whole seconds with commas between them"],
  ["WEBHOOK_RETRY_SECONDS", "30;60", "must be whole seconds with commas between them"],
  ["ALLOW_PRIVATE_WEBHOOKS", "yes", "must be one of 0, 1"],
  ["ATTACHMENT_URL_TTL", "0", "must be a whole number from 1 to 604800"],
  ["EVENT_RETENTION_DAYS", "forever", "must be a whole number from 1 to 3650"],
  ["METRICS_PORT", "metrics", "must be a whole number from 0 to 65535"],
  ["METRICS_TOKEN", "too short", "must be 20 to 512 visible ASCII characters"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "must start with https:// or http://"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/?key=a", "must have no query"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "a-token", noOtlpHeaders],
  ["OTEL_EXPORTER_OTLP_HEADERS", "content-length=3", noOtlpHeaders],
  ["OTEL_EXPORTER_OTLP_HEADERS", "a=%0d%0ab", noOtlpHeaders],
  ["OTEL_EXPORTER_OTLP_HEADERS", "a=%zz", noOtlpHeaders],
  ["OTEL_EXPORTER_OTLP_HEADERS", "a=b,c", noOtlpHeaders],
  ["SHUTDOWN_TIMEOUT_MS", "25s", "must be a whole number from 0 to 600000"],
  ["LOG_LEVEL", "loud", "must be one of debug, info, warn, error, silent"],
  ["LOG_FORMAT", "xml", "must be one of json, pretty"],
];

test.each(wrong)("%s=%s is refused", (name, value, end) => {
  const fault = faultsOf({ [name]: value }).find((each) => each.endsWith(end));
  expect(fault).toStartWith(end.includes(": ") ? end.slice(0, end.indexOf(":")) : `${name}: `);
});

test("one message names every wrong value", () => {
  // Values that are wrong alone; the others are wrong because their second half is missing.
  const each = new Map(wrong.filter(([, , end]) => !end.includes(": ")).map(([name, value]) => [name, value]));
  const message = messageOf(Object.fromEntries(each));
  for (const name of each.keys()) expect(message).toContain(`\n  ${name}: `);
});

test("no message repeats a secret", () => {
  const secrets = [
    "DATABASE_URL",
    "OUTBOUND",
    "DKIM_KEY",
    "API_KEY",
    "WEBHOOK_SECRET",
    "SIGNING_KEY",
    "ENCRYPTION_KEY",
    "METRICS_TOKEN",
    "OTEL_EXPORTER_OTLP_HEADERS",
  ];
  const env = Object.fromEntries(secrets.map((name) => [name, "hunter2 ä"]));
  const message = messageOf({ ...env, DKIM_SELECTOR: "mail" });
  for (const name of secrets) expect(message).toContain(`${name}: `);
  expect(message).not.toContain("hunter2");
});

test("PROCESSES is a number or the cores, where several processes can share ports and a database", () => {
  const linux = { platform: "linux", cores: 6, isEmbedded: false } as const;
  const mac = { ...linux, platform: "darwin" } as const;
  const embedded = { ...linux, isEmbedded: true };
  const range = "must be auto or a whole number from 1 to 128";
  const alone =
    "the embedded database belongs to one process; set DATABASE_URL to a Postgres, or PROCESSES to 1 or auto";
  const here = "only Linux distributes connections among processes; set PROCESSES to 1 or auto";
  const cases = [
    [linux, "4", { value: 4 }],
    [linux, "auto", { value: 6 }],
    [{ ...linux, cores: 500 }, "AUTO", { value: 128 }],
    [linux, "0", range],
    [linux, "129", range],
    [linux, "many", range],
    [embedded, "2", alone],
    [embedded, "1", { value: 1 }],
    [embedded, "auto", { value: 1 }],
    [mac, "2", here],
    [mac, "1", { value: 1 }],
    [mac, "auto", { value: 1 }],
  ] as const;
  for (const [facts, text, parsed] of cases) expect(parseProcesses(text, facts)).toEqual(parsed);
  expect(readConfig({ PROCESSES: "3", DATABASE_URL: "postgres://db.example/inboxd" }).processes).toBe(
    process.platform === "linux" ? 3 : 1,
  );
});

test("a cell is reached at its host, or where the setting says", () => {
  const peers = "c1.example.com, C2.Example.com=http://10.0.0.2:3000";
  const config = readConfig({ CELL_PEERS: peers, INGEST_TOKEN: "t".repeat(32) });
  expect(config.cellPeers).toEqual([
    { host: "c1.example.com", url: "https://c1.example.com" },
    { host: "c2.example.com", url: "http://10.0.0.2:3000" },
  ]);
  expect(describeConfig(config).CELL_PEERS).toBe("c1.example.com,c2.example.com=http://10.0.0.2:3000");
});

test("an empty variable counts as unset", () => {
  const env = Object.fromEntries(Object.keys(defaults).map((name) => [name, " "]));
  expect(describeConfig(readConfig(env))).toEqual(defaults);
});

test("a secret may come from a file, but not from both places", () => {
  const directory = mkdtempSync(join(tmpdir(), "ibx-"));
  const path = join(directory, "url");
  writeFileSync(path, "postgres://inboxd:hunter2@db.example/inboxd\n");
  expect(readConfig({ DATABASE_URL_FILE: path }).databaseUrl).toBe("postgres://inboxd:hunter2@db.example/inboxd");
  expect(faultsOf({ DATABASE_URL_FILE: path, DATABASE_URL: "postgres://db.example/x" })).toEqual([
    "DATABASE_URL: set either DATABASE_URL or DATABASE_URL_FILE, not both",
  ]);
  expect(faultsOf({ DATABASE_URL_FILE: join(directory, "other") })).toEqual([
    `DATABASE_URL_FILE: cannot read ${join(directory, "other")} (ENOENT)`,
  ]);
  rmSync(directory, { recursive: true });
});

test("the values in force are shown without secrets", () => {
  const shown = describeConfig(
    readConfig({
      DATABASE_URL: "postgres://inboxd:hunter2@db.example/inboxd",
      DATABASE_POOLED: "1",
      DATABASE_DIRECT_URL: "postgres://inboxd:hunter2@direct.example/inboxd",
      OUTBOUND: "smtp://bot:hunter2@relay.example",
      DKIM_SELECTOR: "mail",
      DKIM_KEY: testOnlyKey.replaceAll("\n", "\\n"),
      API_KEY: "ibx_hunter2-hunter2-hunter2",
      WEBHOOK_SECRET: "hunter2-hunter2-hunter2-hunter2",
      SIGNING_KEY: "hunter2-hunter2-hunter2-hunter2-hunter2",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20hunter2,x-tenant=hunter2",
    }),
  );
  expect(JSON.stringify(shown)).not.toMatch(/hunter2|BEGIN/);
  expect(shown).toMatchObject({
    DATABASE_URL: "postgres://inboxd:***@db.example/inboxd",
    DATABASE_POOLED: 1,
    DATABASE_DIRECT_URL: "postgres://inboxd:***@direct.example/inboxd",
    OUTBOUND: "smtp://bot:***@relay.example:587",
    DKIM_KEY: "***",
    API_KEY: "***",
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=***,x-tenant=***",
  });
});

const readings: readonly [what: string, env: Environment, shown: Record<string, string | number>][] = [
  [
    "a limit of one plan",
    { SENDS_PER_DAY: "enterprise=5000" },
    { SENDS_PER_DAY: "free=200,developer=200,enterprise=5000" },
  ],
  [
    "a limit of all plans but one",
    { SENDS_PER_DAY: "10,free=1" },
    { SENDS_PER_DAY: "free=1,developer=10,enterprise=10" },
  ],
  ["no limit", { SENDS_PER_MINUTE: "0" }, { SENDS_PER_MINUTE: "0" }],
  [
    "words to index of all plans but one",
    { SEARCH_WORDS: "Head,enterprise=all" },
    { SEARCH_WORDS: "free=head,developer=head,enterprise=all" },
  ],
  ["private webhooks outside of the sandbox", { OUTBOUND: "direct" }, { ALLOW_PRIVATE_WEBHOOKS: 0 }],
  [
    "private webhooks when asked for",
    { OUTBOUND: "direct", ALLOW_PRIVATE_WEBHOOKS: "1" },
    { ALLOW_PRIVATE_WEBHOOKS: 1 },
  ],
  [
    "name servers",
    { DNS_SERVERS: "192.0.2.1:53, [2001:DB8::1]:5353" },
    { DNS_SERVERS: "192.0.2.1,[2001:db8::1]:5353" },
  ],
  ["an address to listen at", { HOST: "::1", SMTP_HOST: "my_mail" }, { HOST: "::1", SMTP_HOST: "my_mail" }],
  ["balancers", { TRUSTED_PROXIES: "10.0.0.7, 2001:DB8::7" }, { TRUSTED_PROXIES: "10.0.0.7,2001:db8::7" }],
  [
    "forwarding servers",
    { TRUSTED_ARC_SEALERS: "Forwarder.example, bücher.example" },
    { TRUSTED_ARC_SEALERS: "forwarder.example,xn--bcher-kva.example" },
  ],
  ["the name in the greeting", { MAIL_DOMAIN: "Bücher.example" }, { SMTP_HOSTNAME: "xn--bcher-kva.example" }],
  [
    "a base address without its last slash",
    { BASE_URL: "https://a.example/mail/" },
    { BASE_URL: "https://a.example/mail" },
  ],
  [
    "a collector",
    { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector.internal:4318/prefix/" },
    { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector.internal:4318/prefix", OTEL_SERVICE_NAME: "inboxd" },
  ],
  ["the operator's inbox by address or name", { OPERATOR_INBOX: "Ops@mail.example" }, { OPERATOR_INBOX: "ops" }],
];

test.each(readings)("reads %s", (_what, env, shown) => {
  expect(describeConfig(readConfig(env))).toMatchObject(shown);
});

test("a terminal gets a log for people", () => {
  expect(readConfig({}, true).logFormat).toBe("pretty");
  expect(readConfig({ LOG_FORMAT: "json" }, true).logFormat).toBe("json");
});

test("the README's table names every variable with its default, in this order", () => {
  const rows = readmeTable().map(({ name, standard }) => [name, standard]);
  expect(rows).toEqual(Object.entries(defaults).map(([name, value]) => [name, String(value)]));
});

test("the README's table marks the variables that may come as a file", () => {
  const readable = readmeTable().filter(({ fromFile }) => fromFile);
  const env = Object.fromEntries(Object.keys(defaults).map((name) => [`${name}_FILE`, "/there/is/no/such/file"]));
  const seen = faultsOf(env).map((fault) => fault.slice(0, fault.indexOf("_FILE: ")));
  expect(seen.toSorted()).toEqual(readable.map(({ name }) => name).toSorted());
});

/** Rows such as | `NAME` * | `default` | … |: a star if it may come as a file, a dash for no default. */
function readmeTable(): { name: string; standard: string; fromFile: boolean }[] {
  const text = readFileSync(join(import.meta.dir, "../README.md"), "utf8");
  return [...text.matchAll(/^\| `([A-Z_]+)`( \*)? \| (?:–|`(.*?)`) \|/gm)].map(
    ([, name = "", mark, standard = ""]) => ({ name, standard, fromFile: mark !== undefined }),
  );
}

function faultsOf(env: Environment): readonly string[] {
  return errorOf(env).faults;
}

function messageOf(env: Environment): string {
  return errorOf(env).message;
}

function errorOf(env: Environment): ConfigError {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("Expected a wrong configuration, but it was right");
}
