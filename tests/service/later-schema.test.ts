import { afterAll, beforeAll, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { migrations } from "../../src/store/migrate.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

test("The ledger of a started service has each step of the program with its kind", async () => {
  const steps = await query(world.service.deps.db.api, sql`select tag, kind from schema_steps order by step`);
  expect(steps).toEqual(migrations.map(({ tag, kind }) => ({ tag, kind })));
});

test("A service goes on while a later version adds to the schema, and starts again on the result", async () => {
  const inbox = await world.inbox("rolling");
  const before = await aRound(inbox, "before");
  expect(before).toEqual(["250", ...before.slice(1).map(() => 200)]);
  await addLater();
  // The statements that the sessions have prepared know nothing of the new columns. An embedded database has no process meanwhile.
  if (world.service.engine === "postgres") expect(await aRound(inbox, "meanwhile")).toEqual(before);
  await world.restart();
  expect(await aRound(inbox, "after")).toEqual(before);
});

/** Receives, sends and reads once. Returns what was answered. */
async function aRound({ id, address }: WorldInbox, subject: string): Promise<unknown[]> {
  const mail = `From: jane@example.com\r\nTo: ${address}\r\nSubject: ${subject}\r\n\r\nHello\r\n`;
  const received = await world.deliver(mail, address);
  const sent = await world.api(`/v1/inboxes/${id}/send`, {
    method: "POST",
    headers: { "idempotency-key": subject },
    body: { to: "jane@example.com", subject, body: "Hello" },
  });
  const reads = [
    `/v1/inboxes/${id}`,
    `/v1/inboxes/${id}/messages?limit=2`,
    `/v1/inboxes/${id}/messages?q=hello&limit=2`,
    `/v1/inboxes/${id}/threads?limit=2`,
    `/v1/inboxes/${id}/export`,
    "/v1/events?limit=2",
    "/v1/outbox",
    "/v1/account",
  ];
  const answers = await Promise.all(reads.map((path) => world.api(path)));
  return [received.slice(0, 3), sent.status, ...answers.map(({ status }) => status)];
}

/**
 * Adds what a later version could add: a column to each table, one more table, and the step in the ledger. Each table is locked alone, so
 * that no work of the service can meet two of the locks in another order.
 */
async function addLater(): Promise<void> {
  const { api } = world.service.deps.db;
  const tables = await query<{ name: string }>(
    api,
    sql`select relname as name from pg_class
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
  );
  expect(tables.length).toBeGreaterThan(20);
  for (const { name } of tables) await api.script(`alter table "${name}" add column later text default 'later'`);
  await api.script("create table later (id int primary key)");
  await query(
    api,
    sql`insert into schema_steps (step, tag, kind) select max(step) + 1, '9999_later', 'expand' from schema_steps`,
  );
}
