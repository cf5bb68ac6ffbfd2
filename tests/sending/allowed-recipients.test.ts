import { describe, expect, test } from "bun:test";
import { authenticationOf, takeIn } from "../support/arrivals.ts";
import { enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { newAccount, newInbox, send } from "../support/sends.ts";
import type { World } from "../support/world.ts";
import { oneWorldOn, worldsOn } from "../support/world-on.ts";

const nowhere = { OUTBOUND: "smtp://127.0.0.1:1", SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0" };

const block = (world: World, pattern: string, apiKey: string, more: object = {}) =>
  world.api("/v1/rules", {
    method: "POST",
    body: { direction: "outbound", action: "block", pattern, ...more },
    apiKey,
  });

const setPolicy = (world: World, path: string, sendPolicy: string, apiKey: string, method = "PATCH") =>
  world.api(path, { method, body: { sendPolicy }, apiKey });

describe.each(enginesHere())("who may be written to (%s)", (engine) => {
  const world = oneWorldOn(engine, { env: nowhere });

  async function begin(externalId?: string) {
    const apiKey = await newAccount(world());
    const { body } = await world().api("/v1/inboxes", { method: "POST", body: { externalId }, apiKey });
    const sent = (fields: object = {}, key?: string) =>
      send(world(), body.id, fields, { apiKey, ...(key !== undefined && { key }) });
    return { apiKey, inboxId: body.id as string, address: body.address as string, sent };
  }

  test("a block rule refuses its recipients, names them all, and stores nothing", async () => {
    const { apiKey, inboxId, sent } = await begin();
    const { body: rule } = await block(world(), "evil.example", apiKey);
    await block(world(), "*.evil.example", apiKey, { inboxId });
    const refused = await sent({ to: "Jane@Evil.Example" }, "same");
    expect([refused.status, refused.body]).toMatchObject([
      403,
      { code: "recipient_not_allowed", recipients: ["Jane@evil.example"], rule_id: rule.id },
    ]);
    const several = await sent({ to: ["a@mail.evil.example", "b@good.example"], cc: ["c@evil.example"] });
    expect(several.body).toMatchObject({ recipients: ["a@mail.evil.example", "c@evil.example"] });
    expect((await sent({ to: "a@notevil.example" })).status).toBe(200);
    expect((await world().api("/v1/usage", { apiKey })).body.current.messages).toBe(1);
    // The key of a refused send is free.
    expect((await sent({ to: "b@good.example" }, "same")).status).toBe(200);
  });

  test("a rule is in force at once, in both ways, and never for a replay", async () => {
    const { apiKey, sent } = await begin();
    expect((await sent({ to: "a@evil.example" }, "first")).status).toBe(200);
    const { body: rule } = await block(world(), "a@evil.example", apiKey);
    expect((await sent({ to: "a@evil.example" })).body.code).toBe("recipient_not_allowed");
    const replayed = await sent({ to: "a@evil.example" }, "first");
    expect([replayed.status, replayed.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    await world().api(`/v1/rules/${rule.id}`, { method: "DELETE", apiKey });
    expect((await sent({ to: "a@evil.example" })).status).toBe(200);
  });

  test("rules of a tenant and of an inbox are for theirs alone, and inbound rules for none", async () => {
    const { apiKey, inboxId, sent } = await begin("one");
    const other = await newInbox(world(), apiKey);
    await block(world(), "tenant.example", apiKey, { externalId: "one" });
    await block(world(), "inbox.example", apiKey, { inboxId });
    await block(world(), "inbound.example", apiKey, { direction: "inbound" });
    const status = async (id: string, to: string) => (await send(world(), id, { to }, { apiKey })).status;
    expect([await status(inboxId, "a@tenant.example"), await status(other, "a@tenant.example")]).toEqual([403, 200]);
    expect([await status(inboxId, "a@inbox.example"), await status(other, "a@inbox.example")]).toEqual([403, 200]);
    expect((await sent({ to: "a@inbound.example" })).status).toBe(200);
  });

  test("a reply to a blocked sender is refused too, also if the recipients come from the thread", async () => {
    const { apiKey, inboxId, address } = await begin();
    await world().deliver(mailOf({ from: "jane@evil.example", subject: "Hello" }), address, "jane@evil.example");
    const [thread] = (await world().api(`/v1/inboxes/${inboxId}/threads`, { apiKey })).body.data;
    const { body: rule } = await block(world(), "evil.example", apiKey);
    const reply = await send(world(), inboxId, { to: undefined, subject: undefined, threadId: thread.id }, { apiKey });
    expect([reply.status, reply.body]).toMatchObject([403, { recipients: ["jane@evil.example"], rule_id: rule.id }]);
  });

  test.each<[whose: string]>([["account"], ["tenant"], ["inbox"], ["key"]])(
    "closed, of the %s, sends nothing",
    async (whose) => {
      const { apiKey, inboxId } = await begin("one");
      const { body: key } = await world().api("/v1/keys", { method: "POST", body: {}, apiKey });
      const sent = () => send(world(), inboxId, {}, { apiKey: key.key });
      expect((await sent()).status).toBe(200);
      const path = {
        account: "/v1/account",
        tenant: "/v1/policy?external_id=one",
        inbox: `/v1/inboxes/${inboxId}`,
        key: `/v1/keys/${key.id}`,
      }[whose];
      const set = await setPolicy(world(), path ?? "", "closed", apiKey, whose === "tenant" ? "PUT" : "PATCH");
      expect(set.status).toBe(200);
      // The key is remembered until its signal comes.
      let refused = await sent();
      while (whose === "key" && refused.status === 200) refused = await sent();
      expect([refused.status, refused.body.code]).toEqual([403, "sending_disabled"]);
      expect((await send(world(), inboxId, {}, { apiKey })).status).toBe(whose === "key" ? 200 : 403);
    },
  );

  test("known sends to the own inboxes, to those who answered, and to those whom a rule allows", async () => {
    const { apiKey, inboxId, address, sent } = await begin();
    const sister = (await world().api("/v1/inboxes", { method: "POST", body: {}, apiKey })).body;
    const foreign = (await world().api("/v1/inboxes", { method: "POST", apiKey: await newAccount(world()) })).body;
    const { body: first } = await sent({ to: "jane@example.com" });
    const rfcId = (await world().api(`/v1/messages/${first.messageId}`, { apiKey })).body.rfcMessageId;
    await setPolicy(world(), `/v1/inboxes/${inboxId}`, "known", apiKey);
    const refused = await sent({ to: "jane@example.com" });
    expect([refused.status, refused.body]).toMatchObject([
      403,
      { code: "recipient_not_allowed", recipients: ["jane@example.com"], rule_id: null },
    ]);

    // A mail that only bears her address makes her not known.
    await world().deliver(mailOf({ from: "jane@example.com", subject: "Hello" }), address, "jane@example.com");
    expect((await sent({ to: "jane@example.com" })).status).toBe(403);
    const answer = mailOf({ from: "jane@example.com", subject: "Re: Hello", headers: [`In-Reply-To: ${rfcId}`] });
    await world().deliver(answer, address, "jane@example.com");
    expect((await sent({ to: "Jane@Example.com" })).status).toBe(200);
    const some = await sent({ to: ["jane@example.com", "bob@example.com"], bcc: ["eve@example.com"] });
    expect(some.body.recipients).toEqual(["bob@example.com", "eve@example.com"]);

    expect((await sent({ to: sister.address })).status).toBe(200);
    expect((await sent({ to: foreign.address })).status).toBe(403);
    const allowed = { direction: "outbound", action: "allow", pattern: "bob@example.com" };
    await world().api("/v1/rules", { method: "POST", body: allowed, apiKey });
    expect((await sent({ to: "bob@example.com" })).status).toBe(200);
    await block(world(), "example.com", apiKey);
    expect((await sent({ to: "bob@example.com" })).body.rule_id).toMatch(/^rul_/);
  });

  test("a forged sender becomes not known, even by an answer, and a proven one does without", async () => {
    const { apiKey, inboxId, address, sent } = await begin();
    const { body: first } = await sent({ to: "victim@example.com" });
    const { rfcMessageId } = (await world().api(`/v1/messages/${first.messageId}`, { apiKey })).body;
    await setPolicy(world(), `/v1/inboxes/${inboxId}`, "known", apiKey);
    const { deps } = world().service;
    const from = (name: string) => ({ from: { address: `${name}@example.com` } });
    const forged = { ...from("victim"), messageId: "forged@evil.example", inReplyTo: [rfcMessageId.slice(1, -1)] };
    const inbox = { id: inboxId, address };
    await takeIn(deps, inbox, [forged], authenticationOf({ verdict: "fail" }));
    await takeIn(deps, inbox, [{ ...from("proven"), messageId: "proven@example.com" }], authenticationOf());
    expect((await sent({ to: "victim@example.com" })).body.code).toBe("recipient_not_allowed");
    expect((await sent({ to: "proven@example.com" })).status).toBe(200);
  });

  test("known for a tenant's key knows the inboxes of its tenant alone", async () => {
    const { apiKey, inboxId } = await begin("one");
    const make = async (externalId?: string) =>
      (await world().api("/v1/inboxes", { method: "POST", body: { externalId }, apiKey })).body.address;
    const [same, other, none] = [await make("one"), await make("two"), await make()];
    await setPolicy(world(), `/v1/inboxes/${inboxId}`, "known", apiKey);
    const { key } = (await world().api("/v1/keys", { method: "POST", body: { externalId: "one" }, apiKey })).body;
    const statuses = async (by: string) =>
      Promise.all([same, other, none].map(async (to) => (await send(world(), inboxId, { to }, { apiKey: by })).status));
    expect(await statuses(key)).toEqual([200, 403, 403]);
    expect(await statuses(apiKey)).toEqual([200, 200, 200]);
  });

  test("a token sends no more than its key may", async () => {
    const { apiKey, inboxId } = await begin();
    const made = await world().api("/v1/keys", { method: "POST", body: { sendPolicy: "known" }, apiKey });
    const token = await world().api("/v1/tokens", { method: "POST", body: { access: "send" }, apiKey: made.body.key });
    const { status, body } = await send(world(), inboxId, {}, { apiKey: token.body.token });
    expect([status, body.code]).toEqual([403, "recipient_not_allowed"]);
  });

  test("what is refused for its sender's domain is refused for its recipient first", async () => {
    const { apiKey, sent } = await begin();
    await block(world(), "example.com", apiKey);
    const { body } = await sent({ fromAddr: undefined, to: "jane@example.com", threadId: `thr_${"0".repeat(26)}` });
    // What the request names is looked for before the rules.
    expect([body.code, body.resource]).toEqual(["not_found", "thread"]);
  });
});

describe.each(enginesHere().filter((engine) => engine === "postgres"))("rules on two processes (%s)", (engine) => {
  const start = worldsOn(engine);

  test("a rule that one adds is in force in the other without a wait for its memory to end", async () => {
    await using one = await start({ env: nowhere });
    await using other = await one.another({ env: nowhere });
    const inboxId = await newInbox(one);
    expect((await send(other, inboxId, { to: "a@evil.example" })).status).toBe(200);
    await block(one, "evil.example", one.apiKey);
    let tries = 0;
    while ((await send(other, inboxId, { to: "a@evil.example" })).status === 200) tries += 1;
    expect(tries).toBeLessThan(1_000);
  });
});
