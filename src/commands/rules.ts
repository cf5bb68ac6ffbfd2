import { Argument, type Command, Option } from "commander";
import type { Inboxd, Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { inboundChoices, type SendPolicy, sendPolicies } from "../domain/policy.ts";
import { type RuleAction, type RuleDirection, ruleActions, ruleDirections } from "../domain/rules.ts";
import { printMoreByOffset, reporting } from "./cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions, unchecked } from "./client.ts";
import { shortTime } from "./short-time.ts";

/** The inboxes that a rule or a policy is for. */
interface ScopeOptions extends ServerOptions {
  inbox?: string;
  externalId?: string;
}

/** Adds `--inbox` and `--external-id`. */
function ofScope(command: Command, doing: string): Command {
  return ofServer(command)
    .option("--inbox <inbox>", `${doing} this inbox alone: its id or address`)
    .option("--external-id <id>", `${doing} the inboxes of this tenant alone`);
}

export function ruleCommands(program: Command): void {
  const rules = program.command("rules").description("manage the rules that allow or block mail by its addresses");
  reporting(
    ofScope(rules.command("list").description("list rules, newest first"), "list rules of")
      .addOption(new Option("--direction <direction>", "list only this direction").choices(ruleDirections))
      .addOption(new Option("--action <action>", "list only this action").choices(ruleActions))
      .option("--limit <number>", "the most rules to list, 1 to 100", "50")
      .option("--offset <number>", "the number of rules to skip", "0"),
    list,
    (page, calendar, { offset }) => {
      printMoreByOffset(page, offset);
      return page.data.map(({ createdAt, direction, action, pattern, inboxId, externalId, note, id }) => {
        const scope = inboxId ?? (externalId === null ? "all" : `tenant ${externalId}`);
        return { since: shortTime(createdAt, calendar), direction, action, pattern, scope, note, id };
      });
    },
  );
  reporting(
    ofScope(
      rules
        .command("add")
        .description("block or allow an address, a domain, or its subdomains (*.example.com)")
        .addArgument(new Argument("<action>", "block or allow").choices(ruleActions))
        .argument("<pattern>", "jane@example.com, example.com or *.example.com"),
      "for",
    )
      .option("--outbound", "for mail that is sent (default: mail that comes in)")
      .option("--even-unauthenticated", "allow inbound mail even if its sender is not proven")
      .option("--note <text>", "a note for you"),
    add,
  );
  reporting(
    ofServer(rules.command("remove <rule>")).description("remove all rules with a pattern, or one by its id"),
    remove,
  );
}

interface ListOptions extends ScopeOptions {
  direction?: RuleDirection;
  action?: RuleAction;
  limit: string;
  offset: string;
}

async function list({ inbox, externalId: external_id, direction, action, limit, offset, ...server }: ListOptions) {
  const client = clientOf(server);
  const inbox_id = inbox === undefined ? undefined : await inboxIdOf(client, inbox);
  const page = { limit: unchecked(limit), offset: unchecked(offset) };
  return client.rules.list({ inbox_id, external_id, direction, action, ...page }).page();
}

interface AddOptions extends ScopeOptions {
  outbound?: true;
  evenUnauthenticated?: true;
  note?: string;
}

async function add(
  action: RuleAction,
  pattern: string,
  { inbox, externalId, outbound, evenUnauthenticated, note, ...server }: AddOptions,
): Promise<Schemas["Rule"]> {
  const client = clientOf(server);
  const inboxId = inbox === undefined ? undefined : await inboxIdOf(client, inbox);
  const direction = outbound ? "outbound" : "inbound";
  return client.rules.add({ direction, action, pattern, inboxId, externalId, evenUnauthenticated, note });
}

async function remove(rule: string, server: ServerOptions): Promise<object> {
  const client = clientOf(server);
  const ids = rule.startsWith("rul_") && !rule.includes(".") ? [rule] : await idsWith(client, rule.toLowerCase());
  if (ids.length === 0) throw new Error(`Cannot remove rule: there is none with ${JSON.stringify(rule)}`);
  for (const id of ids) await client.rules.delete(id);
  return { rule, removed: ids.length };
}

async function idsWith(client: Inboxd, wanted: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id, pattern } of client.rules.list({ limit: 100 })) if (pattern === wanted) ids.push(id);
  return ids;
}

