import { describe, expect, test } from "bun:test";
import { createAccount } from "../../../../src/flows/account/manage-accounts.ts";
import { newGrant } from "../../../support/connecting.ts";
import { mailOf } from "../../../support/mail.ts";
import type { OpenApiDocument } from "../../../support/openapi.ts";
import { quarantinedMail } from "../../../support/ruled.ts";
import { newAccount, newInbox, send } from "../../../support/sends.ts";
import { untilAnswered } from "../../../support/until.ts";
import type { Answer } from "../../../support/world.ts";
import { oneWorldOn } from "../../../support/world-on.ts";

/** Operations that change something and leave no entry. */
const unaudited: Readonly<Record<string, string>> = {
  sendEmail: "sending mail leaves none",
  createDraft: "sending mail leaves none",
  changeDraft: "sending mail leaves none",
  sendDraft: "sending mail leaves none",
  retryMessage: "tests/sending/retry.test.ts has its entry",
  takeMail: "received mail leaves none",
  uploadFile: "an upload is part of a send",
  deleteUpload: "an upload is part of a send",
  convertMarkdown: "it changes nothing",
  takeRelayNotices: "it is about mail",
  unsubscribe: "tests/sending/unsubscribe.test.ts has its entry",
  decideOnApprovalPage: "tests/sending/approval-links.test.ts has its entry",
  revokeInboxKey: "as revokeKey",
  createKeyOfAnyAccount: "tests/http/routes/admin has its entry",
  createAccount: "tests/http/routes/admin has its entry",
  addSharedDomain: "tests/http/routes/admin has its entry",
  verifyDomain: "it changes nothing but by what the DNS says, of which events tell",
  verifySharedDomain: "as verifyDomain",
  deleteSharedDomain: "tests/http/routes/admin has its entry",
  deleteAnyAccount: "tests/http/routes/admin has its entry",
  changeAnyAccount: "tests/http/routes/admin has its entries",
};

