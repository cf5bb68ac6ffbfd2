import { afterAll, beforeAll, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../../src/database/db.ts";
import { untilLogShowsAll } from "../../../support/log-horizon.ts";
import { mailOf } from "../../../support/mail.ts";
import { answer, type Receiver, startReceiver } from "../../../support/receiver.ts";
import { newAccount, newInbox, send } from "../../../support/sends.ts";
import { untilAnswered } from "../../../support/until.ts";
import { startWorld, type World } from "../../../support/world.ts";

let world: World;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  world = await startWorld({ env: { ALLOW_PRIVATE_WEBHOOKS: "1" } });
}, 60_000);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await receiver.close();
});

/** The stats of a key, counted anew. */
async function stats(apiKey: string, search = "") {
  await untilLogShowsAll(world.service.deps.db.api);
  world.clock.pass(10_000);
  return (await world.api(`/v1/stats${search}`, { apiKey })).body;
}

const totals = ({ perMinute }: { perMinute: Record<string, number>[] }) =>
  ["received", "sent", "failed", "bounced"].map((name) => perMinute.reduce((sum, at) => sum + (at[name] ?? 0), 0));

test("the stats of a quiet account", async () => {
  const apiKey = await newAccount(world);
  const { perMinute, ...others } = await stats(apiKey);
  expect(others).toEqual({ delivery: { p50Ms: null, p99Ms: null }, outbox: { oldestSeconds: null, count: 0 } });
  expect(perMinute.length).toBe(60);
  const now = world.clock.now().toISOString();
  expect(perMinute.at(-1)).toEqual({ at: `${now.slice(0, 16)}:00.000Z`, received: 0, sent: 0, failed: 0, bounced: 0 });
  expect((await stats(apiKey, "?minutes=1440")).perMinute.length).toBe(1_440);
});

test("mail in and out is in the stats of its own account", async () => {
  const [apiKey, other] = [await newAccount(world), await newAccount(world)];
  const inboxId = await newInbox(world, apiKey);
  const { body: inbox } = await world.api(`/v1/inboxes/${inboxId}`, { apiKey });
  await world.deliver(mailOf({ headers: ["Message-ID: <in@x.example>"] }), inbox.address);
  await send(world, inboxId, {}, { apiKey, waits: true });
  expect(totals(await stats(apiKey))).toEqual([1, 1, 0, 0]);
  expect(totals(await stats(other))).toEqual([0, 0, 0, 0]);
  await world.api(`/v1/inboxes/${inboxId}`, { method: "DELETE", apiKey });
  expect(totals(await stats(apiKey))).toEqual([1, 1, 0, 0]);
});

test("the time of a delivery is that from the event to the answer, without events from before these minutes", async () => {
  const apiKey = await newAccount(world);
  const inboxId = await newInbox(world, apiKey);
  const { body: inbox } = await world.api(`/v1/inboxes/${inboxId}`, { apiKey });
  await world.api("/v1/webhook", { method: "PUT", body: { url: receiver.url }, apiKey });
  await world.deliver(mailOf({ headers: ["Message-ID: <told@x.example>"] }), inbox.address);
  const { db } = world.service.deps;
  const timed = () =>
    query<{ attemptedAt: Date; latencyMs: number; eventId: string }>(
      db.api,
      sql`select attempted_at as "attemptedAt", latency_ms as "latencyMs", event_id as "eventId"
          from deliveries where lane = (select id from accounts where id = (select account_id from inboxes where id = ${inboxId}))`,
    );
  const [delivery] = await untilAnswered(async () => {
    const rows = await timed();
    return rows.length === 1 ? rows : undefined;
  });
  if (delivery === undefined) throw new Error("There is no delivery");
  const happened = (at: Date) =>
    query(db.api, sql`update events set occurred_at = ${at} where id = ${delivery.eventId}`);
  await happened(new Date(delivery.attemptedAt.getTime() - 3_000));
  const took = 3_000 + delivery.latencyMs;
  expect((await stats(apiKey)).delivery).toEqual({ p50Ms: took, p99Ms: took });
  await happened(new Date(delivery.attemptedAt.getTime() - 3_600_000));
  expect((await stats(apiKey)).delivery).toEqual({ p50Ms: null, p99Ms: null });
});

test("an item in the outbox is counted, with its age", async () => {
  const apiKey = await newAccount(world);
  const inboxId = await newInbox(world, apiKey);
  const { body: inbox } = await world.api(`/v1/inboxes/${inboxId}`, { apiKey });
  const failing = await startReceiver({ behaviour: answer(500) });
  await world.api("/v1/webhook", { method: "PUT", body: { url: failing.url }, apiKey });
  await world.deliver(mailOf({ headers: ["Message-ID: <stuck@x.example>"] }), inbox.address);
  await failing.request(1);
  await failing.close();
  const { outbox } = await stats(apiKey);
  expect(outbox).toEqual({ oldestSeconds: 10, count: 1 });
  expect((await stats(await newAccount(world))).outbox.count).toBe(0);
});

test("a number of minutes out of range is refused", async () => {
  for (const minutes of ["0", "1441", "1.5", "x"]) {
    const { status, body } = await world.api(`/v1/stats?minutes=${minutes}`);
    expect([status, body.code]).toEqual([400, "invalid_query"]);
  }
});
