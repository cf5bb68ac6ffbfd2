import { describe, expect, test } from "bun:test";
import { enginesHere } from "../../../support/engines.ts";
import { untilLogShowsAll } from "../../../support/log-horizon.ts";
import { mailOf } from "../../../support/mail.ts";
import { insertOwnDomain } from "../../../support/own-domain.ts";
import { newAccount } from "../../../support/sends.ts";
import { oneWorldOn } from "../../../support/world-on.ts";

describe.each(enginesHere())("An inbox (%s)", (engine) => {
  const world = oneWorldOn(engine);

  async function begin() {
    const apiKey = await newAccount(world());
    const { body: inbox } = await world().api("/v1/inboxes", { method: "POST", body: { externalId: "one" }, apiKey });
    const change = (body: object) => world().api(`/v1/inboxes/${inbox.id}`, { method: "PATCH", body, apiKey });
    const eventsOf = async (externalId: string) => {
      await untilLogShowsAll(world().service.deps.db.api);
      const { body } = await world().api(`/v1/events?types=*&external_id=${externalId}`, { apiKey });
      return body.data.map(({ event, external_id }: Record<string, unknown>) => [event, external_id]);
    };
    return { apiKey, inbox, change, eventsOf };
  }

  test("gets another external id, which its list and all of its events then have", async () => {
    const { apiKey, inbox, change, eventsOf } = await begin();
    await world().deliver(mailOf({ subject: "Before" }), inbox.address);
    const changed = await change({ external_id: "two" });
    const { unreadThreads, lastMessageAt } = changed.body;
    expect([changed.status, changed.body]).toEqual([
      200,
      { ...inbox, externalId: "two", unreadThreads, lastMessageAt },
    ]);
    expect(unreadThreads).toBe(1);
    // A mail after the change is filed as ever.
    await world().deliver(mailOf({ subject: "After" }), inbox.address);
    expect((await world().api("/v1/inboxes?externalId=two", { apiKey })).body.data).toMatchObject([{ id: inbox.id }]);
    const all = ["inbox.created", "message.received", "message.received"].map((type) => [type, "two"]);
    expect(await eventsOf("two")).toEqual(all);
    expect(await eventsOf("one")).toEqual([]);
  });

  test("and its account say how long mail is kept, which the audit tells", async () => {
    const { apiKey, inbox, change } = await begin();
    expect((await change({ retention_days: 30 })).body).toEqual({ ...inbox, retentionDays: 30 });
    const changeAccount = (retentionDays: number | null) =>
      world().api("/v1/account", { method: "PATCH", body: { retentionDays }, apiKey });
    expect((await changeAccount(90)).body).toMatchObject({ retentionDays: 90 });
    expect((await world().api("/v1/account", { apiKey })).body).toEqual((await changeAccount(90)).body);
    expect((await changeAccount(null)).body.retentionDays).toBe(null);
    expect((await change({ retentionDays: null })).body).toEqual(inbox);
    const { body: audit } = await world().api("/v1/audit?action=retention.changed", { apiKey });
    const told = audit.data.map(({ target, details }: Record<string, unknown>) => [
      (target as { type: string }).type,
      (details as { retentionDays: number | null }).retentionDays,
    ]);
    expect(told).toEqual([
      ["inbox", null],
      ["account", null],
      ["account", 90],
      ["account", 90],
      ["inbox", 30],
    ]);
  });

  test("can have none, and stays as it is without a change", async () => {
    const { inbox, change, eventsOf } = await begin();
    expect((await change({})).body).toEqual(inbox);
    expect((await change({ externalId: null })).body).toEqual({ ...inbox, externalId: null });
    expect(await eventsOf("one")).toEqual([]);
  });

  test("gets a name, metadata by key and a policy, each of which null clears", async () => {
    const { apiKey, inbox, change } = await begin();
    expect([inbox.displayName, inbox.metadata, inbox.updatedAt]).toEqual([null, {}, inbox.createdAt]);
    world().clock.pass(1000);
    const all = { display_name: "Ada Lovelace", metadata: { plan: "gold", team: "a" }, sendPolicy: "known" };
    const first = (await change(all)).body;
    expect(first).toMatchObject({ displayName: "Ada Lovelace", metadata: all.metadata, sendPolicy: "known" });
    expect(new Date(first.updatedAt) > new Date(inbox.updatedAt)).toBe(true);
    expect((await change({})).body).toEqual(first);
    expect((await change({ metadata: { plan: null, note: "new", gone: null } })).body.metadata).toEqual({
      team: "a",
      note: "new",
    });
    const cleared = (await change({ displayName: null, metadata: null, sendPolicy: null })).body;
    expect(cleared).toMatchObject({ displayName: null, metadata: {}, sendPolicy: "open" });
    expect((await world().api(`/v1/inboxes/${inbox.id}`, { apiKey })).body).toEqual(cleared);
    expect((await world().api("/v1/inboxes", { apiKey })).body.data).toEqual([cleared]);
    const { body: audit } = await world().api("/v1/audit?action=inbox.changed", { apiKey });
    expect(audit.data.map(({ details }: { details: object }) => details)).toEqual([
      { displayName: null, metadata: [] },
      { metadata: ["plan", "note", "gone"] },
      { displayName: "Ada Lovelace", metadata: ["plan", "team"] },
    ]);
  });

  test("has at most 20 keys of metadata, also after changes that are made at the same time", async () => {
    const { change } = await begin();
    const keys = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${from + index}`, "v"]));
    const answers = await Promise.all([0, 15].map((from) => change({ metadata: keys(from, 15) })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400]);
    expect(answers.find(({ status }) => status === 400)?.body).toMatchObject({
      code: "validation_error",
      errors: [{ pointer: "#/metadata", detail: "must have at most 20 keys" }],
    });
    expect(Object.keys((await change({ displayName: "A" })).body.metadata)).toHaveLength(15);
  });

  test("is made with the same fields, and once for a key of idempotency", async () => {
    const apiKey = await newAccount(world());
    const fields = {
      displayName: "Ada",
      metadata: { plan: "gold" },
      retentionDays: 7,
      sendPolicy: "known",
      searchWords: "head",
    };
    const make = (body: object) =>
      world().api("/v1/inboxes", { method: "POST", body, apiKey, headers: { "Idempotency-Key": "k" } });
    const made = await make(fields);
    expect([made.status, made.body]).toMatchObject([201, fields]);
    expect((await make(fields)).body).toEqual(made.body);
    expect((await make({ ...fields, displayName: "Eve" })).body.code).toBe("idempotency_key_reused");
    const plain = { displayName: null, metadata: {}, retentionDays: null, sendPolicy: "open", searchWords: null };
    const other = { "Idempotency-Key": "o" };
    const { body } = await world().api("/v1/inboxes", { method: "POST", body: {}, apiKey, headers: other });
    const repeated = await world().api("/v1/inboxes", { method: "POST", body: plain, apiKey, headers: other });
    expect(repeated.body).toEqual(body);
  });

  test("gets approvers, each once, whose mail does not come to this service", async () => {
    const { apiKey, inbox, change } = await begin();
    expect(inbox.approvers).toBe(null);
    const twice = ["Boss@Example.org", "boss@example.org", "cfo@example.org"];
    expect((await change({ approvers: twice })).body.approvers).toEqual(["boss@example.org", "cfo@example.org"]);
    expect((await change({ displayName: "Ada" })).body.approvers).toEqual(["boss@example.org", "cfo@example.org"]);
    expect((await change({ approvers: [] })).body.approvers).toEqual([]);
    expect((await change({ approvers: null })).body.approvers).toBe(null);
    const body = { approvers: ["boss@example.org"] };
    expect((await world().api("/v1/inboxes", { method: "POST", body, apiKey })).body).toMatchObject(body);

    const { api: db } = world().service.deps.db;
    const { id: accountId } = (await world().api("/v1/account", { apiKey })).body;
    const { name } = await insertOwnDomain(db, { accountId, name: `${inbox.id.slice(-8)}.example` });
    // The domains are remembered for five seconds.
    world().clock.pass(6_000);
    const ours = await change({ approvers: ["boss@example.org", `ceo@${name}`] });
    const detail = "must be an address whose mail does not come to this service";
    expect(ours).toMatchObject({ status: 400, body: { errors: [{ pointer: "#/approvers/1", detail }] } });
  });

  test("gets no policy from a key that may not change it", async () => {
    const apiKey = await newAccount(world());
    const { body: agent } = await world().api("/v1/keys", { method: "POST", body: { access: "agent" }, apiKey });
    const make = (body: object) => world().api("/v1/inboxes", { method: "POST", body, apiKey: agent.key });
    expect(await make({ sendPolicy: "open" })).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect(await make({ approvers: [] })).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect(await make({ displayName: "Ada" })).toMatchObject({ status: 201, body: { displayName: "Ada" } });
  });

  test.each([
    ["a name with an address", { displayName: "ceo@bank.example" }],
    ["a name of two lines", { displayName: "a\r\nBcc: b" }],
    ["an empty name", { displayName: "" }],
    ["metadata of a number", { metadata: { a: 1 } }],
    ["metadata under a strange key", { metadata: { "a b": "c" } }],
    ["metadata of 501 characters", { metadata: { a: "x".repeat(501) } }],
    ["metadata of 21 keys", { metadata: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`k${at}`, ""])) }],
    ["an empty one", { externalId: "" }],
    ["one of 256 characters", { externalId: "x".repeat(256) }],
    ["another field", { username: "other" }],
    ["six approvers", { approvers: Array.from({ length: 6 }, (_, at) => `a${at}@example.org`) }],
    ["an approver with a name", { approvers: ["Boss <boss@example.org>"] }],
    ["an approver at the domain of the service", { approvers: ["boss+x@INBOX.localhost"] }],
    ["a retention of no day", { retentionDays: 0 }],
    ["a retention of eleven years", { retentionDays: 4000 }],
  ])("is not changed by %s", async (_, body) => {
    const { apiKey, inbox, change } = await begin();
    const refused = await change(body);
    expect([refused.status, refused.body.code]).toEqual([400, "validation_error"]);
    expect((await world().api(`/v1/inboxes/${inbox.id}`, { apiKey })).body).toEqual(inbox);
  });

  test("of another account, or a deleted one, is not found", async () => {
    const { apiKey, inbox, change } = await begin();
    const stranger = await newAccount(world());
    const path = `/v1/inboxes/${inbox.id}`;
    const foreign = await world().api(path, { method: "PATCH", body: { externalId: "mine" }, apiKey: stranger });
    expect([foreign.status, foreign.body.resource]).toEqual([404, "inbox"]);
    await world().api(path, { method: "DELETE", apiKey });
    expect((await change({ externalId: "late" })).status).toBe(404);
  });
});