/** The options for the fields of a policy for inbound mail. */
const inboundOptions = [
  { field: "unlisted", about: "mail that no allow rule matches" },
  { field: "unauthenticated", about: "mail whose sender is not proven" },
  { field: "dmarc", about: "mail that fails while its domain asks for quarantine or rejection" },
  { field: "spam", about: "mail that the spam filter calls spam" },
  { field: "blocked", about: "mail that was blocked" },
] as const;

export function policyCommands(program: Command): void {
  const policy = program.command("policy").description("show and set what happens to mail that no rule decides");
  reporting(
    ofScope(policy.command("show").description("print the policy of the account, of a tenant or of an inbox"), "of"),
    show,
    ({ inbound, ...others }) => ({ ...inbound, ...others }),
  );
  const set = ofScope(policy.command("set").description("change these fields of a policy, and keep the others"), "of");
  for (const { field, about } of inboundOptions)
    set.addOption(new Option(`--${field} <word>`, about).choices(inboundChoices[field]));
  set.addOption(new Option("--send-policy <word>", "who may be written to").choices(sendPolicies));
  reporting(set, change, ({ inbound, ...others }) => ({ ...inbound, ...others }));
  reporting(ofScope(policy.command("remove").description("remove the policy of a tenant or of an inbox"), "of"), clear);
}

type Policy = Schemas["Policy"];

/** The policy, with the `sendPolicy` that the account, the tenant or the inbox has. */
async function show({ inbox, externalId: external_id, ...server }: ScopeOptions): Promise<Policy> {
  const client = clientOf(server);
  if (inbox !== undefined) {
    const id = await inboxIdOf(client, inbox);
    return { ...(await client.policies.ofInbox(id)), sendPolicy: (await client.inboxes.get(id)).sendPolicy };
  }
  const policy = await client.policies.get({ external_id });
  return { ...policy, sendPolicy: policy.sendPolicy ?? (await client.account.get()).sendPolicy };
}

interface SetOptions extends ScopeOptions, Partial<Policy["inbound"]> {
  sendPolicy?: SendPolicy;
}

/** Changes the given fields. The API replaces a policy as a whole, so the others are read before. */
async function change(options: SetOptions): Promise<Policy> {
  const { inbox, externalId: external_id, sendPolicy, ...others } = options;
  const { unlisted, unauthenticated, dmarc, spam, blocked, ...server } = others;
  const given = Object.entries({ unlisted, unauthenticated, dmarc, spam, blocked }).filter(([, word]) => word);
  const client = clientOf(server);
  const scope = { ...server, ...(inbox !== undefined && { inbox }), ...(external_id && { externalId: external_id }) };
  const inbound = { ...(await show(scope)).inbound, ...Object.fromEntries(given) };
  const isInbound = given.length > 0;
  if (inbox !== undefined) {
    const id = await inboxIdOf(client, inbox);
    if (isInbound) await client.policies.changeOfInbox(id, { inbound });
    if (sendPolicy !== undefined) await client.inboxes.change(id, { sendPolicy });
  } else if (external_id !== undefined) {
    await client.policies.change({ inbound, sendPolicy }, { external_id });
  } else {
    if (isInbound) await client.policies.change({ inbound });
    if (sendPolicy !== undefined) await client.account.change({ sendPolicy });
  }
  return show(scope);
}

async function clear({ inbox, externalId, ...server }: ScopeOptions): Promise<object> {
  const client = clientOf(server);
  if (inbox !== undefined) await client.policies.deleteOfInbox(await inboxIdOf(client, inbox));
  else if (externalId !== undefined) await client.policies.delete({ external_id: externalId });
  else throw new Error("Cannot remove policy: give --inbox or --external-id, since the account always has one");
  return { removed: true };
}
