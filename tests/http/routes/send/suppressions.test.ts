import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../../src/database/db.ts";
import { prune } from "../../../../src/workers/prune.ts";
import { enginesHere } from "../../../support/engines.ts";
import { newAccount, newInbox, send } from "../../../support/sends.ts";
import { oneWorldOn } from "../../../support/world-on.ts";

const env = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0" };

describe.each(enginesHere())("the suppressions of an account (%s)", (engine) => {
  const world = oneWorldOn(engine, { env });

  const add = (body: object, apiKey = world().apiKey) =>
    world().api("/v1/suppressions", { method: "POST", body, apiKey });
  const list = (query = "", apiKey = world().apiKey) => world().api(`/v1/suppressions${query}`, { apiKey });

  test("are added once, shown, found by address and removed", async () => {
    const apiKey = await newAccount(world());
    const first = await add({ address: "Jane@EXAMPLE.com", detail: "by phone" }, apiKey);
    expect(first.status).toBe(201);
    expect(first.body).toEqual({
      id: expect.stringMatching(/^sup_/),
      address: "jane@example.com",
      inboxId: null,
      reason: "manual",
      detail: "by phone",
      messageId: null,
      createdAt: world().clock.now().toISOString(),
      expiresAt: null,
    });
    expect(first.headers.get("location")).toBe(`/v1/suppressions/${first.body.id}`);
    const again = await add({ address: "jane@example.com", detail: "other words" }, apiKey);
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect((await world().api(`/v1/suppressions/${first.body.id}`, { apiKey })).body).toEqual(first.body);
    expect((await list("?address=JANE@example.com", apiKey)).body.data).toEqual([first.body]);
    expect((await list("?address=jane%2Ba@example.com", apiKey)).body.data).toEqual([]);
    expect((await world().api(`/v1/suppressions/${first.body.id}`)).status).toBe(404);
    const removal = { method: "DELETE", apiKey };
    expect((await world().api(`/v1/suppressions/${first.body.id}`, removal)).status).toBe(204);
    expect((await world().api(`/v1/suppressions/${first.body.id}`, removal)).body.resource).toBe("suppression");
    expect((await list("", apiKey)).body).toEqual({ data: [], nextCursor: null });
  });

  test("are taken with the nulls that they are shown with", async () => {
    const apiKey = await newAccount(world());
    const { body: shown } = await add({ address: "jane@example.com" }, apiKey);
    const { address, inboxId, detail, expiresAt, reason, createdAt } = shown;
    expect([inboxId, detail, expiresAt]).toEqual([null, null, null]);
    const back = await add({ address, inboxId, detail, expiresAt }, apiKey);
    expect([back.status, back.body]).toEqual([200, shown]);
    const other = { address: "bob@example.com", inboxId, detail, expiresAt, reason, createdAt };
    expect((await add({ data: [other] }, apiKey)).body).toEqual({ created: 1, existing: 0 });
    expect((await list("?address=bob@example.com", apiKey)).body.data).toMatchObject([other]);
  });

  test("says of an instant of another year what it may be", async () => {
    const { body } = await add({ address: "a@example.com", expiresAt: "9999-12-31T00:00:00Z" });
    expect(body.errors).toEqual([
      { pointer: "#/expiresAt", detail: "must be an RFC 3339 date-time of the years 1900 to 2199" },
    ]);
  });

  test("are listed newest first, page by page, by reason and by inbox", async () => {
    const apiKey = await newAccount(world());
    const inboxId = await newInbox(world(), apiKey);
    const data = ["a", "b", "c", "d"].map((name) => ({ address: `${name}@example.com`, reason: "bounce" }));
    expect((await add({ data: [...data, data[0], { address: "e@example.com", inboxId }] }, apiKey)).body).toEqual({
      created: 5,
      existing: 0,
    });
    expect((await add({ data: [...data, { address: "f@example.com" }] }, apiKey)).body).toEqual({
      created: 1,
      existing: 4,
    });
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page = await list(`?limit=4${cursor && `&cursor=${cursor}`}`, apiKey);
      seen.push(...page.body.data.map(({ address }: { address: string }) => address[0]));
      cursor = page.body.nextCursor;
    }
    expect(seen.join("")).toBe("fedcba");
    expect((await list("?reason=manual", apiKey)).body.data).toHaveLength(2);
    expect((await list(`?inbox_id=${inboxId}`, apiKey)).body.data).toMatchObject([
      { address: "e@example.com", inboxId },
    ]);
    expect((await list("?reason=bored", apiKey)).body.code).toBe("invalid_query");
  });

  const faults: [what: string, body: object, pointer: string][] = [
    ["no address", {}, "#/address"],
    ["a domain", { address: "example.com" }, "#/address"],
    ["an end that is over", { address: "a@example.com", expiresAt: "2020-01-01T00:00:00Z" }, "#/expiresAt"],
    ["a year that no instant has", { address: "a@example.com", expiresAt: "2200-01-01T00:00:00Z" }, "#/expiresAt"],
    ["a reason outside a list", { address: "a@example.com", reason: "bounce" }, "#/reason"],
    ["a list beside a field", { address: "a@example.com", data: [{ address: "b@example.com" }] }, "#/address"],
    ["a pattern with *", { address: "*@example.com" }, "#/address"],
    ["a pattern with %", { address: "jane%@example.com" }, "#/address"],
    [
      "a pattern in a list",
      { data: [{ address: "b@example.com" }, { address: "b*@example.com" }] },
      "#/data/1/address",
    ],
    ["one wrong address of a list", { data: [{ address: "b@example.com" }, { address: "b" }] }, "#/data/1/address"],
    ["an empty list", { data: [] }, "#/data"],
  ];
  test.each(faults)("are refused with %s", async (_, body, pointer) => {
    const refused = await add(body);
    expect([refused.status, refused.body.code]).toEqual([400, "validation_error"]);
    expect(refused.body.errors.map((fault: { pointer: string }) => fault.pointer)).toContain(pointer);
  });

  test("of a foreign inbox are refused, and then nothing of a list is there", async () => {
    const apiKey = await newAccount(world());
    const inboxId = await newInbox(world());
    const refused = await add({ data: [{ address: "a@example.com" }, { address: "b@example.com", inboxId }] }, apiKey);
    expect([refused.status, refused.body.resource]).toEqual([404, "inbox"]);
    expect((await list("", apiKey)).body.data).toEqual([]);
  });

  test("keep mail from an address as it is written, in any case, and from no other", async () => {
    const inboxId = await newInbox(world());
    const { body: suppression } = await add({ address: "Zoe@EXAMPLE.com" });
    const refused = await send(world(), inboxId, { to: "zoe@Example.COM" });
    expect(refused.status).toBe(422);
    expect(refused.body).toMatchObject({
      code: "recipient_suppressed",
      suppression_id: suppression.id,
      reason: "manual",
      expires_at: null,
      detail: "Cannot send: the recipient is suppressed (manual)",
    });
    expect((await send(world(), inboxId, { to: "zoe+a@example.com" })).status).toBe(200);
    await world().api(`/v1/suppressions/${suppression.id}`, { method: "DELETE" });
    expect((await send(world(), inboxId, { to: "zoe@example.com" })).status).toBe(200);
  });

  test("of one inbox are no other's, and a replay is never refused by one", async () => {
    const [inboxId, other] = [await newInbox(world()), await newInbox(world())];
    const to = "mia@example.com";
    expect((await send(world(), inboxId, { to }, { key: "before-mia" })).status).toBe(200);
    await add({ address: to, inboxId });
    expect((await send(world(), inboxId, { to })).body.code).toBe("recipient_suppressed");
    expect((await send(world(), other, { to })).status).toBe(200);
    const replay = await send(world(), inboxId, { to }, { key: "before-mia" });
    expect([replay.status, replay.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
  });

  test("end by themselves, and one that is over is made anew", async () => {
    const inboxId = await newInbox(world());
    const to = "leo@example.com";
    const expiresAt = new Date(world().clock.now().getTime() + 60_000).toISOString();
    const { body: first } = await add({ address: to, expiresAt });
    expect((await send(world(), inboxId, { to })).body.expires_at).toBe(expiresAt);
    world().clock.pass(60_000);
    expect((await send(world(), inboxId, { to })).status).toBe(200);
    expect((await world().api(`/v1/suppressions/${first.id}`)).status).toBe(404);
    const again = await add({ address: to });
    expect(again.status).toBe(201);
    expect(again.body.id).not.toBe(first.id);
  });

  test("that are bounces from elsewhere end like our own, counted from when they were made", async () => {
    const apiKey = await newAccount(world());
    const dayMs = 86_400_000;
    const daysFromNow = (days: number) => new Date(world().clock.now().getTime() + days * dayMs).toISOString();
    const data = [
      { address: "new@example.com", reason: "bounce" },
      { address: "old@example.com", reason: "bounce", createdAt: daysFromNow(-80) },
      { address: "over@example.com", reason: "bounce", createdAt: daysFromNow(-90) },
      { address: "told@example.com", reason: "bounce", createdAt: daysFromNow(-80), expiresAt: daysFromNow(1) },
      { address: "ever@example.com", reason: "bounce", expiresAt: null },
      { address: "spam@example.com", reason: "complaint", createdAt: daysFromNow(-200) },
      { address: "manual@example.com", createdAt: daysFromNow(-200) },
    ];
    expect((await add({ data }, apiKey)).body).toEqual({ created: 6, existing: 0 });
    const shown = (await list("", apiKey)).body.data.map(
      ({ address, expiresAt }: { address: string; expiresAt: string | null }) => [address, expiresAt],
    );
    expect(Object.fromEntries(shown)).toEqual({
      "new@example.com": daysFromNow(90),
      "old@example.com": daysFromNow(10),
      "told@example.com": daysFromNow(1),
      "ever@example.com": null,
      "spam@example.com": null,
      "manual@example.com": null,
    });
    expect((await add({ data }, apiKey)).body).toEqual({ created: 0, existing: 6 });
  });

  test("leave the table when they are over, and with their inbox", async () => {
    const apiKey = await newAccount(world());
    const inboxId = await newInbox(world(), apiKey);
    const expiresAt = new Date(world().clock.now().getTime() + 30_000).toISOString();
    const data = [
      { address: "a@example.com", expiresAt },
      { address: "b@example.com", inboxId },
    ];
    await add({ data: [...data, { address: "c@example.com" }] }, apiKey);
    const { address } = (await world().api(`/v1/inboxes/${inboxId}`, { apiKey })).body;
    expect(await world().deliver("Subject: Hi\r\n\r\nHello\r\n", address)).toStartWith("250");
    await world().api(`/v1/inboxes/${inboxId}`, { method: "DELETE", apiKey });
    world().clock.pass(120_000);
    const { deps } = world().service;
    while ((await prune({ ...deps, eventRetentionDays: 30 })) > 0);
    const left = await query<{ address: string }>(
      deps.db.api,
      sql`select address from suppressions where account_id = (select account_id from inboxes where id = ${inboxId})`,
    );
    expect(left).toEqual([{ address: "c@example.com" }]);
  });
});
