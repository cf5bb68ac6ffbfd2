import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../src/database/db.ts";
import type { NewEvent } from "../../../src/domain/events/event-types.ts";
import { examples } from "../../../src/http/document/examples.ts";
import { insertEvents } from "../../../src/store/events/fan-out.ts";
import { dsn, feedback, refused } from "../../mail/report/fixtures.ts";
import { readDocument } from "../../support/fuzz/document.ts";
import { mailOf } from "../../support/mail.ts";
import { dereferenced, expectWholeDocument } from "../../support/openapi.ts";
import { startReceiver } from "../../support/receiver.ts";
import { report, sent, signingKey } from "../../support/reported.ts";
import { quarantinedMail } from "../../support/ruled.ts";
import { mismatches } from "../../support/schema-check.ts";
import { send } from "../../support/sends.ts";
import { startWorld, type World } from "../../support/world.ts";

// biome-ignore lint/suspicious/noExplicitAny: a document is looked into at any depth
type Node = any;

let world: World;
let document: Node;
let whole: Node;
beforeAll(async () => {
  world = await startWorld({ env: { SIGNING_KEY: signingKey, SEND_WAIT_MS: "20000" } });
  ({ body: document } = await world.api("/openapi.json", { apiKey: null }));
  whole = dereferenced(document);
});
afterAll(() => world[Symbol.asyncDispose]());

