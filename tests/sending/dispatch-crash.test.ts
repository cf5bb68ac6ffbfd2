import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { type Database, type Db, openDatabase, query, transaction } from "../../src/database/db.ts";
import { lockNumber } from "../../src/store/locks.ts";
import { enginesHere } from "../support/engines.ts";
import type { RunningInboxd } from "../support/inboxd.ts";
import { kill, type Life, livesOn, newInboxOf } from "../support/lives.ts";
import { lockInbox } from "../support/lock-inbox.ts";
import { untilSo } from "../support/until.ts";
import type { World } from "../support/world.ts";

const rounds = Number(process.env.KILL_ROUNDS ?? (process.env.TEST_DATABASE_URL ? 8 : 4));
const apiKey = "key-of-the-first-account-in-tests";

/** Sends a mail later, or at once if that takes longer than until then. Returns its id. */
async function schedule(
  process: RunningInboxd,
  inboxId: string,
  inMs: number,
  to = "jane@example.com",
): Promise<string> {
  const response = await fetch(new URL(`/v1/inboxes/${inboxId}/send`, process.api), {
    method: "POST",
    headers: {
      authorization: `Bearer ${apiKey}`,
      "content-type": "application/json",
      "idempotency-key": crypto.randomUUID(),
    },
    body: JSON.stringify({ to, subject: "Hello", body: "Hello", sendAt: new Date(Date.now() + inMs).toISOString() }),
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { messageId: string }).messageId;
}

const isOver = async (world: World, id: string) => (await world.api(`/v1/messages/${id}`)).body.state === null;

async function countMessages(process: RunningInboxd, inboxIds: readonly string[]): Promise<number> {
  const totals = await Promise.all(
    inboxIds.map(async (id) => {
      const response = await process.request("GET", `/v1/inboxes/${id}/messages?limit=1`, undefined, apiKey);
      return ((await response.json()) as { total: number }).total;
    }),
  );
  return totals.reduce((sum, total) => sum + total, 0);
}

/** The events about each of these messages. */
async function toldOf({ service }: World, ids: readonly string[]): Promise<Map<string, string[]>> {
  const rows = await query<{ id: string; type: string }>(
    service.deps.db.api,
    sql`select message_id as id, type from events where type in ('message.sent', 'message.failed') order by id`,
  );
  return new Map(ids.map((id) => [id, rows.flatMap((row) => (row.id === id ? [row.type] : []))]));
}

/** The mails of a message at the relays. */
const copiesOf = (life: Life, id: string) =>
  life.mails().filter(({ raw }) => raw.toString("latin1").includes(`\r\nMessage-ID: <${id}@`));

describe.each(enginesHere())("kill -9 during a dispatch (%s)", (engine) => {
  const lives = livesOn(engine);

  test("after the commit, before the relay says a word: the mail is sent once", async () => {
    await using life = await lives();
    const relay = await life.relay({ greeting: "silence" });
    const process = await life.start(relay);
    const id = await schedule(process, await newInboxOf(process), 1000);
    await relay.openIs(1);
    await kill(process);
    const world = await life.recover();
    await world.settled();
    expect((await world.api(`/v1/messages/${id}`)).body).toMatchObject({ status: "sent", state: null });
    expect(copiesOf(life, id)).toHaveLength(1);
    expect(await toldOf(world, [id])).toEqual(new Map([[id, ["message.sent"]]]));
  }, 60_000);

  test(`${rounds} times under load: each mail is sent or ends unsent, with one event`, async () => {
    await using life = await lives();
    const relay = await life.relay();
    let process = await life.start(relay);
    const ids: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      // Those of earlier rounds wait for the ends of their leases.
      const inboxIds = await Promise.all([1, 2, 3].map(() => newInboxOf(process)));
      const gone = `gone-${round}@example.com`;
      const made = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          schedule(process, inboxIds[index % 3] ?? "", 500 + 40 * index, index % 5 === 0 ? gone : undefined),
        ),
      );
      ids.push(...made);
      await process.request("POST", "/v1/suppressions", { address: gone }, apiKey);
      // At a random point of their dispatch.
      const more = 1 + Math.floor(Math.random() * 20);
      await untilSo(async () => (await countMessages(process, inboxIds)) >= more);
      await kill(process);
      process = await life.start(relay);
    }
    await kill(process);

    const world = await life.recover();
    for (const id of ids) await untilSo(() => isOver(world, id));
    await world.settled();
    const told = await toldOf(world, ids);
    const ends = { "message.sent": 0, "message.failed": 0 };
    for (const [id, types] of told) {
      const [type = ""] = types;
      expect([id, types.length]).toEqual([id, 1]);
      ends[type as keyof typeof ends] += 1;
      const copies = copiesOf(life, id);
      expect([id, new Set(copies.map(({ raw }) => raw.toString())).size]).toEqual([
        id,
        type === "message.sent" ? 1 : 0,
      ]);
    }
    expect(ends["message.sent"]).toBeGreaterThanOrEqual(24 * rounds);
    // A mail whose reply was in transit when the process died is sent again.
    expect(life.mails().length).toBeLessThanOrEqual(ids.length + rounds * 5);
  }, 240_000);
});

