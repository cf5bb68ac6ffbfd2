import type { Chance } from "../chance.ts";
import type { ShownDocument, ShownOperation, ShownParameter } from "./document.ts";
import type { Change, Draft, Intent } from "./draft.ts";
import { byToken, oddities } from "./oddities.ts";
import { badValue, goodValue, type Known, type ShownSchema } from "./values.ts";

export interface FuzzRequest {
  operation: ShownOperation;
  intent: Intent;
  /** A description of the change, for reports. */
  about: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | Uint8Array<ArrayBuffer> | undefined;
}

/** The keys of a run's requests. */
export interface Credentials {
  apiKey: string;
  /** A token that may only read. */
  token: string;
}

/** A request by the document, changed two times in three. */
export function makeRequest(
  document: ShownDocument,
  known: Known,
  { apiKey, token }: Credentials,
  chance: Chance,
): FuzzRequest {
  const operation = chance.pick(document.operations);
  const draft = goodDraft(operation, known, apiKey, chance);
  const part = chance();
  const change =
    part < 0.34 ? undefined : chance.pick(part < 0.67 ? faultsOf(operation) : [byToken(token), ...oddities]);
  if (change !== undefined) change.change(draft, chance, document);
  return {
    operation,
    method: draft.method,
    headers: draft.headers,
    path: addressOf(draft),
    intent: change === undefined ? "good" : change.intent,
    about: change?.name ?? "as documented",
    body: draft.body ?? (draft.json === undefined ? undefined : JSON.stringify(draft.json)),
  };
}

function goodDraft(operation: ShownOperation, known: Known, apiKey: string, chance: Chance): Draft {
  const { method, parameters, body: schema } = operation;
  const textFor = ({ schema, name, example }: ShownParameter) =>
    String(
      name.startsWith("Idempotency")
        ? `key-${chance.whole(1, 2000)}`
        : (example ?? goodValue(schema, name, known, chance)),
    );
  const given = (where: string, share: number) =>
    parameters.filter((each) => each.in === where && !isLeftOut(each.name) && (each.required || chance.is(share)));
  const json = schema === undefined ? undefined : goodValue(schema, "", known, chance);
  const isMail = operation.operationId === "takeMail";
  return {
    operation,
    method,
    body: isMail ? `From: jane@example.com\r\nSubject: ${chance.whole(1, 2000)}\r\n\r\nHi` : undefined,
    tail: "",
    path: Object.fromEntries(
      parameters
        .filter((each) => each.in === "path")
        .map(({ name, example }) => [name, realPath(operation, name, known, chance) ?? String(example)]),
    ),
    query: agreeingQuery(
      given("query", 0.3).map((each) => [each.name, String(known.named(each.name) ?? textFor(each))]),
      operation,
      known,
    ),
    headers: {
      ...(operation.takesKey || chance.is(0.5) ? { authorization: `Bearer ${apiKey}` } : {}),
      ...(schema === undefined ? {} : { "content-type": "application/json" }),
      ...(isMail && { "content-type": "message/rfc822" }),
      ...Object.fromEntries(given("header", 0.3).map((each) => [each.name, textFor(each)])),
      accept: chance.pick(["*/*", "application/json", "application/problem+json", "application/json, */*;q=0.1"]),
    },
    json: agreeing(json, operation),
  };
}

/** Rules between two parameters are in no schema either. */
function agreeingQuery(query: [string, string][], { operationId }: ShownOperation, known: Known): [string, string][] {
  if (operationId === "listEvents") return agreeingDirection(query);
  if (operationId === "getUsage") return agreeingDays(query);
  if (operationId === "listThreads") return agreeingThreads(query);
  return operationId === "waitForMail" ? agreeingWait(query, known) : query;
}

/** A list is of a folder or of a label. */
function agreeingThreads(query: [string, string][]): [string, string][] {
  return query.some(([name]) => name === "folder") ? query.filter(([name]) => name !== "label") : query;
}

/** The log goes on with `after`, or newest first with `before`. */
function agreeingDirection(query: [string, string][]): [string, string][] {
  const isDescending = query.some(([name, value]) => name === "order" && value === "desc");
  return query.filter(([name]) => name !== (isDescending ? "after" : "before"));
}

/** Days in order, and not too many of them. */
function agreeingDays(query: [string, string][]): [string, string][] {
  const others = query.filter(([name]) => name !== "from" && name !== "to");
  return others.length === query.length ? query : [...others, ["from", "2026-03-20"], ["to", "2026-03-21"]];
}

/** A wait begins after a message or at an instant, and returns at once here, so that it delays no other request. */
function agreeingWait(query: [string, string][], known: Known): [string, string][] {
  const message = known.named("messageId");
  const isAfter = message !== undefined && query.some(([name]) => name === "after");
  const others = query.filter(([name]) => !["after", "timeout", ...(isAfter ? ["since"] : [])].includes(name));
  return [...others, ...(isAfter ? [["after", String(message)] as [string, string]] : []), ["timeout", "0"]];
}