describe("the audit", () => {
  // Nothing listens at the relay, the webhooks and the name server, so mail and events stay in the outbox.
  const world = oneWorldOn("embedded", {
    env: { OUTBOUND: "smtp://127.0.0.1:1", ALLOW_PRIVATE_WEBHOOKS: "1", DNS_SERVERS: "127.0.0.1:1" },
  });
  const nowhere = "http://127.0.0.1:18113/secret-path";

  async function ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const answer = await world().api(path, { method, body, headers });
    expect([path, answer.status < 300, answer.body]).toEqual([path, true, answer.body]);
    return answer;
  }

  async function entries(query = "", apiKey = world().apiKey) {
    return (await world().api(`/v1/audit${query}`, { apiKey })).body.data;
  }

  test("has an entry of each operation that changes something, and none of the others", async () => {
    const inbox = await world().inbox();
    await world().deliver(mailOf({ subject: "Hello" }), inbox.address);
    const [thread] = (await ask("GET", `/v1/inboxes/${inbox.id}/threads`)).body.data;
    const hook = (await ask("PUT", "/v1/webhook", { url: nowhere })).body;
    expect(hook.secret).toStartWith("whsec_");
    const { body: endpoint } = await ask("POST", "/v1/webhooks", { url: nowhere });
    const { body: doomed } = await ask("POST", "/v1/webhooks", { url: nowhere });
    await world().deliver(mailOf({ subject: "Again" }), inbox.address);
    const [event] = (await ask("GET", "/v1/events?order=desc")).body.data;
    const { body: mail } = await send(world(), inbox.id);
    const { body: scheduled } = await send(world(), inbox.id, { sendAt: "2026-12-01T00:00:00Z" });
    const { body: upload } = await ask("POST", "/v1/uploads?filename=a.txt", "words");
    const { body: suppression } = await ask("POST", "/v1/suppressions", { address: "eve@example.net" });
    const quarantined = await quarantinedMail(world(), inbox);
    const blocked = { direction: "inbound", action: "block", pattern: "spam.example" };
    const { body: rule } = await ask("POST", "/v1/rules", blocked);
    const { body: key } = await ask("POST", "/v1/keys", { access: "agent" });
    const { body: asking } = await ask("POST", "/v1/keys", { access: "agent", sendPolicy: "approve_all" });
    const waiting: string[] = [];
    for (const subject of ["One", "Two"])
      waiting.push((await send(world(), inbox.id, { subject }, { apiKey: asking.key })).body.messageId);
    const { body: domain } = await ask("POST", "/v1/domains", { domain: "own.example.org" });
    const grantId = await newGrant(world());
    const items = await untilAnswered(async () => {
      const { data } = (await world().api("/v1/outbox?state=waiting")).body;
      const isMail = ({ kind }: { kind: string }) => kind === "relay";
      return data.length > 2 && data.some(isMail) ? data.filter((item: { kind: string }) => !isMail(item)) : undefined;
    });

    const steps: [operation: string, actions: string[], target: string | undefined, act: () => Promise<Answer>][] = [
      ["addDomain", ["domain.added"], undefined, () => ask("POST", "/v1/domains", { domain: "new.example.org" })],
      [
        "changeDomain",
        ["domain.changed"],
        domain.id,
        () => ask("PATCH", `/v1/domains/${domain.id}`, { subdomains: true }),
      ],
      ["rotateDomainKey", ["domain.key_rotated"], domain.id, () => ask("POST", `/v1/domains/${domain.id}/rotate-dkim`)],
      ["deleteDomain", ["domain.removed"], domain.id, () => ask("DELETE", `/v1/domains/${domain.id}`)],
      // Before those that make waiting events ready.
      ["retryOutboxItem", ["outbox.retried"], items[0].id, () => ask("POST", `/v1/outbox/${items[0].id}/retry`)],
      ["cancelOutboxItem", ["outbox.canceled"], items[1].id, () => ask("DELETE", `/v1/outbox/${items[1].id}`)],
      ["createInbox", ["inbox.created"], undefined, () => ask("POST", "/v1/inboxes", {})],
      ["changeInbox", ["inbox.changed"], inbox.id, () => ask("PATCH", `/v1/inboxes/${inbox.id}`, { externalId: "a" })],
      ["addAlias", ["inbox.alias_added"], inbox.id, () => ask("PUT", `/v1/inboxes/${inbox.id}/aliases/other`)],
      ["removeAlias", ["inbox.alias_removed"], inbox.id, () => ask("DELETE", `/v1/inboxes/${inbox.id}/aliases/other`)],
      ["changeAccount", ["retention.changed"], undefined, () => ask("PATCH", "/v1/account", { retentionDays: 90 })],
      ["changeThread", ["thread.marked"], thread.id, () => ask("PATCH", `/v1/threads/${thread.id}`, { is_read: true })],
      [
        "changeThreads",
        ["thread.filed"],
        thread.id,
        () => ask("PATCH", `/v1/inboxes/${inbox.id}/threads`, { ids: [thread.id], folder: "archive" }),
      ],
      ["setWebhook", ["webhook.changed"], undefined, () => ask("PUT", "/v1/webhook", { url: nowhere })],
      ["rotateWebhookSecret", ["webhook.secret_rotated"], undefined, () => ask("POST", "/v1/webhook/rotate-secret")],
      ["testWebhook", ["webhook.tested"], undefined, () => ask("POST", "/v1/webhook/test")],
      ["createWebhookEndpoint", ["webhook.created"], undefined, () => ask("POST", "/v1/webhooks", { url: nowhere })],
      ...(
        [
          ["changeWebhookEndpoint", ["webhook.changed"], "PATCH", "", { description: "mine" }],
          ["rotateWebhookEndpointSecret", ["webhook.secret_rotated"], "POST", "/rotate-secret", undefined],
          ["testWebhookEndpoint", ["webhook.tested"], "POST", "/test", undefined],
          ["recoverWebhookEndpointEvents", ["webhook.recovered"], "POST", "/recover", { after: "start" }],
        ] as const
      ).map(([name, actions, method, path, body]): (typeof steps)[number] => [
        name,
        [...actions],
        endpoint.id,
        () => ask(method, `/v1/webhooks/${endpoint.id}${path}`, body),
      ]),
      ["deleteWebhookEndpoint", ["webhook.deleted"], doomed.id, () => ask("DELETE", `/v1/webhooks/${doomed.id}`)],
      [
        "redeliverEvent",
        ["event.redelivered"],
        event.event_id,
        () => ask("POST", `/v1/events/${event.event_id}/redeliver`, {}),
      ],
      [
        "cancelMessage",
        ["outbox.canceled"],
        mail.messageId,
        () => ask("POST", `/v1/messages/${mail.messageId}/cancel`),
      ],
      [
        "discardDraft",
        ["outbox.canceled"],
        scheduled.messageId,
        () => ask("DELETE", `/v1/drafts/${scheduled.messageId}`),
      ],
      [
        "createApprovalLink",
        ["draft.link_made"],
        waiting[0],
        () => ask("POST", `/v1/drafts/${waiting[0]}/approval-link`),
      ],
      [
        "approveDraft",
        ["draft.approved"],
        waiting[0],
        () => ask("POST", `/v1/drafts/${waiting[0]}/approve`, { version: 1 }),
      ],
      [
        "rejectDraft",
        ["draft.rejected"],
        waiting[1],
        () => ask("POST", `/v1/drafts/${waiting[1]}/reject`, { version: 1 }),
      ],
      [
        "addSuppressions",
        ["suppression.added"],
        undefined,
        () => ask("POST", "/v1/suppressions", { data: [{ address: "bob@example.net", reason: "manual" }] }),
      ],
      [
        "deleteSuppression",
        ["suppression.removed"],
        suppression.id,
        () => ask("DELETE", `/v1/suppressions/${suppression.id}`),
      ],
      [
        "releaseQuarantinedMail",
        ["quarantine.released"],
        quarantined,
        () => ask("POST", `/v1/quarantine/${quarantined}/release`),
      ],
      [
        "deleteQuarantinedMail",
        ["quarantine.deleted"],
        quarantined,
        () => ask("DELETE", `/v1/quarantine/${quarantined}`),
      ],
      [
        "addRule",
        ["rule.added"],
        undefined,
        () => ask("POST", "/v1/rules", { ...blocked, pattern: "eve@example.net" }),
      ],
      ["deleteRule", ["rule.removed"], rule.id, () => ask("DELETE", `/v1/rules/${rule.id}`)],
      ["changePolicy", ["policy.changed"], undefined, () => ask("PUT", "/v1/policy?external_id=a", {})],
      ["deletePolicy", ["policy.changed"], undefined, () => ask("DELETE", "/v1/policy?external_id=a")],
      ["changeInboxPolicy", ["policy.changed"], inbox.id, () => ask("PUT", `/v1/inboxes/${inbox.id}/policy`, {})],
      ["deleteInboxPolicy", ["policy.changed"], inbox.id, () => ask("DELETE", `/v1/inboxes/${inbox.id}/policy`)],
      ["changeAccount", ["policy.changed"], undefined, () => ask("PATCH", "/v1/account", { sendPolicy: "open" })],
      [
        "changeInbox",
        ["policy.changed"],
        inbox.id,
        () => ask("PATCH", `/v1/inboxes/${inbox.id}`, { sendPolicy: "open" }),
      ],
      ["createKey", ["key.created"], undefined, () => ask("POST", "/v1/keys", { access: "read" })],
      ["changeKey", ["key.changed"], key.id, () => ask("PATCH", `/v1/keys/${key.id}`, { name: "mine" })],
      ["rotateKey", ["key.rotated"], undefined, () => ask("POST", `/v1/keys/${key.id}/rotate`)],
      ["revokeKey", ["key.revoked"], key.id, () => ask("DELETE", `/v1/keys/${key.id}`)],
      [
        "createInboxKey",
        ["key.created"],
        undefined,
        () => ask("POST", `/v1/inboxes/${inbox.id}/api-keys`, { name: "robot" }),
      ],
      ["deleteGrant", ["grant.ended"], grantId, () => ask("DELETE", `/v1/grants/${grantId}`)],
      ["createToken", ["token.made"], undefined, () => ask("POST", "/v1/tokens")],
      ["deleteWebhook", ["webhook.deleted"], undefined, () => ask("DELETE", "/v1/webhook")],
      ["deleteThread", ["thread.removed"], thread.id, () => ask("DELETE", `/v1/threads/${thread.id}`)],
      ["deleteMessage", ["message.removed"], mail.messageId, () => ask("DELETE", `/v1/messages/${mail.messageId}`)],
      ["deleteInbox", ["inbox.deleted", "key.revoked"], inbox.id, () => ask("DELETE", `/v1/inboxes/${inbox.id}`)],
      ["sendEmail", [], undefined, async () => send(world(), (await world().inbox()).id)],
      ["deleteUpload", [], undefined, () => ask("DELETE", `/v1/uploads/${upload.id}`)],
      ["uploadFile", [], undefined, () => ask("POST", "/v1/uploads?filename=b.txt", "words")],
    ];

    const { paths } = (await world().api("/openapi.json")).body as OpenApiDocument;
    const writes = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, { operationId }]) =>
        method === "get" || path === "/openapi.json" ? [] : [operationId],
      ),
    );
    const told = new Set([...steps.map(([name]) => name), ...Object.keys(unaudited)]);
    expect(writes.filter((name) => !told.has(name))).toEqual([]);

    for (const [operation, actions, target, act] of steps) {
      const before = (await entries("?limit=1"))[0]?.id ?? "";
      const expected = operation === "sendEmail" ? ["inbox.created"] : actions;
      await act();
      const left = (await entries("?limit=5")).filter(({ id }: { id: string }) => id > before);
      expect([operation, left.map(({ action }: { action: string }) => action)]).toEqual([operation, expected]);
      if (target !== undefined) expect([operation, left[0].target.id]).toEqual([operation, target]);
      for (const { actor } of left) expect(actor).toMatchObject({ type: "key", name: "API_KEY" });
    }
    const everything = JSON.stringify(await entries("?limit=100"));
    for (const secret of ["secret-path", "whsec_", "eve@", "Hello"]) expect(everything).not.toContain(secret);
  });

  test("names the client and the request, and the account that it is in", async () => {
    const apiKey = await newAccount(world());
    const made = { method: "POST", body: { username: "audited" }, apiKey, headers: { "x-request-id": "made-it" } };
    const { body: inbox } = await world().api("/v1/inboxes", made);
    const { body: account } = await world().api("/v1/account", { apiKey });
    expect(await entries("", apiKey)).toMatchObject([
      {
        action: "inbox.created",
        actor: { type: "key", id: account.key.id, name: account.key.name },
        accountId: account.id,
        target: { type: "inbox", id: inbox.id },
        ip: "127.0.0.1",
        requestId: "made-it",
        details: { username: "audited", externalId: null },
      },
      { action: "account.created", actor: { type: "cli", id: null }, target: { id: account.id } },
    ]);
    expect(JSON.stringify(await entries("?limit=100"))).not.toContain(account.id);
  });

  test("has nothing of a request that is refused, or that changes nothing", async () => {
    const apiKey = await newAccount(world());
    const make = (headers = {}) =>
      world().api("/v1/inboxes", { method: "POST", body: { username: "only.once" }, apiKey, headers });
    const key = { "idempotency-key": "once" };
    expect([(await make(key)).status, (await make(key)).status, (await make()).status]).toEqual([201, 201, 409]);
    expect(await entries("?action=inbox.created", apiKey)).toHaveLength(1);
  });

  test("is paged, and filtered by action, actor, target and time", async () => {
    const { apiKey, account } = await createAccount(world().service.deps, { name: "filtered", plan: "developer" });
    const ids = [await newInbox(world(), apiKey), await newInbox(world(), apiKey)];
    world().clock.pass(60_000);
    const since = world().clock.now().toISOString();
    const last = await newInbox(world(), apiKey);
    const targets = async (query: string) =>
      (await entries(query, apiKey)).map(({ target }: { target: { id: string } }) => target.id);
    expect(await targets("?action=inbox.created")).toEqual([last, ids[1], ids[0]]);
    expect(await targets("?actor=cli")).toEqual([account.id]);
    expect(await targets(`?target=${ids[0]}`)).toEqual([ids[0]]);
    expect(await targets(`?since=${since}`)).toEqual([last]);
    expect(await targets(`?until=${since}&actor=key`)).toEqual([ids[1], ids[0]]);
    const { nextCursor } = (await world().api("/v1/audit?limit=3", { apiKey })).body;
    expect(await targets(`?limit=3&cursor=${nextCursor}`)).toEqual([account.id]);
    expect((await world().api(`/v1/audit?action=inbox.created&cursor=${nextCursor}`, { apiKey })).status).toBe(400);
  });

  test("has a browser that signs in, and that signs out", async () => {
    const origin = world().service.apiUrl.origin;
    const ours = { "sec-fetch-site": "same-origin", origin };
    const signed = { method: "POST", body: { key: world().apiKey }, apiKey: null, headers: ours };
    const cookie = (await world().fetch("/console/session", signed)).headers.get("set-cookie")?.split(";", 1)[0] ?? "";
    await world().fetch("/console/session", { method: "DELETE", apiKey: null, headers: { ...ours, cookie } });
    await world().fetch("/console/session", { method: "DELETE", apiKey: null, headers: ours });
    const seen = (await entries("?limit=2")).map(({ action, ip }: { action: string; ip: string }) => [action, ip]);
    expect(seen).toEqual(["console.signed_out", "console.signed_in"].map((action) => [action, "127.0.0.1"]));
  });
});
