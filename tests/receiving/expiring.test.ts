import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { service } from "../../src/domain/access/actor.ts";
import type { Refusal } from "../../src/domain/errors.ts";
import { deleteInbox } from "../../src/flows/account/delete-inbox.ts";
import { enginesHere } from "../support/engines.ts";
import { untilLogShowsAll } from "../support/log-horizon.ts";
import { mailOf } from "../support/mail.ts";
import { newAccount } from "../support/sends.ts";
import { untilSo } from "../support/until.ts";
import { oneWorldOn } from "../support/world-on.ts";

const minute = 60_000;

describe.each(enginesHere())("An inbox with an end (%s)", (engine) => {
  const world = oneWorldOn(engine, { env: { INBOXES_PER_DAY: "0" } });

  async function begin(fields: object) {
    const apiKey = await newAccount(world());
    const made = await world().api("/v1/inboxes", { method: "POST", body: fields, apiKey });
    expect(made.status).toBe(201);
    const path = `/v1/inboxes/${made.body.id}`;
    const change = (body: object) => world().api(path, { method: "PATCH", body, apiKey });
    const status = async () => (await world().api(path, { apiKey })).status;
    return { apiKey, inbox: made.body, change, status };
  }

  const at = (ms: number) => new Date(world().clock.now().getTime() + ms).toISOString();

  test("is deleted at its end, as by a request", async () => {
    const { apiKey, inbox, status } = await begin({ ttlSeconds: 60, aliases: ["short-lived"] });
    expect(inbox.expiresAt).toBe(at(minute));
    expect(await world().deliver(mailOf({}), inbox.address)).toStartWith("250");
    world().clock.pass(minute - 1);
    expect(await status()).toBe(200);
    world().clock.pass(1);
    await untilSo(async () => (await status()) === 404);
    for (const address of [inbox.address, "short-lived@inbox.localhost"])
      expect(await world().deliver(mailOf({}), address)).toStartWith("550 5.1.1");
    expect((await world().api("/v1/inboxes", { apiKey })).body).toMatchObject({ data: [], total: 0 });
    const [username] = inbox.address.split("@");
    const again = await world().api("/v1/inboxes", { method: "POST", body: { username }, apiKey });
    expect(again.body.code).toBe("address_taken");
    const { data } = (await world().api("/v1/audit?action=inbox.deleted", { apiKey })).body;
    expect(data).toMatchObject([
      { actor: { type: "service" }, target: { id: inbox.id }, details: { username, expiresAt: inbox.expiresAt } },
    ]);
    await untilLogShowsAll(world().service.deps.db.api);
    const told = (await world().api("/v1/events?types=inbox.deleted", { apiKey })).body.data;
    expect(told).toMatchObject([{ inbox: { id: inbox.id } }]);
  });

  test("gets another end, or none, and is then deleted at that one alone", async () => {
    const [kept, later, soon] = [
      await begin({ ttlSeconds: 60 }),
      await begin({ expires_at: at(minute) }),
      await begin({}),
    ];
    expect((await kept.change({ expiresAt: null })).body.expiresAt).toBe(null);
    expect((await later.change({ expiresAt: at(3 * minute) })).body.expiresAt).toBe(at(3 * minute));
    expect((await soon.change({ expires_at: at(minute) })).body.expiresAt).toBe(at(minute));
    world().clock.pass(minute);
    await untilSo(async () => (await soon.status()) === 404);
    expect([await kept.status(), await later.status()]).toEqual([200, 200]);
    world().clock.pass(2 * minute);
    await untilSo(async () => (await later.status()) === 404);
    expect(await kept.status()).toBe(200);
  });

  test("is not deleted by a worker that read it before it got a later end", async () => {
    const { apiKey, inbox, status } = await begin({ ttlSeconds: 3600 });
    const { deps } = world().service;
    const { id: accountId } = (await world().api("/v1/account", { apiKey })).body;
    const deleted = deleteInbox(deps, { accountId, actor: service }, inbox.id, { expiredBy: deps.now() });
    expect(await deleted.catch((error: Refusal) => error.reason)).toBe("not_found");
    expect(await status()).toBe(200);
  });

  test.each([
    ["now", () => ({ expiresAt: at(0) }), "#/expiresAt"],
    ["in the past", () => ({ expiresAt: "2020-01-01T00:00:00Z" }), "#/expiresAt"],
    ["that is none", () => ({ expiresAt: "tomorrow" }), "#/expiresAt"],
    ["and also a duration", () => ({ expiresAt: at(minute), ttlSeconds: 60 }), "#/ttlSeconds"],
    ["after 59 seconds", () => ({ ttlSeconds: 59 }), "#/ttlSeconds"],
    ["after more than a year", () => ({ ttlSeconds: 31_536_001 }), "#/ttlSeconds"],
  ])("is not made with an end %s", async (_, fieldsOf, pointer) => {
    const body = fieldsOf();
    const refused = await world().api("/v1/inboxes", { method: "POST", body });
    expect([refused.status, refused.body.errors?.[0]?.pointer]).toEqual([400, pointer]);
    if (!("ttlSeconds" in body)) expect((await (await begin({})).change(body)).status).toBe(400);
  });

  test("is made once for a key of idempotency, with the end that it got first", async () => {
    const headers = { "idempotency-key": "ends" };
    const make = (body: object) => world().api("/v1/inboxes", { method: "POST", body, headers });
    const { body } = await make({ ttlSeconds: 3600 });
    world().clock.pass(1000);
    expect((await make({ ttlSeconds: 3600 })).body).toEqual(body);
    for (const other of [{}, { ttlSeconds: 3601 }, { expiresAt: body.expiresAt }])
      expect((await make(other)).body.code).toBe("idempotency_key_reused");
    const dated = { "idempotency-key": "dated" };
    const first = await world().api("/v1/inboxes", { method: "POST", body: { expiresAt: at(minute) }, headers: dated });
    const second = await world().api("/v1/inboxes", {
      method: "POST",
      body: { expiresAt: at(2 * minute) },
      headers: dated,
    });
    expect([first.status, second.body.code]).toEqual([201, "idempotency_key_reused"]);
  });

  test("has each mail that was answered with 250 before it was deleted, and no other", async () => {
    const { inbox, status } = await begin({ ttlSeconds: 60 });
    world().clock.pass(minute);
    let stored = 0;
    for (let number = 0; ; number += 1) {
      const reply = await world().deliver(mailOf({ messageId: `<end-${number}@x.example>` }), inbox.address);
      if (!reply.startsWith("250")) {
        expect(reply).toStartWith("550 5.1.1");
        break;
      }
      stored += 1;
    }
    expect(await status()).toBe(404);
    expect(await world().deliver(mailOf({ messageId: "<late@x.example>" }), inbox.address)).toStartWith("550 5.1.1");
    const [row] = await query<{ count: number }>(
      world().service.deps.db.api,
      sql`select count(*) from messages where inbox_id = ${inbox.id}`,
    );
    expect(row?.count).toBe(stored);
  });
});