/** Rules between two fields are in no schema. */
function agreeing(json: unknown, { operationId }: ShownOperation): unknown {
  if (operationId === "sendEmail" || operationId === "createDraft") return agreeingMail(json);
  if (operationId === "changeDraft") return { subject: "Changed" };
  if (operationId === "sendDraft") return {};
  if (operationId === "approveDraft" || operationId === "rejectDraft") return { ...(json as object), version: 1 };
  if (/^(?:create|change)\w*Key$/.test(operationId) && typeof json === "object" && json !== null)
    return agreeingKey({ ...json });
  if (operationId === "createToken" && typeof json === "object" && json !== null && "inboxId" in json)
    return { ...json, externalId: undefined };
  // The account has no domain of its own that is verified.
  if (operationId === "createInbox" && typeof json === "object" && json !== null)
    return wholeInbox(json as Record<string, unknown>);
  if (operationId === "addSuppressions") return agreeingSuppression(json as Record<string, unknown>);
  if (operationId === "changeThread" || operationId === "changeThreads") return agreeingChange(json);
  if (operationId === "addRule") return agreeingRule(json as Record<string, unknown>);
  // Only the policy of a tenant has one.
  if (operationId === "changePolicy") return { ...(json as object), sendPolicy: undefined, send_policy: undefined };
  return json;
}

/** A new inbox is at the domain of the service, and has one end. */
function wholeInbox({ domain, ttlSeconds, ttl_seconds, ...inbox }: Record<string, unknown>): object {
  const end = inbox.expiresAt === undefined && inbox.expires_at === undefined ? { ttlSeconds, ttl_seconds } : {};
  return { ...inbox, ...end, ...(domain !== undefined && { domain: "inbox.localhost" }) };
}

/** A change of threads changes something, leaves no unread thread in another folder, and has labels that may be stored. */
function agreeingChange(json: unknown): unknown {
  const change = { ...(json as Record<string, unknown>) };
  for (const name of ["add_labels", "addLabels"]) if (change[name] !== undefined) change[name] = ["Orders"];
  for (const name of ["remove_labels", "removeLabels"]) if (change[name] !== undefined) change[name] = ["done"];
  if (change.is_read === false || change.isRead === false) delete change.folder;
  if (change.metadata !== undefined) change.metadata = { order: "4711", ticket: null };
  delete change.up_to_message_ids;
  delete change.upToMessageIds;
  if (Array.isArray(change.ids)) change.ids = [...new Set(change.ids)];
  return Object.keys(change).some((name) => name !== "ids" && !/^up/.test(name))
    ? change
    : { ...change, folder: "archive" };
}

/** A rule has a pattern, is for one inbox or one tenant, and only one that allows inbound mail holds for unproven senders. */
function agreeingRule({ externalId: _tenant, external_id: _too, ...rule }: Record<string, unknown>): unknown {
  const { evenUnauthenticated: _even, even_unauthenticated: _even_too, ...others } = rule;
  return { ...others, pattern: "spam.example" };
}

/** One suppression, or a list of them; none has expired. */
function agreeingSuppression({ data, ...one }: Record<string, unknown>): unknown {
  const endless = ({ expiresAt: _end, expires_at: _too, ...others }: Record<string, unknown>) => others;
  return Array.isArray(data) ? { data: data.map(endless) } : { address: "jane@example.com", ...endless(one) };
}

/** A key has a name on one line. It reaches one inbox or one tenant, never one inbox with full access, and has one end. */
function agreeingKey(key: Record<string, unknown>): unknown {
  if (key.name) key.name = "agent";
  if ((key.access ?? "full") === "full") delete key.inboxId;
  if (key.inboxId) delete key.externalId;
  if (key.expiresAt) delete key.expiresInSeconds;
  return key;
}

/** A mail that is no reply needs a subject and a recipient. */
function agreeingMail(json: unknown): unknown {
  // Only the inbox knows its own addresses, `replyAll` needs an inbound mail, and `unsubscribe` an https address of the service.
  // A forward is no reply, its options need it, and a file has one of three sources. `ifUnanswered` needs `readUpToMessageId`.
  const { forwardOf, forwardAs, includeAttachments, attachments, ...plain } = json as Record<string, unknown>;
  const { readUpToMessageId, ifUnanswered, fromAddr, replyAll, bodyFormat, unsubscribe, labels, ...others } = plain;
  // `sendAt` is a time with an offset, and `unlessReplied` is for replies.
  const { sendAt, unlessReplied, ...asked } = others;
  const fields: Record<string, unknown> = {
    to: "jane@example.com",
    body: "Hello",
    ...asked,
    ...(asked.bodyHtml === undefined && { bodyFormat }),
    ...(labels !== undefined && { labels: ["Orders"] }),
  };
  if (fields.threadId === undefined) return { subject: "Hi", ...fields };
  return readUpToMessageId === undefined ? fields : { ...fields, readUpToMessageId, ifUnanswered };
}

