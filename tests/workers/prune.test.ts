import { beforeEach, describe, expect, test } from "bun:test";
import { is, type SQL, sql } from "drizzle-orm";
import { getTableConfig, type PgColumn, PgTable } from "drizzle-orm/pg-core";
import { openDatabase, query, transaction } from "../../src/database/db.ts";
import { service } from "../../src/domain/access/actor.ts";
import { deleteInbox } from "../../src/flows/account/delete-inbox.ts";
import { countMail } from "../../src/flows/account/remove-messages.ts";
import { fileThreads } from "../../src/flows/read/file-threads.ts";
import { columnName } from "../../src/store/columns.ts";
import { insertRows } from "../../src/store/rows.ts";
import * as schema from "../../src/store/schema.ts";
import { prune } from "../../src/workers/prune.ts";
import { eraseInboxes } from "../../src/workers/remove-mail.ts";
import { enginesHere } from "../support/engines.ts";
import { outboxWorld } from "../support/outbox-world.ts";
import { setUpEngine } from "../support/set-up-engine.ts";
import { untilSo } from "../support/until.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const hasColumn = (table: PgTable, name: string) =>
  getTableConfig(table).columns.some((column) => columnName(column) === name);

/** All tables whose rows belong to an inbox, by themselves or by their message. */
const tablesOfInboxes = Object.values(schema)
  .filter((value) => is(value, PgTable))
  .filter((table) => hasColumn(table, "inbox_id") || hasColumn(table, "message_id"));

function ofInbox(table: PgTable, id: string): SQL {
  return hasColumn(table, "inbox_id") ? sql`inbox_id = ${id}` : sql`message_id = 'a_row'`;
}

/** A value that this column takes. */
function valueFor(column: PgColumn): SQL {
  const { enumValues } = column;
  const name = columnName(column);
  const type = column.getSQLType();
  if (enumValues !== undefined && enumValues.length > 0) return sql`${enumValues[0]}`;
  // Rows that hang on the message do so by its id. It sorts before all times, so that a partition takes it.
  if (type.startsWith("text") && !type.endsWith("[]"))
    return sql`${name === "message_id" || name === "id" ? "a_row" : "x"}`;
  if (type.endsWith("[]")) return sql.raw("'{}'");
  const values: Record<string, string> = {
    uuid: "gen_random_uuid()",
    boolean: "true",
    date: "now()",
    tsvector: "''",
    jsonb: "'[]'",
  };
  if (type.startsWith("timestamp")) return sql.raw("now()");
  return sql.raw(values[type] ?? "1");
}