describe("The document of the service", () => {
  test("is valid and whole", async () => {
    await expectWholeDocument(document);
  });

  test("has its operations in reading order, by ids that clients may build on", () => {
    const ids = Object.values<Node>(document.paths).flatMap((methods) =>
      Object.values<Node>(methods).map(({ tags, operationId }) => `${tags}: ${operationId}`),
    );
    expect(ids).toEqual([
      "Inboxes: createInbox",
      "Inboxes: listInboxes",
      "Inboxes: getInbox",
      "Inboxes: changeInbox",
      "Inboxes: deleteInbox",
      "Inboxes: addAlias",
      "Inboxes: removeAlias",
      "Inboxes: exportInbox",
      "Sending: sendEmail",
      "Sending: convertMarkdown",
      "Sending: cancelMessage",
      "Sending: retryMessage",
      "Drafts: showApprovalPage",
      "Drafts: decideOnApprovalPage",
      "Drafts: listDrafts",
      "Drafts: getDraft",
      "Drafts: changeDraft",
      "Drafts: discardDraft",
      "Drafts: createApprovalLink",
      "Drafts: approveDraft",
      "Drafts: rejectDraft",
      "Drafts: sendDraft",
      "Drafts: createDraft",
      "Messages: listMessages",
      "Messages: waitForMail",
      "Messages: searchMessages",
      "Messages: getMessage",
      "Messages: deleteMessage",
      "Messages: getMessageHistory",
      "Messages: showMessage",
      "Messages: downloadRawMessage",
      "Messages: listReports",
      "Messages: downloadRawReport",
      "Threads: listLabels",
      "Threads: listThreads",
      "Threads: changeThreads",
      "Threads: getThread",
      "Threads: changeThread",
      "Threads: deleteThread",
      "Threads: listMessagesOfThread",
      "Attachments: downloadAttachment",
      "Attachments: readAttachmentByDownloadPath",
      "Attachments: readAttachment",
      "Attachments: uploadFile",
      "Attachments: getUpload",
      "Attachments: deleteUpload",
      "Inbound: takeMail",
      "Webhooks: getWebhook",
      "Webhooks: setWebhook",
      "Webhooks: deleteWebhook",
      "Webhooks: rotateWebhookSecret",
      "Webhooks: testWebhook",
      "Webhooks: listWebhookEndpoints",
      "Webhooks: createWebhookEndpoint",
      "Webhooks: getWebhookEndpoint",
      "Webhooks: changeWebhookEndpoint",
      "Webhooks: deleteWebhookEndpoint",
      "Webhooks: listWebhookEndpointDeliveries",
      "Webhooks: recoverWebhookEndpointEvents",
      "Webhooks: rotateWebhookEndpointSecret",
      "Webhooks: testWebhookEndpoint",
      "Events: listEvents",
      "Events: streamEvents",
      "Events: getEvent",
      "Events: listDeliveries",
      "Events: redeliverEvent",
      "Domains: addDomain",
      "Domains: listDomains",
      "Domains: getDomain",
      "Domains: changeDomain",
      "Domains: deleteDomain",
      "Domains: rotateDomainKey",
      "Domains: verifyDomain",
      "Domains: downloadZoneFile",
      "Outbox: listOutboxItems",
      "Outbox: cancelOutboxItem",
      "Outbox: retryOutboxItem",
      "Suppressions: showUnsubscribePage",
      "Suppressions: unsubscribe",
      "Suppressions: listSuppressions",
      "Suppressions: addSuppressions",
      "Suppressions: getSuppression",
      "Suppressions: deleteSuppression",
      "Rules: getInboxPolicy",
      "Rules: changeInboxPolicy",
      "Rules: deleteInboxPolicy",
      "Rules: getPolicy",
      "Rules: changePolicy",
      "Rules: deletePolicy",
      "Rules: listRules",
      "Rules: addRule",
      "Rules: deleteRule",
      "Quarantine: listQuarantine",
      "Quarantine: getQuarantinedMail",
      "Quarantine: deleteQuarantinedMail",
      "Quarantine: downloadRawQuarantinedMail",
      "Quarantine: releaseQuarantinedMail",
      "Account: getAccount",
      "Account: changeAccount",
      "Account: getStats",
      "Account: getUsage",
      "Keys: listGrants",
      "Keys: deleteGrant",
      "Keys: createInboxKey",
      "Keys: listInboxKeys",
      "Keys: revokeInboxKey",
      "Keys: createKey",
      "Keys: listKeys",
      "Keys: getKey",
      "Keys: changeKey",
      "Keys: revokeKey",
      "Keys: rotateKey",
      "Tokens: createToken",
      "Audit: listAuditEntries",
      "Admin: listAccounts",
      "Admin: createAccount",
      "Admin: getAnyAccount",
      "Admin: changeAnyAccount",
      "Admin: deleteAnyAccount",
      "Admin: exportAnyAccount",
      "Admin: createKeyOfAnyAccount",
      "Admin: listAuditEntriesOfAllAccounts",
      "Admin: listSharedDomains",
      "Admin: addSharedDomain",
      "Admin: getSharedDomain",
      "Admin: deleteSharedDomain",
      "Admin: verifySharedDomain",
      "Admin: getSystem",
      "Admin: getUsageOfAllAccounts",
      "Relay: takeRelayNotices",
      "Health: readDocumentation",
      "Health: checkHealth",
      "Health: getOpenAPIDocument",
      "Health: checkReadiness",
    ]);
    expect(document.tags.map(({ name }: Node) => name)).toEqual([
      "Inboxes",
      "Sending",
      "Drafts",
      "Messages",
      "Threads",
      "Attachments",
      "Inbound",
      "Webhooks",
      "Events",
      "Domains",
      "Outbox",
      "Suppressions",
      "Rules",
      "Quarantine",
      "Account",
      "Keys",
      "Tokens",
      "Audit",
      "Admin",
      "Relay",
      "Health",
    ]);
  });

  test("names its schemas, and every JSON body is of one of them", () => {
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining([
        "Attachment",
        "Event",
        "Inbox",
        "Message",
        "MessageReceived",
        "Problem",
        "SendResult",
        "Thread",
        "Webhook",
      ]),
    );
    const anonymous = Object.values<Node>(document.paths).flatMap((methods) =>
      Object.values<Node>(methods).flatMap(({ operationId, requestBody, responses }) =>
        [requestBody, ...Object.values<Node>(responses)].flatMap((body) => {
          const { schema } = body?.content?.["application/json"] ?? {};
          return schema === undefined || schema.$ref ? [] : [operationId];
        }),
      ),
    );
    expect(anonymous).toEqual(["getOpenAPIDocument"]);
  });

  test("describes each field of each schema", () => {
    const bare = Object.entries<Node>(document.components.schemas).flatMap(([name, schema]) => [
      ...(schema.description ? [] : [name]),
      ...Object.entries<Node>(schema.properties ?? {}).flatMap(([field, property]) =>
        property.description || property.$ref ? [] : [`${name}.${field}`],
      ),
    ]);
    expect(bare).toEqual([]);
  });

  test("has each refusal that a token meets", async () => {
    const { token } = (await world.api("/v1/tokens", { method: "POST", body: {} })).body;
    const operations = readDocument(whole).operations.filter(({ isOpen }) => !isOpen);
    expect(operations.length).toBeGreaterThan(40);
    for (const { operationId, method, path, parameters, responses } of operations) {
      const asked = path.replaceAll(/\{(\w+)\}/g, (_, name) =>
        String(parameters.find((each) => each.name === name)?.example),
      );
      const { status, body } = await world.fetch(asked, { method, apiKey: token });
      await body?.cancel();
      expect([operationId, String(status) in responses]).toEqual([operationId, true]);
    }
  });

  test("has examples that are of their own schema, and tell one story", () => {
    const shown = mediaOf(whole);
    expect(shown.length).toBeGreaterThan(100);
    for (const { where, schema, example } of shown) {
      expect([where, mismatches(schema, example)]).toEqual([where, []]);
    }
    const known = new Set<string>(Object.values(examples));
    const ids = JSON.stringify(document).match(/\b(?:inb|msg|thr|evt|att|key)_[0-9a-z]{10,}/g) ?? [];
    expect(ids.length).toBeGreaterThan(50);
    expect(ids.filter((id) => !known.has(id))).toEqual([]);
  });

  test("says of an event what a webhook is sent", async () => {
    const receiver = await startReceiver();
    await world.api("/v1/webhook", { method: "PUT", body: { url: receiver.url } });
    const { api: db } = world.service.deps.db;
    await query(db, sql`update endpoints set event_types = '{*}'`);
    await world.api("/v1/webhook/test", { method: "POST" });
    const inbox = await world.inbox("ada");
    await world.deliver(mailOf({ subject: "Your order" }), inbox.address);
    for (const to of [inbox.address, inbox.address.replace("ada", "nobody")]) {
      const body = { to, subject: "Hello", body: "Hello" };
      await world.api(`/v1/inboxes/${inbox.id}/send`, { method: "POST", body, headers: { "Idempotency-Key": to } });
    }
    const heard = new Map<string, { headers: Node; event: Node }>();
    const hear = async (count: number) => {
      for (let number = 1; heard.size < count; number += 1) {
        const { headers, body } = await receiver.request(number);
        const event = JSON.parse(body);
        heard.set(event.event, { headers, event });
      }
    };
    await hear(5);
    const { returnPath } = await sent(world, inbox.id);
    const ofJane = "Final-Recipient: rfc822; jane@example.com";
    await report(world, dsn({ fields: `${ofJane}\nAction: delayed\nStatus: 4.4.1` }), returnPath);
    await report(world, dsn({ fields: `${ofJane}\nAction: delivered\nStatus: 2.0.0` }), returnPath);
    await report(world, refused("smtp; 550 5.1.1 User unknown", "5.1.1"), returnPath);
    await report(world, feedback("Feedback-Type: abuse"), returnPath);
    await hear(10);
    await quarantinedMail(world, inbox);
    await hear(11);
    await world.api(`/v1/inboxes/${inbox.id}`, { method: "PATCH", body: { sendPolicy: "approve_all" } });
    const { messageId } = (await send(world, inbox.id)).body;
    await hear(12);
    await world.api(`/v1/messages/${messageId}/cancel`, { method: "POST" });
    await hear(13);
    await world.api(`/v1/inboxes/${inbox.id}`, { method: "DELETE" });
    await hear(14);
    const data = { webhookId: examples.webhookId, url: examples.webhookUrl, reason: "failing" as const };
    const disabled = { id: examples.eventId, inboxId: null, threadId: null, messageId: null, data };
    const [account] = await query<{ id: string }>(db, sql`select id from accounts`);
    await insertEvents(db, [
      { ...disabled, accountId: account?.id ?? "", type: "webhook.disabled", occurredAt: new Date() },
      ...domainEvents(account?.id ?? ""),
    ]);
    await hear(18);
    await receiver.close();
    const told = [...heard.values()];
    expect(told.map(({ event }) => event.event).sort()).toEqual(Object.keys(document.webhooks).sort());
    for (const { headers, event } of told) {
      const { post } = whole.webhooks[event.event];
      const { schema, example } = post.requestBody.content["application/json"];
      expect([event.event, mismatches(schema, event)]).toEqual([event.event, []]);
      // Field by field in the same order, which is a promise to who serialises again.
      expect(Object.keys(example)).toEqual(Object.keys(event));
      const names = post.parameters.map(({ name }: Node) => name.toLowerCase());
      expect(Object.keys(headers)).toEqual(expect.arrayContaining(names));
    }
  });
});

