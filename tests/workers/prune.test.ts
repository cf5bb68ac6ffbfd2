import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { deleteInbox } from "../../src/flows/account/delete-inbox.ts";
import { migrate } from "../../src/store/migrate.ts";
import { prune } from "../../src/workers/prune.ts";
import { type EngineUnderTest, enginesHere, openEngine } from "../support/engines.ts";
import { outboxWorld } from "../support/outbox-world.ts";

const dayMs = 86_400_000;

for (const engine of enginesHere()) {
  describe(`Tidying up, with the ${engine} database`, () => {
    let under: EngineUnderTest;
    let world: Awaited<ReturnType<typeof outboxWorld>>;
    beforeAll(async () => {
      under = await openEngine(engine);
      await migrate(under.db);
    });
    beforeEach(async () => {
      world = await outboxWorld(under.db);
    });
    afterAll(() => under?.remove());

    async function count(table: string, where = sql`true`): Promise<number> {
      const name = sql.identifier(table);
      const [row] = await query<{ count: number }>(under.db.api, sql`select count(*) from ${name} where ${where}`);
      return row?.count ?? -1;
    }

    const attachment = {
      filename: "a.pdf",
      contentType: "application/pdf",
      contentId: undefined,
      inline: false,
      bytes: new Uint8Array(10),
    };

    test("forgets idempotency keys after a day, and not before", async () => {
      const inbox = await world.newInbox();
      await world.send(inbox, "jane@example.com");
      const mine = sql`account_id = ${inbox.accountId} and operation = 'send'`;
      world.clock.pass(dayMs - 1);
      await prune(world.deps);
      expect(await count("idempotency_keys", mine)).toBe(1);
      world.clock.pass(1);
      await prune(world.deps);
      expect(await count("idempotency_keys", mine)).toBe(0);
    });

    test("forgets requests that were counted more than a day ago", async () => {
      await query(
        under.db.api,
        sql`insert into recent_requests (account_id, action, asked_at) values
          ('acc_old', 'redeliver', array[now() - interval '3 days', now() - interval '25 hours']),
          ('acc_new', 'redeliver', array[now() - interval '3 days', now() - interval '23 hours'])`,
      );
      await prune(world.deps);
      expect([
        await count("recent_requests", sql`account_id = 'acc_old'`),
        await count("recent_requests", sql`account_id = 'acc_new'`),
      ]).toEqual([0, 1]);
    });

    test("forgets the cold sends of days that are over, a day late: a clock may have been ahead", async () => {
      const inbox = await world.newInbox();
      await query(
        under.db.api,
        sql`insert into cold_sends (inbox_id, recipient, sent_on, count) values (${inbox.id}, 'jane@example.com', '2026-03-21', 1)`,
      );
      const mine = sql`inbox_id = ${inbox.id}`;
      for (const left of [1, 1, 0]) {
        await prune(world.deps);
        expect(await count("cold_sends", mine)).toBe(left);
        world.clock.pass(dayMs);
      }
    });

    test("keeps events and their deliveries for thirty days", async () => {
      const inbox = await world.newInbox();
      await world.receive(inbox);
      await world.receive(inbox);
      const [event, last] = await world.events(inbox.id);
      await query(
        under.db.api,
        sql`insert into deliveries (event_id, attempt, attempted_at) values (${event?.id}, 1, ${world.clock.now()})`,
      );
      world.clock.pass(30 * dayMs);
      await prune(world.deps);
      expect(await world.events(inbox.id)).toHaveLength(2);
      world.clock.pass(1);
      await prune(world.deps);
      // Who has read the last event of a quiet account must have a place to go on from.
      expect((await world.events(inbox.id)).map(({ id }) => id)).toEqual([last?.id ?? ""]);
      expect(await world.deliveries(event?.id ?? "")).toEqual([]);
      expect(await count("messages", sql`inbox_id = ${inbox.id}`)).toBe(2);
    });

    test("keeps an event that is still to be delivered, however old", async () => {
      const inbox = await world.newInbox();
      await world.setWebhook(inbox.accountId, "http://127.0.0.1:9/hook");
      await world.receive(inbox);
      await world.receive(inbox);
      world.clock.pass(31 * dayMs);
      await prune(world.deps);
      expect(await world.events(inbox.id)).toHaveLength(2);
      await query(under.db.api, sql`delete from outbox where inbox_id = ${inbox.id}`);
      await prune(world.deps);
      expect(await world.events(inbox.id)).toHaveLength(1);
    });

    test("leaves nothing of a deleted inbox, and the bytes that another inbox shares", async () => {
      const inbox = await world.newInbox();
      const other = await world.newInbox();
      for (let mail = 0; mail < 120; mail += 1)
        await world.receive(inbox, mail % 40 === 0 ? { attachments: [attachment] } : {});
      await world.receive(inbox, { attachments: [attachment] }, [other]);
      await deleteInbox(world.deps, inbox.accountId, inbox.id);
      await prune(world.deps);
      expect(await count("messages", sql`inbox_id = ${inbox.id}`)).toBe(121);
      world.clock.pass(60_001);
      await prune(world.deps);
      for (const table of ["messages", "threads", "correspondents", "awaited_parents", "cold_sends"]) {
        expect([table, await count(table, sql`inbox_id = ${inbox.id}`)]).toEqual([table, 0]);
      }
      const [kept] = await query<{ id: string; source: string }>(
        under.db.api,
        sql`select id, source_id as source from messages where inbox_id = ${other.id}`,
      );
      expect(await count("attachments", sql`message_id = ${kept?.id}`)).toBe(1);
      expect(await count("source_chunks", sql`source_id = ${kept?.source} and coalesce(shares, 1) = 1`)).toBe(2);
      const orphans = sql`not exists (select from messages m where m.source_id = source_chunks.source_id)`;
      expect(await count("source_chunks", orphans)).toBe(0);
      const strays = sql`not exists (select from messages m where m.id = attachments.message_id)`;
      expect(await count("attachments", strays)).toBe(0);
    });

    test("frees an address when its quarantine is over, and the inbox with it", async () => {
      const inbox = await world.newInbox();
      await deleteInbox(world.deps, inbox.accountId, inbox.id);
      world.clock.pass(30 * dayMs - 1);
      await prune(world.deps);
      expect(await count("addresses", sql`username = ${inbox.username}`)).toBe(1);
      world.clock.pass(1);
      await prune(world.deps);
      expect(await count("addresses", sql`username = ${inbox.username}`)).toBe(0);
      expect(await count("inboxes", sql`id = ${inbox.id}`)).toBe(0);
    });

    test("keeps what a deleted inbox had accepted for sending until it is sent", async () => {
      const inbox = await world.newInbox();
      const id = await world.send(inbox, "joe@example.com");
      await deleteInbox(world.deps, inbox.accountId, inbox.id);
      world.clock.pass(60_001);
      await prune(world.deps);
      expect(await world.message(id)).toMatchObject({ status: "pending" });
      const workers = await world.start();
      await workers.settled(id, 5000);
      await world.stop();
      expect(world.relay.mails.filter(({ to }) => to === "joe@example.com")).toHaveLength(1);
      await prune(world.deps);
      expect(await world.message(id)).toBe(undefined);
    });
  });
}