for (const engine of enginesHere()) {
  describe(`Tidying up, with the ${engine} database`, () => {
    const under = setUpEngine(engine);
    let world: Awaited<ReturnType<typeof outboxWorld>>;
    beforeEach(async () => {
      world = await outboxWorld(under.db);
    });

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

    test("leaves no row of a deleted inbox in any table, but what its own rule keeps", async () => {
      const inbox = await world.newInbox();
      await deleteInbox(world.deps, { accountId: inbox.accountId, actor: service }, inbox.id);
      for (const table of tablesOfInboxes) {
        if ((await count(getTableConfig(table).name, ofInbox(table, inbox.id))) === 0) await insertRow(table, inbox);
      }
      expect(tablesOfInboxes.length).toBeGreaterThan(10);
      const rows = async () => {
        const counts = new Map<string, number>();
        for (const table of tablesOfInboxes) {
          const { name } = getTableConfig(table);
          counts.set(name, await count(name, ofInbox(table, inbox.id)));
        }
        return [...counts].filter(([, left]) => left > 0).map(([name]) => name);
      };
      expect(await rows()).toEqual(tablesOfInboxes.map((table) => getTableConfig(table).name));

      // The last event of an account stays.
      await world.newInbox(inbox.accountId);
      world.clock.pass(dayMs);
      await prune(world.deps);
      // A delivery or a mail in line is carried out or given up by its worker, and its event stays until then. A key of the inbox stays
      // in the list of keys, as revoked, what the inbox used stays counted, and its address is kept from others.
      expect(await rows()).toEqual(["addresses", "api_keys", "outbox", "usage_days"]);
      expect(await count("inboxes", sql`id = ${inbox.id}`)).toBe(0);
    });

    /** A row of the inbox, made of what its columns take. */
    async function insertRow(table: PgTable, { id, accountId }: { id: string; accountId: string }): Promise<void> {
      const { name, columns } = getTableConfig(table);
      const own: Record<string, SQL> = {
        inbox_id: sql`${id}`,
        account_id: sql`${accountId}`,
        inbox_ids: sql`array[${id}]`,
        seq: sql`1`,
        direction: sql`'outbound'`,
        occurred_at: sql`${world.clock.now()}`,
      };
      const asked = columns.filter(
        (column) => own[columnName(column)] !== undefined || (column.notNull && !column.hasDefault),
      );
      const values = asked.map((column) => own[columnName(column)] ?? valueFor(column));
      const names = asked.map((column) => sql.identifier(columnName(column)));
      await query(
        under.db.api,
        sql`insert into ${sql.identifier(name)} (${sql.join(names, sql`, `)}) values (${sql.join(values, sql`, `)})`,
      );
    }

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
        sql`insert into deliveries (event_id, lane, attempt, attempted_at) values (${event?.id}, ${inbox.accountId}, 1, ${world.clock.now()})`,
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

    test("keeps entries of the audit for a year", async () => {
      const inbox = await world.newInbox();
      const mine = sql`account_id = ${inbox.accountId} and target_id = ${inbox.id}`;
      world.clock.pass(365 * dayMs);
      await prune(world.deps);
      expect(await count("audit_entries", mine)).toBe(1);
      world.clock.pass(1);
      await prune(world.deps);
      expect(await count("audit_entries", mine)).toBe(0);
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

    /** A rule and a policy of an inbox. */
    async function insertRulesOf({ id: inboxId, accountId }: { id: string; accountId: string }): Promise<void> {
      await query(
        under.db.api,
        sql`insert into rules (id, account_id, inbox_id, external_id, direction, action, pattern, created_at)
            values (${`rul_of_${inboxId}`}, ${accountId}, ${inboxId}, '', 'inbound', 'block', 'spam.example', now())`,
      );
      await query(
        under.db.api,
        sql`insert into policies (account_id, inbox_id, external_id) values (${accountId}, ${inboxId}, '')`,
      );
    }

    test("leaves nothing of a deleted inbox, and the bytes that another inbox shares", async () => {
      const inbox = await world.newInbox();
      const other = await world.newInbox();
      for (let mail = 0; mail < 120; mail += 1)
        await world.receive(inbox, mail % 40 === 0 ? { attachments: [attachment] } : {});
      await world.receive(inbox, { attachments: [attachment] }, [other]);
      await insertRulesOf(inbox);
      const threads = await query<{ id: string }>(
        under.db.api,
        sql`select id from threads where inbox_id = ${inbox.id}`,
      );
      const filing = { accountId: inbox.accountId, actor: service, inboxId: inbox.id, threads };
      await fileThreads(world.deps, { ...filing, change: { addLabels: ["orders", "vip"] } });
      await query(under.db.api, sql`insert into thread_blocks values (${inbox.id}, 0, 121, 0, 0, 0)`);
      await deleteInbox(world.deps, { accountId: inbox.accountId, actor: service }, inbox.id);
      await prune(world.deps);
      expect(await count("messages", sql`inbox_id = ${inbox.id}`)).toBe(121);
      world.clock.pass(60_001);
      await prune(world.deps);
      const labels = ["thread_labels", "label_counts"];
      const inInbox = [
        "messages",
        "threads",
        "thread_blocks",
        ...labels,
        "correspondents",
        "awaited_parents",
        "cold_sends",
        "rules",
        "policies",
      ];
      for (const table of inInbox) {
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
      expect(await count("inboxes", sql`id = ${inbox.id}`)).toBe(1);
      await world.newInbox(inbox.accountId);
      world.clock.pass(dayMs);
      await prune(world.deps);
      expect([
        await count("inboxes", sql`id = ${inbox.id}`),
        await count("events", sql`inbox_id = ${inbox.id}`),
      ]).toEqual([0, 0]);
      const entries = await query(
        under.db.api,
        sql`select account_id as "accountId", actor_type as actor, details from audit_entries where target_id = ${inbox.id} and action = 'inbox.erased'`,
      );
      const bytes = 121 * `Message-ID: <msg_${"0".repeat(26)}@mail.example>\r\n\r\nHello\r\n`.length;
      expect(entries).toEqual([{ accountId: inbox.accountId, actor: "service", details: { messages: 121, bytes } }]);
    });

    test("leaves nothing of a deleted inbox, however often its removal is stopped", async () => {
      const inbox = await world.newInbox();
      for (let mail = 0; mail < 3; mail += 1) await world.receive(inbox);
      await deleteInbox(world.deps, { accountId: inbox.accountId, actor: service }, inbox.id);
      await world.newInbox(inbox.accountId);
      world.clock.pass(dayMs);
      // Each run is stopped one question later than the one before.
      let asked = 0;
      for (let most = 0; asked >= most; most += 1) {
        asked = 0;
        await eraseInboxes(world.deps, () => {
          asked += 1;
          return asked > most;
        });
      }
      for (const table of ["messages", "threads", "correspondents", "events", "message_search"])
        expect([table, await count(table, sql`inbox_id = ${inbox.id}`)]).toEqual([table, 0]);
      expect(await count("inboxes", sql`id = ${inbox.id}`)).toBe(0);
    });

    test.skipIf(engine === "embedded")("leaves no row of a count that has read the inbox before", async () => {
      const inbox = await world.newInbox();
      await deleteInbox(world.deps, { accountId: inbox.accountId, actor: service }, inbox.id);
      world.clock.pass(60_001);
      await eraseInboxes(world.deps);
      world.clock.pass(dayMs);
      // The count waits between its reading and its writing.
      const held = 20_261_128;
      const script = (statements: string) => under.db.maintain((runner) => runner.script(statements));
      await script(`create function hold_count() returns trigger language plpgsql as
          $$ begin perform pg_advisory_xact_lock(${held}); return new; end $$;
        create trigger hold_count before insert on counted_inboxes
          for each row when (new.inbox_id = '${inbox.id}') execute function hold_count()`);
      const second = await openDatabase(under.options);
      const waiting = () => count("pg_stat_activity", sql`datname = current_database() and wait_event_type = 'Lock'`);
      let isErased = false;
      const [counting, erasing] = await transaction(under.db.api, async (tx) => {
        await query(tx, sql`select pg_advisory_xact_lock(${sql.raw(String(held))})`);
        const counting = countMail({ db: second }, inbox.id);
        await untilSo(async () => (await waiting()) === 1);
        const erasing = eraseInboxes(world.deps).then(() => {
          isErased = true;
        });
        await untilSo(async () => isErased || (await waiting()) === 2);
        return [counting, erasing];
      });
      await Promise.all([counting, erasing]);
      await second.close();
      await script("drop trigger hold_count on counted_inboxes; drop function hold_count");
      expect(await count("inboxes", sql`id = ${inbox.id}`)).toBe(0);
      expect(await count("counted_inboxes", sql`inbox_id = ${inbox.id}`)).toBe(0);
    });

    test("frees an address when it is reserved no longer, and removes its inbox within a day", async () => {
      const inbox = await world.newInbox();
      await deleteInbox(world.deps, { accountId: inbox.accountId, actor: service }, inbox.id);
      world.clock.pass(22 * hourMs);
      await prune(world.deps);
      expect(await count("inboxes", sql`id = ${inbox.id}`)).toBe(1);
      world.clock.pass(hourMs);
      await prune(world.deps);
      expect(await count("inboxes", sql`id = ${inbox.id}`)).toBe(0);
      world.clock.pass(30 * dayMs - 23 * hourMs - 1);
      await prune(world.deps);
      expect(await count("addresses", sql`username = ${inbox.username}`)).toBe(1);
      world.clock.pass(1);
      await prune(world.deps);
      expect(await count("addresses", sql`username = ${inbox.username}`)).toBe(0);
    });

    test("removes a letter an hour after its first attempt, once no other attempt is due", async () => {
      const at = world.clock.now();
      const letters = [
        { id: "ltr_open", takenAt: null },
        { id: "ltr_again", takenAt: at },
        { id: "ltr_done", takenAt: at },
      ].map((letter) => ({ ...letter, address: `${letter.id}@example.org`, draftIds: [], createdAt: at }));
      await insertRows(under.db.api, schema.letters, letters);
      const again = { subjectId: "ltr_again", kind: "relay", accountId: "service", inboxId: "ltr_again" } as const;
      await insertRows(under.db.api, schema.outbox, [{ ...again, lane: "example.org", dueAt: at, createdAt: at }]);
      world.clock.pass(hourMs);
      await prune(world.deps);
      expect(await count("letters")).toBe(3);
      world.clock.pass(1);
      await prune(world.deps);
      expect(await count("letters", sql`id in ('ltr_open', 'ltr_again')`)).toBe(2);
      expect(await count("letters")).toBe(2);
      await query(under.db.api, sql`delete from outbox where subject_id = 'ltr_again'`);
      await prune(world.deps);
      expect(await count("letters")).toBe(1);
    });

    test("keeps what a deleted inbox had accepted for sending until it is sent", async () => {
      const inbox = await world.newInbox();
      const id = await world.send(inbox, "joe@example.com");
      await deleteInbox(world.deps, { accountId: inbox.accountId, actor: service }, inbox.id);
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