/** An event of each type about a domain. Their checks are in tests/flows/domains.test.ts. */
function domainEvents(accountId: string): NewEvent[] {
  const domain = { id: examples.domainId, name: examples.domain, sending: "ready", receiving: "not_ready" } as const;
  const record = {
    purpose: "dkim",
    name: examples.dkimName,
    type: "TXT",
    status: "invalid",
    problem: "several",
  } as const;
  const of = (number: number) => {
    const id = `${examples.eventId.slice(0, -1)}${number}`;
    return { id, accountId, inboxId: null, threadId: null, messageId: null, occurredAt: new Date() };
  };
  const records = [record];
  return [
    { ...of(1), type: "domain.verified", data: { domain: { ...domain, status: "verified", reason: null }, records } },
    { ...of(2), type: "domain.failing", data: { domain: { ...domain, status: "failing", reason: null }, records } },
    { ...of(3), type: "domain.failed", data: { domain: { ...domain, status: "failed", reason: "moved" }, records } },
  ];
}

/** Each example of the document, with the schema that it stands beside. */
function mediaOf(node: Node, where = "#"): { where: string; schema: Node; example: unknown }[] {
  if (typeof node !== "object" || node === null) return [];
  const { schema, example, examples: several = {} } = node;
  const own = schema === undefined ? [] : [...(example === undefined ? [] : [example]), ...valuesOf(several)];
  return [
    ...own.map((each) => ({ where, schema, example: each })),
    ...Object.entries(node).flatMap(([name, child]) => mediaOf(child, `${where}/${name}`)),
  ];
}

function valuesOf(several: Record<string, { value: unknown }>): unknown[] {
  return Object.values(several).map(({ value }) => value);
}