describe.skipIf(!enginesHere().includes("postgres"))("kill -9 at a step of a dispatch", () => {
  const lives = livesOn("postgres");

  /** Waits until a statement of the process waits for a lock. */
  const untilWaiting = (db: Db) =>
    untilSo(async () => {
      const waiting = await query(
        db,
        sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return waiting.length > 0;
    });

  async function isLeased(db: Db, id: string): Promise<boolean> {
    const [draft] = await query<{ isLeased: boolean }>(
      db,
      sql`select leased_until is not null as "isLeased" from drafts where id = ${id}`,
    );
    return draft?.isLeased === true;
  }

  /** Takes the right to claim drafts, as another process would. */
  async function takeClaiming(db: Database): Promise<() => Promise<void>> {
    const taken = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const holding = transaction(db.api, async (tx) => {
      await query(tx, sql`select pg_advisory_xact_lock(${lockNumber("dispatching")})`);
      taken.resolve();
      await released.promise;
    });
    await taken.promise;
    return async () => {
      released.resolve();
      await holding;
    };
  }

  type Hold = (db: Database, mail: { id: string; inboxId: string }) => Promise<() => Promise<void>>;

  const steps: [step: string, to: string, hold: Hold, reached: (db: Database, id: string) => Promise<void>][] = [
    [
      "when it is due and not claimed",
      "jane@example.com",
      takeClaiming,
      ({ api }, id) =>
        untilSo(async () => (await query(api, sql`select from drafts where id = ${id} and due_at < now()`)).length > 0),
    ],
    [
      "when it is claimed, and its message is not written",
      "jane@example.com",
      (db, { inboxId }) => lockInbox(db.api, inboxId),
      async ({ api }, id) => {
        await untilSo(() => isLeased(api, id));
        await untilWaiting(api);
      },
    ],
    [
      "when it is refused, and its end is not written",
      "gone@example.com",
      (db, { inboxId }) => lockInbox(db.api, inboxId),
      async ({ api }, id) => {
        await untilSo(() => isLeased(api, id));
        await untilWaiting(api);
      },
    ],
  ];

  test.each(steps)(
    "%s",
    async (_, to, hold, reached) => {
      await using life = await lives();
      const relay = await life.relay();
      const process = await life.start(relay);
      const inboxId = await newInboxOf(process);
      const id = await schedule(process, inboxId, 3_600_000, to);
      await process.request("POST", "/v1/suppressions", { address: "gone@example.com" }, apiKey);
      const db = await openDatabase({ url: life.url, dataDir: "" });
      const release = await hold(db, { id, inboxId });
      await query(db.api, sql`update drafts set send_at = now(), due_at = now() where id = ${id}`);
      await reached(db, id);
      await kill(process);
      expect(life.mails()).toEqual([]);
      // The server may still run the statement of the dead process.
      await release();
      await db.close();

      const world = await life.recover();
      await untilSo(() => isOver(world, id));
      await world.settled();
      const isSent = to === "jane@example.com";
      expect(await toldOf(world, [id])).toEqual(new Map([[id, [isSent ? "message.sent" : "message.failed"]]]));
      expect(copiesOf(life, id)).toHaveLength(isSent ? 1 : 0);
      expect((await world.api(`/v1/inboxes/${inboxId}/messages`)).body.total).toBe(isSent ? 1 : 0);
    },
    60_000,
  );
});
