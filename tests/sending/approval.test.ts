import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { readMetrics } from "../support/metrics.ts";
import { newAccount, newInbox, type SendOptions, send } from "../support/sends.ts";
import { untilAnswered, untilSo } from "../support/until.ts";
import type { Answer, World } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describe.each(enginesHere())("Mail that a person approves (%s)", (engine) => {
  const startWorld = worldsOn(engine);
  let world: World;

  beforeAll(async () => {
    world = await startWorld({
      env: { METRICS_PORT: "0", SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0" },
    });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  interface Setting {
    /** The key of the owner. */
    owner: string;
    /** A key with access `agent`. */
    agent: string;
    inbox: { id: string; address: string };
    ask: (method: string, path: string, body?: object, apiKey?: string) => Promise<Answer>;
    /** Sends with the key of the agent. */
    asks: (fields?: object, options?: SendOptions) => Promise<Answer>;
    draft: (id: string) => Promise<Answer["body"]>;
    approve: (id: string, version?: number, apiKey?: string) => Promise<Answer>;
    reject: (id: string, reason?: string) => Promise<Answer>;
  }

  /** An account whose inbox has a policy, with the keys of its owner and of an agent. */
  async function begin(sendPolicy = "approve_all"): Promise<Setting> {
    const owner = await newAccount(world);
    const ask = (method: string, path: string, body?: object, apiKey = owner) =>
      world.api(path, { method, apiKey, ...(body && { body }) });
    const { body: inbox } = await ask("POST", "/v1/inboxes", { sendPolicy });
    const { body: key } = await ask("POST", "/v1/keys", { access: "agent" });
    const asks = (fields: object = {}, options: SendOptions = {}) =>
      send(world, inbox.id, fields, { apiKey: key.key, ...options });
    return {
      owner,
      agent: key.key,
      inbox,
      ask,
      asks,
      draft: async (id) => (await ask("GET", `/v1/drafts/${id}`)).body,
      approve: (id, version = 1, apiKey = owner) => ask("POST", `/v1/drafts/${id}/approve`, { version }, apiKey),
      reject: (id, reason) => ask("POST", `/v1/drafts/${id}/reject`, { version: 1, reason }),
    };
  }

  const isSent = async ({ ask }: Setting, id: string) =>
    (await ask("GET", `/v1/messages/${id}`)).body.status === "sent";
  const eventsOf = async ({ ask }: Setting, type: string) =>
    (await ask("GET", `/v1/events?types=${type}`)).body.data as Answer["body"][];

  test("waits outside of the inbox until it is approved, and is then sent with its id", async () => {
    const setting = await begin();
    const { ask, asks, inbox, agent } = setting;
    const asked = await asks({ metadata: { order: "7" } }, { key: "once" });
    const { messageId } = asked.body;
    expect(asked).toMatchObject({
      status: 200,
      body: { status: "pending", state: "awaiting_approval", reasons: ["policy", "new_recipient"] },
    });
    expect(asked.body.expiresAt).toBe(new Date(world.clock.now().getTime() + 72 * hourMs).toISOString());
    expect((await asks({ metadata: { order: "7" } }, { key: "once" })).body).toEqual(asked.body);
    expect((await ask("GET", `/v1/messages/${messageId}`)).body).toMatchObject({
      status: "pending",
      state: "awaiting_approval",
    });
    expect((await ask("GET", `/v1/inboxes/${inbox.id}/messages`)).body.total).toBe(0);
    expect((await ask("GET", "/v1/drafts?state=awaiting_approval")).body.data).toMatchObject([{ id: messageId }]);

    const approved = await setting.approve(messageId);
    expect(approved).toMatchObject({
      status: 200,
      body: { state: "scheduled", version: 1, approval: { decision: "approved", approvedVersion: 1, edited: false } },
    });
    expect(approved.body.approval.decidedBy.key).toMatch(/^key_/);
    await untilSo(() => isSent(setting, messageId));
    expect((await ask("GET", `/v1/inboxes/${inbox.id}/messages`)).body.data).toMatchObject([{ id: messageId }]);
    expect(await setting.draft(messageId)).toMatchObject({ state: "sent", approval: { decision: "approved" } });
    const { data: steps } = (await ask("GET", `/v1/messages/${messageId}/history`)).body;
    expect(steps).toMatchObject([
      { what: "approval_requested", eventId: expect.stringMatching(/^evt_/), newRecipients: ["jane@example.com"] },
      { what: "approved", eventId: expect.stringMatching(/^evt_/), by: approved.body.approval.decidedBy },
      { what: "scheduled" },
      { what: "accepted" },
      { what: "attempted" },
      { what: "sent" },
    ]);
    expect((await setting.approve(messageId)).body).toMatchObject({
      code: "draft_not_open",
      state: "sent",
      approval: { decision: "approved" },
    });
    expect((await setting.approve(messageId, 1, agent)).body).toMatchObject({ code: "forbidden" });
  });

  test("is decided by no key that made it, and for the version that was seen alone", async () => {
    const { owner, inbox, ask } = await begin();
    const { body: other } = await ask("POST", "/v1/keys", {});
    const { messageId } = (await send(world, inbox.id, {}, { apiKey: owner })).body;
    const decide = (word: string, version: number, apiKey: string) =>
      ask("POST", `/v1/drafts/${messageId}/${word}`, { version }, apiKey);
    for (const word of ["approve", "reject"])
      expect(await decide(word, 1, owner)).toMatchObject({ status: 403, body: { code: "approval_forbidden" } });
    await ask("PATCH", `/v1/drafts/${messageId}`, { subject: "Changed" }, other.key);
    expect(await decide("approve", 1, other.key)).toMatchObject({
      status: 412,
      body: { code: "version_mismatch", version: 2 },
    });
    // The key that made it does not decide about the change of another one either.
    expect((await decide("approve", 2, owner)).body.code).toBe("approval_forbidden");
    const approved = await decide("approve", 2, other.key);
    expect(approved.body.approval).toMatchObject({ edited: true, approvedVersion: 2 });
    expect((await decide("reject", 2, other.key)).status).toBe(409);
  });

  test("one of two decisions at once counts, and the other one is shown it", async () => {
    const setting = await begin();
    const { messageId } = (await setting.asks({ sendAt: new Date(world.clock.now().getTime() + dayMs) })).body;
    const answers = await Promise.all([setting.approve(messageId), setting.reject(messageId, "No")]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const decided = answers.find(({ status }) => status === 200)?.body;
    const refused = answers.find(({ status }) => status === 409)?.body;
    expect([refused.state, refused.approval]).toEqual([decided.state, decided.approval]);
    expect(await setting.draft(messageId)).toMatchObject({ state: decided.state, approval: decided.approval });
  });

  test("waits again if it is changed after its approval, and a change while it waits begins the time anew", async () => {
    const setting = await begin();
    const { ask, asks, agent } = setting;
    const sendAt = new Date(world.clock.now().getTime() + dayMs).toISOString();
    const { messageId } = (await asks({ sendAt })).body;
    const first = await setting.draft(messageId);
    world.clock.pass(hourMs);
    const changed = await ask("PATCH", `/v1/drafts/${messageId}`, { body: "Other" }, agent);
    expect(changed.body).toMatchObject({ state: "awaiting_approval", version: 2, sendAt, approval: { edited: false } });
    expect(changed.body.approval.requestedAt).toBe(first.approval.requestedAt);
    expect(changed.body.approval.expiresAt > first.approval.expiresAt).toBe(true);
    expect((await setting.approve(messageId, 2)).body).toMatchObject({ state: "scheduled", sendAt });
    const again = await ask("PATCH", `/v1/drafts/${messageId}`, { body: "Another" }, agent);
    expect(again.body).toMatchObject({
      state: "awaiting_approval",
      version: 3,
      approval: { decision: null, approvedVersion: null },
    });
    world.clock.pass(dayMs);
    // The clock sends nothing that is not approved.
    const other = (await send(world, await newInbox(world, setting.owner), {}, { apiKey: setting.owner })).body;
    await untilSo(() => isSent(setting, other.messageId));
    expect((await setting.draft(messageId)).state).toBe("awaiting_approval");
    await setting.approve(messageId, 3);
    await untilSo(() => isSent(setting, messageId));
    expect((await ask("GET", `/v1/messages/${messageId}`)).body.bodyText).toBe("Another");
  });

  test("expires without being sent", async () => {
    const setting = await begin();
    const { messageId } = (await setting.asks()).body;
    world.clock.pass(72 * hourMs);
    const draft = await untilAnswered(async () => {
      const found = await setting.draft(messageId);
      return found.state === "awaiting_approval" ? undefined : found;
    });
    expect(draft).toMatchObject({
      state: "expired",
      failure: { reason: "expired" },
      approval: { decision: "expired", decidedBy: null },
    });
    expect((await setting.ask("GET", `/v1/messages/${messageId}`)).body).toMatchObject({
      status: "failed",
      state: null,
      failure: { reason: "expired" },
    });
    expect((await setting.approve(messageId)).status).toBe(409);
  });

  test("is canceled as a message, and discarded as a draft", async () => {
    const setting = await begin();
    const { ask, asks, agent } = setting;
    const canceled = (await asks()).body.messageId;
    expect((await ask("POST", `/v1/messages/${canceled}/cancel`, undefined, agent)).status).toBe(200);
    const discarded = (await asks()).body.messageId;
    expect((await ask("DELETE", `/v1/drafts/${discarded}`)).status).toBe(204);
    for (const id of [canceled, discarded])
      expect(await setting.draft(id)).toMatchObject({
        state: "canceled",
        failure: { reason: "canceled" },
        approval: { decision: "canceled" },
      });
  });

  test("is refused for 7 days once it was rejected, with the reason, but not from another full key", async () => {
    const setting = await begin();
    const { inbox, owner, asks, ask, agent } = setting;
    const { messageId } = (await asks({ metadata: { run: "1" } })).body;
    const rejected = await setting.reject(messageId, "Not before\nFriday");
    expect(rejected.body).toMatchObject({
      state: "rejected",
      failure: { reason: "rejected", message: "A person rejected it: Not before Friday" },
      approval: { decision: "rejected", reason: "Not before\nFriday" },
    });
    const again = { status: 422, body: { code: "draft_rejected", draftId: messageId, reason: "Not before\nFriday" } };
    expect(await asks()).toMatchObject(again);
    // Another time or another id of the caller makes it no other mail.
    const later = new Date(world.clock.now().getTime() + dayMs).toISOString();
    expect(await asks({ sendAt: later, metadata: { run: "2" } })).toMatchObject(again);
    const headers = { "idempotency-key": "as a draft".replaceAll(" ", "-") };
    const draft = await world.api(`/v1/inboxes/${inbox.id}/drafts`, {
      method: "POST",
      headers,
      body: { to: "jane@example.com", subject: "Hello", body: "Hello Jane" },
      apiKey: agent,
    });
    const sent = await world.api(`/v1/drafts/${draft.body.id}/send`, { method: "POST", headers, apiKey: agent });
    expect(sent).toMatchObject(again);
    expect((await asks({ body: "In other words" })).status).toBe(200);
    expect((await send(world, inbox.id, {}, { apiKey: owner })).body.state).toBe("awaiting_approval");
    // Nobody else is bound: the mail is another one in another inbox.
    const other = await newInbox(world, owner);
    expect((await send(world, other, {}, { apiKey: agent })).status).toBe(200);
    await ask("PATCH", `/v1/inboxes/${inbox.id}`, { sendPolicy: "open" });
    expect((await asks()).body.code).toBe("draft_rejected");
    world.clock.pass(7 * dayMs);
    expect((await asks()).status).toBe(200);
  });

  test("approve_new asks for recipients that are not known, and an approved mail makes them known", async () => {
    const setting = await begin("approve_new");
    const { ask, asks, inbox } = setting;
    await world.deliver(mailOf({ from: "joe@example.com", subject: "Hello" }), inbox.address, "joe@example.com");
    await ask("POST", "/v1/rules", { direction: "outbound", action: "allow", pattern: "owner@example.com" });
    await ask("POST", "/v1/rules", { direction: "outbound", action: "block", pattern: "evil.example" });
    expect((await asks({ to: "owner@example.com" })).body.state).toBeUndefined();
    expect((await asks({ to: ["owner@example.com", "a@evil.example"] })).body.code).toBe("recipient_not_allowed");
    const waits = await asks({ to: "owner@example.com", cc: ["Jane@example.com"] });
    expect(waits.body).toMatchObject({ state: "awaiting_approval", reasons: ["new_recipient"] });
    const draft = await setting.draft(waits.body.messageId);
    expect(draft.approval).toMatchObject({ newRecipients: ["Jane@example.com"] });
    await setting.approve(waits.body.messageId);
    await untilSo(() => isSent(setting, waits.body.messageId));
    expect((await asks({ to: "jane@example.com" })).body.state).toBeUndefined();
    expect((await asks({ to: "jim@example.com" })).body.state).toBe("awaiting_approval");
  });

  test("the strictest policy holds, and known beside one that asks refuses who is not known and asks for all others", async () => {
    const setting = await begin("known");
    const { ask, asks, inbox } = setting;
    await ask("POST", "/v1/rules", { direction: "outbound", action: "allow", pattern: "owner@example.com" });
    await ask("PATCH", "/v1/account", { sendPolicy: "approve_new" });
    expect((await asks()).body).toMatchObject({ code: "recipient_not_allowed", recipients: ["jane@example.com"] });
    expect((await asks({ to: "owner@example.com" })).body).toMatchObject({
      state: "awaiting_approval",
      reasons: ["policy"],
    });
    await ask("PATCH", `/v1/inboxes/${inbox.id}`, { sendPolicy: "approve_all" });
    expect((await asks()).body.state).toBe("awaiting_approval");
    await ask("PATCH", "/v1/account", { sendPolicy: "closed" });
    expect((await asks()).body.code).toBe("sending_disabled");
  });

  test("the policies of a key and of a tenant ask too", async () => {
    const { ask, inbox } = await begin("open");
    const { body: key } = await ask("POST", "/v1/keys", { access: "agent", sendPolicy: "approve_all" });
    expect((await send(world, inbox.id, {}, { apiKey: key.key })).body.state).toBe("awaiting_approval");
    expect((await send(world, inbox.id, {}, { apiKey: (await ask("POST", "/v1/keys", {})).body.key })).body.state).toBe(
      undefined,
    );
    const { body: ofTenant } = await ask("POST", "/v1/inboxes", { externalId: "one" });
    await ask("PUT", "/v1/policy?external_id=one", { sendPolicy: "approve_new" });
    expect((await send(world, ofTenant.id, {}, { apiKey: key.key })).body.reasons).toEqual(["policy", "new_recipient"]);
    const { body: other } = await ask("POST", "/v1/keys", {});
    expect((await send(world, ofTenant.id, {}, { apiKey: other.key })).body.reasons).toEqual(["new_recipient"]);
  });

  test("a scheduled mail waits if the policy asks for it at its time, and an approved one does not", async () => {
    const setting = await begin("open");
    const { ask, asks, inbox } = setting;
    const inMs = (ms: number) => new Date(world.clock.now().getTime() + ms).toISOString();
    const { messageId } = (await asks({ sendAt: inMs(hourMs) })).body;
    await ask("PATCH", `/v1/inboxes/${inbox.id}`, { sendPolicy: "approve_new" });
    const approved = (await asks({ sendAt: inMs(2 * hourMs), to: "jim@example.com" })).body.messageId;
    await setting.approve(approved);
    await ask("PATCH", `/v1/inboxes/${inbox.id}`, { sendPolicy: "approve_all" });
    world.clock.pass(2 * hourMs);
    await untilSo(async () => (await setting.draft(messageId)).state === "awaiting_approval");
    await untilSo(() => isSent(setting, approved));
    expect(await setting.draft(messageId)).toMatchObject({ version: 1, approval: { decision: null } });
    await setting.approve(messageId);
    await untilSo(() => isSent(setting, messageId));
  });

  test("an approval counts for no later version, also if that was scheduled under a milder policy", async () => {
    const setting = await begin();
    const { ask, asks, inbox, agent } = setting;
    const setPolicy = (sendPolicy: string) => ask("PATCH", `/v1/inboxes/${inbox.id}`, { sendPolicy });
    const sendAt = new Date(world.clock.now().getTime() + hourMs).toISOString();
    const { messageId } = (await asks({ sendAt })).body;
    await setting.approve(messageId);
    await setPolicy("open");
    const changed = await ask("PATCH", `/v1/drafts/${messageId}`, { body: "Other" }, agent);
    expect(changed.body).toMatchObject({ state: "scheduled", version: 2, approval: { approvedVersion: 1 } });
    await setPolicy("approve_all");
    world.clock.pass(hourMs);
    await untilSo(async () => (await setting.draft(messageId)).state === "awaiting_approval");
    expect((await setting.draft(messageId)).approval).toMatchObject({ decision: null, approvedVersion: null });
  });

  test("only a decision ends the wait: a change under a milder policy still waits", async () => {
    const setting = await begin();
    const { ask, asks, inbox, agent } = setting;
    const { messageId } = (await asks({ cc: ["joe@example.com"] })).body;
    await ask("PATCH", `/v1/inboxes/${inbox.id}`, { sendPolicy: "open" });
    const changed = await ask("PATCH", `/v1/drafts/${messageId}`, { cc: null }, agent);
    expect(changed.body).toMatchObject({
      state: "awaiting_approval",
      version: 2,
      approval: { reasons: ["policy", "new_recipient"], newRecipients: ["jane@example.com"] },
    });
    await setting.approve(messageId, 2);
    await untilSo(() => isSent(setting, messageId));
  });

  test("nothing of it is in the thread, a quote, the search or an event but those of its approval", async () => {
    const setting = await begin("approve_new");
    const { ask, asks, inbox } = setting;
    const from = mailOf({ from: "joe@example.com", subject: "Question", text: "Where is it?" });
    await world.deliver(from, inbox.address, "joe@example.com");
    const [thread] = (await ask("GET", `/v1/inboxes/${inbox.id}/threads`)).body.data;
    const secret = "canary of a waiting mail";
    const reply = { threadId: thread.threadId, to: undefined, subject: undefined };
    const { messageId } = (await asks({ ...reply, body: secret, cc: ["jim@example.com"], bcc: ["eve@example.com"] }))
      .body;
    expect((await ask("GET", `/v1/inboxes/${inbox.id}/threads`)).body.data).toMatchObject([
      { messageCount: 1, draftCount: 1, isRead: true },
    ]);
    const goes = await send(world, inbox.id, { ...reply, to: inbox.address, body: "Now" }, { apiKey: setting.owner });
    expect((await ask("GET", `/v1/messages/${goes.body.messageId}`)).body.bodyText).not.toContain(secret);
    await setting.reject(messageId);
    expect((await ask("GET", `/v1/inboxes/${inbox.id}/threads`)).body.data).toMatchObject([
      { draftCount: 0, isRead: false },
    ]);
    expect((await ask("GET", `/v1/messages?q=canary`)).body.data).toEqual([]);
    const { data } = (await ask("GET", "/v1/events?types=*&limit=100")).body;
    const telling = data.filter((event: object) => JSON.stringify(event).includes(secret));
    expect(telling.map(({ event }: { event: string }) => event)).toEqual(["approval.requested"]);
    const failed = (await eventsOf(setting, "message.failed"))[0]?.message;
    expect([failed.body_text, failed.attachments, failed.failure.reason]).toEqual(["", [], "rejected"]);
    const [asked] = await eventsOf(setting, "approval.requested");
    expect(asked).toEqual({
      event: "approval.requested",
      event_id: expect.any(String),
      occurred_at: expect.any(String),
      inbox_id: inbox.id,
      external_id: null,
      thread_id: thread.threadId,
      draft: {
        id: messageId,
        version: 1,
        reasons: ["new_recipient"],
        new_recipients: expect.arrayContaining(["jim@example.com", "eve@example.com"]),
        from: inbox.address,
        to: ["joe@example.com"],
        cc: ["jim@example.com"],
        bcc: ["eve@example.com"],
        subject: "Re: Question",
        body_text: expect.stringMatching(/^canary of a waiting mail[\s\S]*> Where is it\?/),
        attachments: [],
        metadata: {},
        send_at: null,
        requested_at: expect.any(String),
        expires_at: expect.any(String),
      },
    });
    const [resolved] = await eventsOf(setting, "approval.resolved");
    expect(resolved.draft).toEqual({
      id: messageId,
      version: 1,
      decision: "rejected",
      decided_by: { key: expect.stringMatching(/^key_/) },
      decided_at: expect.any(String),
      reason: null,
      edited: false,
    });
  });

  test("each change while it waits is another request, and each end is told once", async () => {
    const setting = await begin();
    const { ask, asks, agent } = setting;
    const { messageId } = (await asks()).body;
    await ask("PATCH", `/v1/drafts/${messageId}`, { subject: "Changed" }, agent);
    await ask("POST", `/v1/messages/${messageId}/cancel`, undefined, agent);
    expect((await eventsOf(setting, "approval.requested")).map(({ draft }) => draft.version)).toEqual([1, 2]);
    expect((await eventsOf(setting, "approval.resolved")).map(({ draft }) => draft.decision)).toEqual(["canceled"]);
  });

  test("the time for which it waited is measured", async () => {
    const setting = await begin();
    const name = (word: string) => `inboxd_approval_wait_seconds_${word}{decision="rejected"}`;
    const before = await readMetrics(world);
    const { messageId } = (await setting.asks()).body;
    world.clock.pass(hourMs);
    await setting.reject(messageId);
    const after = await readMetrics(world);
    const grown = (word: string) => (after.get(name(word)) ?? 0) - (before.get(name(word)) ?? 0);
    expect(grown("count")).toBe(1);
    expect(Math.round(grown("sum"))).toBe(3600);
  });

  test("it counts as an open draft, and one more than the inbox may have is refused", async () => {
    await using small = await startWorld({ env: { OPEN_DRAFTS: "1" } });
    const id = await newInbox(small);
    await small.api(`/v1/inboxes/${id}`, { method: "PATCH", body: { sendPolicy: "approve_all" } });
    expect((await send(small, id)).body.state).toBe("awaiting_approval");
    expect((await send(small, id, { subject: "Another" })).body.code).toBe("open_drafts_limit");
  });
});
