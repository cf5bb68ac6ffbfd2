import { afterAll, beforeAll, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../src/database/db.ts";
import { newGrant } from "../../support/connecting.ts";
import { readDocument } from "../../support/fuzz/document.ts";
import { quarantinedMail } from "../../support/ruled.ts";
import { startWorld, type World } from "../../support/world.ts";

/*
 * Every operation of the document with a key of each access and each reach. An operation without an entry in `operations` fails.
 */

type Who = "any" | "read" | "send" | "read or send" | "agent" | "full" | "account" | "ingest";
type Thing =
  | "inbox"
  | "thread"
  | "message"
  | "mail to cancel"
  | "draft"
  | "event"
  | "upload"
  | "suppression"
  | "quarantined mail"
  | "rule"
  | "item"
  | "key"
  | "grant"
  | "webhook"
  | "domain";

/** Who may call each operation, and the resource in its path. */
const operations: Record<string, [Who, Thing?]> = {
  createInbox: ["agent"],
  listInboxes: ["read or send"],
  getInbox: ["read or send", "inbox"],
  changeInbox: ["full", "inbox"],
  deleteInbox: ["full", "inbox"],
  addAlias: ["full", "inbox"],
  removeAlias: ["full", "inbox"],
  exportInbox: ["read", "inbox"],
  sendEmail: ["send", "inbox"],
  convertMarkdown: ["send"],
  cancelMessage: ["send", "mail to cancel"],
  retryMessage: ["send", "mail to cancel"],
  createDraft: ["agent", "inbox"],
  listDrafts: ["read"],
  getDraft: ["read", "draft"],
  changeDraft: ["agent", "draft"],
  discardDraft: ["agent", "draft"],
  sendDraft: ["agent", "draft"],
  approveDraft: ["full", "draft"],
  rejectDraft: ["full", "draft"],
  createApprovalLink: ["full", "draft"],
  listMessages: ["read", "inbox"],
  waitForMail: ["read", "inbox"],
  searchMessages: ["read"],
  getMessage: ["read", "message"],
  deleteMessage: ["full", "message"],
  readAttachment: ["read", "message"],
  readAttachmentByDownloadPath: ["read", "message"],
  showMessage: ["read", "message"],
  downloadRawMessage: ["read", "message"],
  getMessageHistory: ["read", "message"],
  listReports: ["read", "message"],
  downloadRawReport: ["read", "message"],
  listThreads: ["read", "inbox"],
  changeThreads: ["agent", "inbox"],
  listLabels: ["read", "inbox"],
  getThread: ["read", "thread"],
  changeThread: ["agent", "thread"],
  deleteThread: ["full", "thread"],
  listMessagesOfThread: ["read", "thread"],
  takeMail: ["ingest"],
  uploadFile: ["send"],
  getUpload: ["send", "upload"],
  deleteUpload: ["send", "upload"],
  getWebhook: ["account"],
  setWebhook: ["account"],
  deleteWebhook: ["account"],
  rotateWebhookSecret: ["account"],
  testWebhook: ["account"],
  listWebhookEndpoints: ["account"],
  createWebhookEndpoint: ["account"],
  getWebhookEndpoint: ["account", "webhook"],
  changeWebhookEndpoint: ["account", "webhook"],
  deleteWebhookEndpoint: ["account", "webhook"],
  listWebhookEndpointDeliveries: ["account", "webhook"],
  recoverWebhookEndpointEvents: ["account", "webhook"],
  rotateWebhookEndpointSecret: ["account", "webhook"],
  testWebhookEndpoint: ["account", "webhook"],
  listEvents: ["read"],
  streamEvents: ["read"],
  getEvent: ["read", "event"],
  listDeliveries: ["account", "event"],
  redeliverEvent: ["account", "event"],
  listDomains: ["account"],
  addDomain: ["account"],
  getDomain: ["account", "domain"],
  changeDomain: ["account", "domain"],
  deleteDomain: ["account", "domain"],
  rotateDomainKey: ["account", "domain"],
  verifyDomain: ["account", "domain"],
  downloadZoneFile: ["account", "domain"],
  listOutboxItems: ["read"],
  retryOutboxItem: ["agent", "item"],
  cancelOutboxItem: ["agent", "item"],
  listSuppressions: ["read"],
  addSuppressions: ["full"],
  getSuppression: ["read", "suppression"],
  deleteSuppression: ["full", "suppression"],
  listQuarantine: ["full"],
  getQuarantinedMail: ["full", "quarantined mail"],
  downloadRawQuarantinedMail: ["full", "quarantined mail"],
  releaseQuarantinedMail: ["full", "quarantined mail"],
  deleteQuarantinedMail: ["full", "quarantined mail"],
  listRules: ["full"],
  addRule: ["full"],
  deleteRule: ["full", "rule"],
  getPolicy: ["full"],
  changePolicy: ["full"],
  deletePolicy: ["full"],
  getInboxPolicy: ["full", "inbox"],
  changeInboxPolicy: ["full", "inbox"],
  deleteInboxPolicy: ["full", "inbox"],
  getAccount: ["any"],
  changeAccount: ["account"],
  getStats: ["read"],
  getUsage: ["read"],
  createKey: ["full"],
  listKeys: ["full"],
  getKey: ["full", "key"],
  changeKey: ["full", "key"],
  revokeKey: ["full", "key"],
  rotateKey: ["full", "key"],
  listGrants: ["full"],
  deleteGrant: ["full", "grant"],
  createInboxKey: ["full", "inbox"],
  listInboxKeys: ["full", "inbox"],
  revokeInboxKey: ["full", "inbox"],
  createToken: ["read"],
  listAuditEntries: ["account"],
};

const accesses = ["full", "agent", "send", "read", "ingest"] as const;
const enough: Record<Who, readonly string[]> = {
  any: accesses,
  read: ["full", "agent", "read"],
  send: ["full", "agent", "send"],
  "read or send": ["full", "agent", "send", "read"],
  agent: ["full", "agent"],
  full: ["full"],
  account: ["full"],
  ingest: ["full", "ingest"],
};
const required: Partial<Record<Who, string>> = { "read or send": "read", account: "full" };

const reaches = ["account", "this inbox", "other inbox", "this tenant", "other tenant"] as const;
type Reach = (typeof reaches)[number];
interface Key {
  access: (typeof accesses)[number];
  reach: Reach;
  apiKey: string;
}

let world: World;
const ids: Partial<Record<Thing, string>> = {};
/** The ids of the other inbox and of what is in it. */
const foreign: string[] = [];
const keys: Key[] = [];
let file = "";

const mail = (to: string) =>
  `From: jane@example.com\r\nTo: ${to}\r\nSubject: For ${to}\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nHello\r\n--b\r\nContent-Disposition: attachment; filename=a.txt\r\n\r\nfile\r\n--b--\r\n`;

async function post(path: string, body: unknown) {
  const answer = await world.api(path, { method: "POST", body });
  expect([path, answer.status]).toEqual([path, 201]);
  return answer.body;
}

async function draftIn(inboxId: string): Promise<string> {
  const headers = { "idempotency-key": inboxId };
  const body = { to: "jane@example.com", subject: "Hello", body: "Hello" };
  return (await world.api(`/v1/inboxes/${inboxId}/drafts`, { method: "POST", body, headers })).body.id;
}

/** An inbox of a tenant with a mail, a draft, a quarantined mail, an item in the outbox and a suppression. */
async function filledInbox(username: string, externalId: string) {
  const inbox = await post("/v1/inboxes", { username, externalId });
  expect(await world.deliver(mail(inbox.address), inbox.address)).toStartWith("250");
  const [message] = (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body.data;
  const [event] = (await world.api(`/v1/events?inbox_id=${inbox.id}`)).body.data;
  const address = `${username}-stopped@example.com`;
  const suppression = await post("/v1/suppressions", { address, inboxId: inbox.id });
  const blocked = { direction: "inbound", action: "block", pattern: `${username}.example` };
  const rule = await post("/v1/rules", { ...blocked, inboxId: inbox.id });
  const ruleOfTenant = await post("/v1/rules", { ...blocked, externalId });
  await query(
    world.service.deps.db.api,
    sql`insert into outbox (subject_id, kind, account_id, inbox_id, lane, state, due_at, created_at)
        select ${message.id}, 'relay', account_id, id, 'example.com', 'waiting', now() + interval '1 day', now() from inboxes where id = ${inbox.id}`,
  );
  return {
    inbox: inbox.id,
    thread: message.threadId,
    message: message.id,
    "mail to cancel": message.id,
    draft: await draftIn(inbox.id),
    event: event.event_id,
    item: message.id,
    suppression: suppression.id,
    "quarantined mail": await quarantinedMail(world, inbox),
    rule: rule.id,
    ruleOfTenant: ruleOfTenant.id,
    address: inbox.address,
    file: new URL(message.attachments[0].url).pathname,
  };
}

beforeAll(async () => {
  world = await startWorld();
  const { file: path, address: _, ...one } = await filledInbox("ada", "one");
  const { file: _path, ...two } = await filledInbox("bob", "two");
  file = path;
  foreign.push(...Object.values(two));
  const reachOf = (reach: Reach) =>
    reach === "account"
      ? {}
      : reach.endsWith("inbox")
        ? { inboxId: reach.startsWith("this") ? one.inbox : two.inbox }
        : { externalId: reach.startsWith("this") ? "one" : "two" };
  for (const access of accesses) {
    for (const reach of reaches) {
      if (access === "full" && reach.endsWith("inbox")) continue;
      const made = await post("/v1/keys", { access, name: `${access} ${reach}`, ...reachOf(reach) });
      keys.push({ access, reach, apiKey: made.key });
    }
  }
  const upload = await world.fetch("/v1/uploads?filename=a.txt", { method: "POST", body: "file" });
  const domain = await post("/v1/domains", { domain: "own.example.org" });
  const webhook = await post("/v1/webhooks", { url: "https://receiver.example/hook" });
  const key = await post("/v1/keys", { access: "read", externalId: "one" });
  const { id: uploadId } = (await upload.json()) as { id: string };
  Object.assign(ids, one, { upload: uploadId, domain: domain.id, webhook: webhook.id, key: key.id });
  ids.grant = await newGrant(world, "one");
});
afterAll(() => world[Symbol.asyncDispose]());

const isOther = (reach: Reach) => reach.startsWith("other");

/** Whether a key reaches the resource. */
function reaches_(key: Key, thing: Thing): boolean {
  switch (thing) {
    case "webhook":
    case "domain":
      return key.reach === "account";
    // It was uploaded with a key of the account; a key that only sends reaches only its own.
    case "upload":
      return key.reach === "account" && key.access !== "send";
    // No key has sent it; a key that only sends reaches only its own.
    case "mail to cancel":
      return !isOther(key.reach) && key.access !== "send";
    case "key":
    case "grant":
      return key.reach === "account" || key.reach === "this tenant";
    default:
      return !isOther(key.reach);
  }
}

/** The status of a request with a parameter that no operation knows: 400 if nothing else is in the way. */
function expected(key: Key, [who, thing]: [Who, Thing?]): number {
  if (thing !== undefined && !reaches_(key, thing)) return 404;
  if (!enough[who].includes(key.access) || (who === "account" && key.reach !== "account")) return 403;
  return 400;
}

async function guardedOperations() {
  const document = (await world.api("/openapi.json")).body;
  return readDocument(document).operations.filter(({ isOpen, path }) => !isOpen && !path.startsWith("/v1/admin"));
}

function pathOf(path: string, thing: Thing | undefined): string {
  return path
    .replace(/\{(?:message_)?id\}/, (thing && ids[thing]) ?? "")
    .replace("{filename}", "a.txt")
    .replace("{report_id}", "rep_none")
    .replace("{key_id}", "key_none");
}

test("each operation answers each access and reach as the table says", async () => {
  const all = await guardedOperations();
  expect(all.map(({ operationId }) => operationId).toSorted()).toEqual(Object.keys(operations).toSorted());
  const wrong: unknown[] = [];
  for (const { operationId, method, path } of all) {
    const entry = operations[operationId] ?? ["any"];
    const headers = ["sendEmail", "createDraft", "sendDraft"].includes(operationId)
      ? { "idempotency-key": "tried" }
      : {};
    await Promise.all(
      keys.map(async (key) => {
        const asked = `${pathOf(path, entry[1])}?forever=1`;
        const { status, body } = await world.api(asked, { method, apiKey: key.apiKey, headers });
        const wanted = expected(key, entry);
        const says = status === 403 ? body.required_access : undefined;
        const shouldSay = wanted === 403 ? (required[entry[0]] ?? entry[0]) : undefined;
        if (status !== wanted || says !== shouldSay)
          wrong.push([operationId, key.access, key.reach, { status, says }, { wanted, shouldSay }]);
      }),
    );
  }
  expect(wrong).toEqual([]);
});

test("no answer to a key has an id of what is beyond its reach, and each total counts what is within", async () => {
  const reading = (await guardedOperations()).filter(
    ({ operationId, method }) => method === "GET" && !["streamEvents", "downloadRawReport"].includes(operationId),
  );
  const wrong: unknown[] = [];
  for (const { operationId, path } of reading) {
    const entry = operations[operationId] ?? ["any"];
    for (const key of keys.filter(({ reach }) => reach.startsWith("this"))) {
      const asked = `${pathOf(path, entry[1])}${operationId === "waitForMail" ? "?timeout=0" : ""}`;
      const answer = await world.fetch(asked, { apiKey: key.apiKey });
      const text = await answer.text();
      const wanted = expected(key, entry) === 400 ? 200 : expected(key, entry);
      // `last` is a position in the log of the account.
      const told = text.replace(/"last":"evt_\w+"/, "");
      const leaks = foreign.filter((id) => told.includes(id));
      if (answer.status !== wanted || leaks.length > 0)
        wrong.push([operationId, key.access, key.reach, answer.status, wanted, leaks]);
    }
  }
  expect(wrong).toEqual([]);
  for (const { apiKey } of keys.filter((key) => key.access === "read" && key.reach.startsWith("this"))) {
    const get = async (path: string) => (await world.api(path, { apiKey })).body;
    expect((await get("/v1/account")).counts).toEqual({ inboxes: 1, unreadThreads: 1, awaitingApproval: 0, outbox: 1 });
    expect((await get("/v1/inboxes")).total).toBe(1);
    expect((await get("/v1/messages?q=hello")).total).toBe(1);
    expect((await get("/v1/messages?q=is:unread")).total).toBe(1);
    expect((await get("/v1/events?types=*")).data).toHaveLength(3);
    const { perMinute, outbox } = await get("/v1/stats");
    expect(perMinute.reduce((sum: number, { received }: { received: number }) => sum + received, 0)).toBe(1);
    expect(outbox.count).toBe(1);
  }
});

test("an attachment is 404 beyond the reach of a key, and 403 for a key that reads no mail", async () => {
  for (const key of keys) {
    const { status } = await world.fetch(file, { apiKey: key.apiKey });
    const wanted = isOther(key.reach) ? 404 : enough.read.includes(key.access) ? 200 : 403;
    expect([key.access, key.reach, status]).toEqual([key.access, key.reach, wanted]);
  }
});

test("a tenant's key creates inboxes of its tenant alone, gives none away, and shares no idempotency key", async () => {
  const tenant = keys.find(({ access, reach }) => access === "full" && reach === "this tenant")?.apiKey ?? "";
  const whole = keys.find(({ access, reach }) => access === "full" && reach === "account")?.apiKey ?? "";
  const make = (apiKey: string, body: object) =>
    world.api("/v1/inboxes", { method: "POST", body, apiKey, headers: { "idempotency-key": "same" } });
  const made = await make(tenant, {});
  expect([made.status, made.body.externalId]).toEqual([201, "one"]);
  const other = await make(whole, {});
  expect(other.body.id).not.toBe(made.body.id);
  expect((await make(tenant, {})).body.id).toBe(made.body.id);
  expect((await world.api("/v1/inboxes", { method: "POST", body: { externalId: "two" }, apiKey: tenant })).status).toBe(
    403,
  );
  const change = (externalId: string | null) =>
    world.api(`/v1/inboxes/${made.body.id}`, { method: "PATCH", body: { externalId }, apiKey: tenant });
  expect([(await change("two")).status, (await change(null)).status, (await change("one")).status]).toEqual([
    403, 403, 200,
  ]);
  const suppress = (body: object) => world.api("/v1/suppressions", { method: "POST", body, apiKey: tenant });
  expect((await suppress({ address: "jane@example.com" })).status).toBe(403);
  expect((await suppress({ address: "jane@example.com", inboxId: made.body.id })).status).toBe(201);
});
