import { describe, expect, test } from "bun:test";
import { enginesHere } from "../../../support/engines.ts";
import { untilLogShowsAll } from "../../../support/log-horizon.ts";
import { mailOf } from "../../../support/mail.ts";
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

  test.each([
    ["an empty one", { externalId: "" }],
    ["one of 256 characters", { externalId: "x".repeat(256) }],
    ["another field", { username: "other" }],
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