/** Second names, and tokens, which must have been made by this service. */
function isLeftOut(name: string): boolean {
  return name === "isRead" || name === "cursor" || name === "token";
}

function realPath({ path }: ShownOperation, name: string, known: Known, chance: Chance): string | undefined {
  const [, resource = ""] = /^\/v1\/(inbox|thread|message|event|webhook)/.exec(path) ?? [];
  const real = known.named(name === "id" ? `${resource}Id` : name);
  return real === undefined || chance.is(0.05) ? undefined : String(real);
}

function addressOf({ operation, path, query, tail }: Draft): string {
  const place = operation.path.replaceAll(/\{([^}]+)\}/g, (_, name) =>
    encodeURIComponent(path[name] ?? "").replaceAll("%25", "%"),
  );
  const search = query.map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value.toWellFormed())}`,
  );
  return `${place}${tail}${search.length === 0 ? "" : `?${search.join("&")}`}`;
}

/** Faults that this operation must refuse in any request. */
function faultsOf(operation: ShownOperation): Change[] {
  const fields = Object.entries(operation.body?.properties ?? {});
  const required = operation.body?.required ?? [];
  const judged = operation.parameters.filter((each) => each.in === "query" && isJudged(each.schema));
  const changes: Change[] = [];
  const add = (name: string, change: Change["change"]) => void changes.push({ name, intent: "bad", change });
  if (!operation.isOpen) {
    add("no key", (draft) => delete draft.headers.authorization);
    add("another key", (draft, chance) => {
      draft.headers.authorization = chance.pick(["Bearer", "Bearer x", "Basic eDp5", `Bearer ${"x".repeat(600)}`]);
    });
  }
  for (const name of required) add(`without ${name}`, (draft) => delete (draft.json as Record<string, unknown>)[name]);
  for (const [name, field] of fields) {
    add(`${name} is wrong`, (draft, chance) => {
      draft.json = { ...(draft.json as object), [name]: badValue(field, chance) };
    });
  }
  for (const { name, schema } of judged) {
    add(`?${name} is wrong`, (draft, chance) => {
      const values = schema.type === "boolean" ? ["1", "yes", "TRUE", ""] : wrongNumbers(schema);
      draft.query = [...draft.query.filter(([other]) => other !== name), [name, chance.pick(values)]];
    });
    add(`?${name} twice`, (draft) => draft.query.push([name, "1"], [name, "1"]));
  }
  for (const { name } of operation.parameters.filter((each) => each.in === "header" && each.required)) {
    add(`without ${name}`, (draft) => delete draft.headers[name]);
    add(`empty ${name}`, (draft) => Object.assign(draft.headers, { [name]: "" }));
  }
  if (operation.body !== undefined) {
    add("no JSON", (draft, chance) => Object.assign(draft, { body: chance.pick(brokenJson) }));
    add("another body", (draft, chance) => Object.assign(draft, { json: chance.pick([[], "x", 1, true, null, [{}]]) }));
    add("another kind", (draft, chance) => {
      draft.body = "x=1";
      draft.headers["content-type"] = chance.pick([
        "text/plain",
        "application/xml",
        "application/json; charset=latin1",
      ]);
    });
  }
  if (operation.body !== undefined) {
    add("unknown field", (draft) => Object.assign(draft.json as object, { "no-such-field": 1 }));
  }
  if (!operation.isOpen) add("?unknown", (draft) => draft.query.push(["no-such-parameter", "1"]));
  // An open operation without parameters accepts every request.
  if (changes.length === 0)
    changes.push({ name: "a stranger", intent: "odd", change: (draft) => delete draft.headers.authorization });
  return changes;
}

function isJudged({ type }: ShownSchema): boolean {
  return type === "integer" || type === "boolean";
}

function wrongNumbers({ minimum = 0, maximum = 0 }: ShownSchema): string[] {
  const above = maximum < Number.MAX_SAFE_INTEGER ? [String(maximum + 1)] : [];
  return [String(minimum - 1), ...above, "1e1", "0x1", " 1", "1.0", "", "NaN", "99999999999999999999", "१"];
}

const brokenJson: readonly (string | Uint8Array<ArrayBuffer>)[] = [
  "{",
  '{"a":}',
  "'x'",
  "{}{}",
  "undefined",
  '{"a":1,}',
  "nul",
  `${"[".repeat(100_000)}`,
  new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]),
];
