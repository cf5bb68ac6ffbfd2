import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { is, sql } from "drizzle-orm";
import { getTableConfig, PgTable } from "drizzle-orm/pg-core";
import { type Database, query, transaction } from "../../src/database/db.ts";
import { beginningOfIds } from "../../src/domain/ids.ts";
import {
  type Partitionable,
  type PartitionInterval,
  partitionable,
  partitionableTables,
} from "../../src/domain/partitions.ts";
import { exportEverything } from "../../src/flows/move/export-everything.ts";
import { importEverything } from "../../src/flows/move/import-everything.ts";
import { addPartitions, dropOldPartitions, partitionTables, removeLeftBounds } from "../../src/flows/partitions.ts";
import { watchDatabase } from "../../src/metrics/database.ts";
import { registry } from "../../src/metrics/registry.ts";
import { allFields, columnName, columnNames } from "../../src/store/columns.ts";
import { unlessHeld } from "../../src/store/locks.ts";
import { findKnownOfMails } from "../../src/store/mail/receiving.ts";
import { migrate } from "../../src/store/migrate.ts";
import * as schema from "../../src/store/schema.ts";
import { foldEvents, listBounded, listPartitions } from "../../src/store/upkeep/partitions.ts";
import { partitionKeeper } from "../../src/workers/keep-partitions.ts";
import { prune } from "../../src/workers/prune.ts";
import { settable } from "../support/clock.ts";
import { isPartitionedHere } from "../support/database.ts";
import { type EngineUnderTest, enginesHere, openEngine } from "../support/engines.ts";
import { failureOf } from "../support/failure.ts";
import { mailOf } from "../support/mail.ts";
import { parsedMetrics } from "../support/metrics.ts";
import { outboxWorld } from "../support/outbox-world.ts";
import { hasPostgres, startPostgres } from "../support/postgres.ts";
import { untilSo } from "../support/until.ts";
import { startWorld, type World } from "../support/world.ts";

const dayMs = 86_400_000;

test("each table that may be partitioned has a primary key that begins with the column of its ids", () => {
  const tables = Object.values(schema).filter((value) => is(value, PgTable));
  const firstOf = (name: string) => {
    const table = tables.find((each) => getTableConfig(each).name === name);
    if (table === undefined) return undefined;
    const { columns, primaryKeys } = getTableConfig(table);
    const first = primaryKeys[0]?.columns[0] ?? columns.find(({ primary }) => primary);
    return first && columnName(first);
  };
  for (const table of partitionableTables) expect([table, firstOf(table)]).toEqual([table, partitionable[table].key]);
});

/** They make partitions themselves. */
const isElsewhere = !enginesHere().includes("postgres") || isPartitionedHere;

describe.skipIf(isElsewhere)("A service whose tables are partitioned", () => {
  test("goes on with its data, its keys and its grants, and is partitioned once", async () => {
    await using world = await startWorld();
    const { db } = world.service.deps;
    const ada = await world.inbox("ada");
    await world.deliver(mailOf({ messageId: "1@x.example" }), ada.address);
    await world.deliver(mailOf({ messageId: "2@x.example", inReplyTo: "1@x.example" }), ada.address);
    await query(db.api, sql`grant select on messages to public`);
    const lists = [`/v1/inboxes/${ada.id}/messages`, `/v1/inboxes/${ada.id}/threads`, "/v1/events"];
    const shown = async () => {
      const answers = await Promise.all(lists.map((path) => world.api(path)));
      return answers.map(({ body }) => body.data.map((item: Record<string, string>) => item.id ?? item.event_id));
    };
    const before = await shown();
    const shape = await shapeOf(db);

    const made = await partitionTables({ db, now: world.clock.now }, partitionableTables, "month");
    expect(made.map(({ table, by }) => [table, by])).toEqual(partitionableTables.map((table) => [table, "month"]));
    for (const { until } of made) expect(until).toEqual(new Date("2026-06-01T00:00:00Z"));
    expect(await listBounded(db.work)).toEqual([]);
    expect(await shown()).toEqual(before);
    expect(await shapeOf(db)).toEqual(shape);
    const [grant] = await query(db.api, sql`select has_table_privilege('public', 'messages', 'select') as "canRead"`);
    expect(grant).toEqual({ canRead: true });

    const third = mailOf({ messageId: "3@x.example", inReplyTo: "2@x.example" });
    expect(await world.deliver(third, ada.address)).toStartWith("250");
    world.clock.set("2026-04-02T10:00:00.000Z");
    const fourth = mailOf({ messageId: "4@x.example", inReplyTo: "3@x.example" });
    expect(await world.deliver(fourth, ada.address)).toStartWith("250");
    const [messages, threads] = await shown();
    expect([messages.length, threads.length]).toEqual([4, 1]);
    const { body: page } = await world.api(`/v1/inboxes/${ada.id}/messages?limit=2`);
    const { body: rest } = await world.api(`/v1/inboxes/${ada.id}/messages?limit=2&cursor=${page.nextCursor}`);
    expect([...page.data, ...rest.data].map(({ id }: { id: string }) => id)).toEqual(messages);

    await world.restart();
    const again = await partitionTables({ db: world.service.deps.db, now: world.clock.now }, ["messages"], "month");
    expect(again).toHaveLength(1);
    const other = partitionTables({ db: world.service.deps.db, now: world.clock.now }, ["messages"], "day");
    expect(String(await failureOf(other))).toContain("it is partitioned by month already");

    // A service that was stopped for months adds what is missing before mail comes.
    world.clock.set("2026-09-10T10:00:00.000Z");
    const late = mailOf({ messageId: "5@x.example" });
    expect(await world.deliver(late, ada.address)).toStartWith("451");
    await world.restart();
    expect(await world.deliver(late, ada.address)).toStartWith("250");
    await world.api(`/v1/inboxes/${ada.id}`, { method: "DELETE" });
    expect((await world.api(`/v1/inboxes/${ada.id}/messages`)).status).toBe(404);
  }, 60_000);
});

test.skipIf(!hasPostgres)(
  "A dump and its restore keep partitions, which then take mail",
  async () => {
    const directory = mkdtempSync(join(tmpdir(), "ibx-dump-"));
    const server = await startPostgres();
    const clock = settable();
    const worldIn = async (name: string) => {
      return startWorld({ database: { url: server.url(name), drop: async () => undefined }, clock });
    };
    const seen = async ({ api, service }: World, inboxId: string) => ({
      subjects: (await api(`/v1/inboxes/${inboxId}/messages`)).body.data.map(
        ({ subject }: { subject: string }) => subject,
      ),
      partitions: await listPartitions(service.deps.db.work),
      shape: await shapeOf(service.deps.db),
    });
    try {
      for (const name of ["dumped", "restored"]) await server.ask(`create database ${name}`);
      let ada = { id: "", address: "" };
      let before: Awaited<ReturnType<typeof seen>>;
      {
        await using world = await worldIn("dumped");
        await partitionTables({ db: world.service.deps.db, now: clock.now }, partitionableTables, "month");
        ada = await world.inbox("ada");
        for (const [subject, at] of [
          ["first", "2026-03-22T10:00:00.000Z"],
          ["second", "2026-04-02T10:00:00.000Z"],
        ] as const) {
          clock.set(at);
          expect(await world.deliver(mailOf({ subject, messageId: `${subject}@x.example` }), ada.address)).toStartWith(
            "250",
          );
        }
        // As the next start does.
        await addPartitions(world.service.deps);
        before = await seen(world, ada.id);
      }
      expect(before.subjects).toEqual(["second", "first"]);
      const dump = join(directory, "dump");
      await server.run("pg_dump", "--format=custom", `--file=${dump}`, server.url("dumped"));
      await server.run("pg_restore", `--dbname=${server.url("restored")}`, dump);
      await using world = await worldIn("restored");
      expect(await seen(world, ada.id)).toEqual(before);
      expect(await world.deliver(mailOf({ subject: "third", messageId: "third@x.example" }), ada.address)).toStartWith(
        "250",
      );
      expect((await seen(world, ada.id)).subjects).toEqual(["third", "second", "first"]);
    } finally {
      await server.remove();
      rmSync(directory, { recursive: true, force: true });
    }
  },
  120_000,
);

/** The columns, constraints and indexes of the tables, as Postgres describes them. */
async function shapeOf(db: Database): Promise<object[]> {
  const ofTables = sql.raw(`in (${partitionableTables.map((table) => `'${table}'`).join(", ")})`);
  return query(
    db.api,
    sql`select c.relname::text as "table", a.attname::text as name, concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull,
          a.attstorage, a.attcompression, a.attcollation, pg_get_expr(d.adbin, d.adrelid)) as definition
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum where c.oid::regclass::text ${ofTables}
        union all select conrelid::regclass::text, conname::text, pg_get_constraintdef(oid) from pg_constraint
          where conrelid::regclass::text ${ofTables} and contype <> 'n'
        union all select tablename::text, indexname::text, replace(indexdef, ' ON ONLY ', ' ON ') from pg_indexes
          where tablename::text ${ofTables}
        order by 1, 2, 3`,
  );
}

describe.skipIf(isElsewhere)("Partitioning", () => {
  let under: EngineUnderTest;
  let db: Database;
  beforeEach(async () => {
    under = await openEngine("postgres");
    db = under.db;
    await migrate(db);
  }, 60_000);
  afterEach(() => under.remove());

  async function namesOf(table: Partitionable): Promise<string[]> {
    return (await listPartitions(db.work)).get(table)?.map(({ name }) => name) ?? [];
  }
  const rows = async (table: string) => (await query(db.api, sql`select from ${sql.identifier(table)}`)).length;

  test("gives way to a statement that uses the table, and does not hold up others behind it", async () => {
    const isUsing = Promise.withResolvers<void>();
    const gaveWay = Promise.withResolvers<void>();
    const using = transaction(db.api, async (tx) => {
      await query(tx, sql`select from messages`);
      isUsing.resolve();
      await gaveWay.promise;
    });
    await isUsing.promise;
    const partitioned = partitionTables({ db, now: settable().now }, ["messages"], "month");
    await untilSo(async () => {
      const waiting = await query(
        db.work,
        sql`select from pg_locks where relation = to_regclass('messages') and mode = 'AccessExclusiveLock' and not granted`,
      );
      return waiting.length > 0;
    });
    // It waits behind the request for the lock, which gives up after 40 ms.
    await transaction(db.work, async (tx) => {
      await tx.script("set local lock_timeout = 2000");
      await query(tx, sql`select from messages`);
    });
    gaveWay.resolve();
    await using;
    expect(await partitioned).toMatchObject([{ table: "messages", by: "month" }]);
  }, 60_000);

  test("is refused with the names of all that is in the way, and changes nothing", async () => {
    const july = `${beginningOfIds("evt", new Date("2026-07-01"))}0`;
    for (const statement of [
      "create view seen as select id from messages",
      'create table notes (message_id text collate "C" references messages (id))',
      "create unique index odd on messages (rfc_message_id)",
      "create function never() returns trigger language plpgsql as 'begin return new; end'",
      "create trigger told after insert on messages for each row execute function never()",
      "create table later () inherits (messages)",
      `insert into deliveries (event_id, lane, attempt, attempted_at) values ('${july}', 'x', 1, now())`,
    ]) {
      await db.maintain((own) => own.script(statement));
    }
    const refused = String(await failureOf(partitionTables({ db, now: settable().now }, ["messages"], "month")));
    expect(refused).toContain("Cannot partition messages: in the way are ");
    const named = ["the view seen", "of notes", "the unique key odd is without id", "the trigger told", "later"];
    for (const name of named) expect(refused).toContain(name);
    const ahead = String(await failureOf(partitionTables({ db, now: settable().now }, ["events"], "month")));
    expect(ahead).toContain("Cannot partition deliveries: in the way are rows with ids from after 2026-04-01");
    expect((await listPartitions(db.work)).size).toBe(0);
    expect(await listBounded(db.work)).toEqual([]);
  }, 60_000);

  test("that ended halfway is undone by the service, unless it still runs", async () => {
    await db.maintain((own) =>
      own.script(`alter table messages add constraint messages_partition_bound check (id < 'msg_0') not valid`),
    );
    const whileHeld = async () => {
      await removeLeftBounds({ db });
      expect(await listBounded(db.work)).toEqual(["messages"]);
      const second = partitionTables({ db, now: settable().now }, ["messages"], "month");
      expect(String(await failureOf(second))).toContain("another process changes partitions");
      return true;
    };
    expect(await db.maintain((own) => unlessHeld(own, "partitioning", whileHeld))).toBe(true);
    await removeLeftBounds({ db });
    expect(await listBounded(db.work)).toEqual([]);
  }, 60_000);

  test("takes events and deliveries together, and several processes add each partition once", async () => {
    const clock = settable();
    const made = await partitionTables({ db, now: clock.now }, ["deliveries"], "week");
    expect(made.map(({ table }) => table)).toEqual(["events", "deliveries"]);
    expect(await namesOf("events")).toEqual(
      ["before_20260323", "20260323", "20260330", "20260406"].map((name) => `events_${name}`),
    );
    clock.pass(21 * dayMs);
    const metrics = registry();
    watchDatabase(metrics, db, clock.now);
    const seen = parsedMetrics(await metrics.text());
    const measured = (table: Partitionable) =>
      ["partitions", "partitions_missing"].map((name) => seen.get(`inboxd_${name}{table="${table}"}`));
    expect([measured("events"), measured("messages")]).toEqual([
      [4, 3],
      [0, 0],
    ]);
    await Promise.all([addPartitions({ db, now: clock.now }), addPartitions({ db, now: clock.now })]);
    const partitions = (await listPartitions(db.work)).get("deliveries") ?? [];
    expect(partitions.at(-1)?.name).toBe("deliveries_20260427");
    for (const [index, { from }] of partitions.entries()) expect(from).toBe(partitions[index - 1]?.to);
  }, 60_000);

  /** Partitions tables by day, and returns a world whose clock adds partitions when it moves. */
  async function partitionedWorld(tables: readonly Partitionable[], by: PartitionInterval = "day") {
    const world = await outboxWorld(db);
    await partitionTables({ db, now: world.clock.now }, tables, by);
    const moveTo = async (instant: string) => {
      world.clock.set(instant);
      await addPartitions(world.deps);
    };
    return { world, moveTo };
  }

  test("leaves mail a plan that finds a Message-ID by its key in partitions that were empty", async () => {
    const { world } = await partitionedWorld(["messages"]);
    const inbox = await world.newInbox();
    await world.receive(inbox);
    const others = columnNames(
      schema.messages,
      allFields(schema.messages).filter((field) => field !== "id" && field !== "messageIdHash"),
    );
    const nextDay = beginningOfIds("msg", new Date("2026-03-24T10:00:00Z"));
    const [message] = await query<{ messageIdHash: string; contentHash: string }>(
      db.api,
      sql`select md5('7')::uuid as "messageIdHash", content_hash as "contentHash" from messages`,
    );
    if (message === undefined) throw new Error("Cannot receive a mail");
    const copy = { inboxId: inbox.id, ...message };
    const asked = { inboxIds: [], copies: [copy], named: [copy], notBefore: new Date(0) };
    await transaction(db.mail, async (tx) => {
      const readEntries = async () => {
        const [found] = await query<{ entries: number }>(
          tx,
          sql`select sum(pg_stat_get_xact_tuples_returned(indexrelid))::int4 as entries from pg_index
              where indrelid::regclass::text like 'messages\\_%'`,
        );
        return found?.entries ?? Number.NaN;
      };
      // The connection plans the statement now.
      expect((await findKnownOfMails(tx, asked)).parents).toEqual([]);
      await query(
        tx,
        sql`insert into messages (id, message_id_hash, ${others})
            select ${nextDay} || lpad(n::text, 16, '0'), md5(n::text)::uuid, ${others} from messages, generate_series(1, 3000) n`,
      );
      const before = await readEntries();
      const { parents, copies } = await findKnownOfMails(tx, asked);
      expect([parents.length, copies.length]).toEqual([1, 1]);
      expect((await readEntries()) - before).toBe(2);
    });
  }, 60_000);

  test("is kept up by the service, once an hour", async () => {
    const { world } = await partitionedWorld(["events"]);
    const keep = partitionKeeper(world.deps);
    const goesOn = () => false;
    await keep(goesOn);
    const names = await namesOf("events");
    await db.maintain((own) => own.script(`drop table ${names.at(-1)}`));
    world.clock.pass(59 * 60_000);
    await keep(goesOn);
    expect(await namesOf("events")).toEqual(names.slice(0, -1));
    world.clock.pass(60_000);
    await keep(goesOn);
    expect(await namesOf("events")).toEqual(names);
  }, 60_000);

  test("drops events and deliveries whole at the end of their retention, but not those that must stay", async () => {
    const { world, moveTo } = await partitionedWorld(["events"]);
    const [busy, quiet] = [await world.newInbox(), await world.newInbox()];
    await world.receive(busy);
    await moveTo("2026-03-24T10:00:00.000Z");
    await world.receive(busy);
    await world.receive(quiet);
    await moveTo("2026-03-26T10:00:00.000Z");
    await world.receive(busy);
    await moveTo("2026-03-28T10:00:00.000Z");
    await world.receive(busy);
    const ofBusy = async () => (await world.events(busy.id)).map(({ id }) => id);
    const ofQuiet = async () => (await world.events(quiet.id)).map(({ id }) => id);
    const [first = "", second = "", third = "", last = ""] = await ofBusy();
    const [only = ""] = await ofQuiet();
    for (const id of [first, second, third, last, only]) {
      await query(
        db.api,
        sql`insert into deliveries (event_id, lane, attempt, attempted_at) values (${id}, 'lane', 1, now())`,
      );
    }
    await query(
      db.api,
      sql`insert into outbox (subject_id, kind, account_id, inbox_id, lane, state, due_at, created_at, event_id)
          values (${second}, 'webhook', ${busy.accountId}, ${busy.id}, 'lane', 'waiting', now(), now(), ${second})`,
    );

    // Row by row in the first partition.
    await moveTo("2026-04-24T00:00:00.000Z");
    await prune(world.deps);
    expect(await ofBusy()).toEqual([second, third, last]);
    await moveTo("2026-04-27T00:00:00.000Z");

    // What is in line keeps its partition, and all later ones.
    await dropOldPartitions(world.deps);
    expect((await namesOf("events")).slice(0, 2)).toEqual(["events_before_20260324", "events_20260324"]);
    expect(await ofBusy()).toHaveLength(3);
    // So it does if it came in line after the look for it.
    const march28 = new Date("2026-03-28T00:00:00Z");
    const to = { at: march28, bound: beginningOfIds("evt", march28) };
    const folding = transaction(db.work, async (tx) =>
      foldEvents(tx, { partitions: await listPartitions(tx), to }, [last, only]),
    );
    expect(String(await failureOf(folding))).toContain("is in line again");
    expect((await namesOf("events"))[0]).toBe("events_before_20260324");
    expect(await ofBusy()).toHaveLength(3);

    await query(db.api, sql`delete from outbox where subject_id = ${second}`);
    await dropOldPartitions(world.deps);
    expect((await namesOf("events")).slice(0, 2)).toEqual(["events_before_20260328", "events_20260328"]);
    expect((await namesOf("deliveries")).slice(0, 2)).toEqual(["deliveries_before_20260328", "deliveries_20260328"]);
    expect([await ofBusy(), await ofQuiet()]).toEqual([[last], [only]]);
    expect(await rows("deliveries")).toBe(2);

    // A kept event goes, row by row, once its account has a later one.
    await world.receive(quiet);
    await prune(world.deps);
    const left = await ofQuiet();
    expect(left).toHaveLength(1);
    expect(left).not.toContain(only);
    // Nothing is left to drop, and nothing is made anew.
    await dropOldPartitions(world.deps);
    expect((await namesOf("events"))[0]).toBe("events_before_20260328");
  }, 120_000);

  test("leaves events to be removed row by row if those that must stay are too many to copy", async () => {
    const { world, moveTo } = await partitionedWorld(["events"]);
    const busy = await world.newInbox();
    await moveTo("2026-03-23T10:00:00.000Z");
    await world.receive(busy);
    const many = 10_001;
    await query(
      db.api,
      sql`insert into accounts (id, name, plan, created_at) select 'acc_' || n, n, 'free', now() from generate_series(1, ${many}::int) n`,
    );
    await query(
      db.api,
      sql`insert into events (id, account_id, type, occurred_at)
          select ${beginningOfIds("evt", world.clock.now())} || lpad(n::text, 16, '0'), 'acc_' || n, 'message.received', ${world.clock.now()}::timestamptz
          from generate_series(1, ${many}::int) n`,
    );
    await moveTo("2026-04-23T10:00:00.000Z");
    await world.receive(busy);
    expect(String(await failureOf(dropOldPartitions(world.deps)))).toContain("more than 10000 accounts");
    await prune(world.deps);
    expect(await rows("events")).toBe(many + 2);
    // Had it been dropped, this would have been a day ago.
    await moveTo("2026-04-24T10:00:00.000Z");
    await prune(world.deps);
    expect(await rows("events")).toBe(many + 1);
  }, 120_000);

  test("joins the partitions of mail that is nearly gone, and takes rows with old ids from then on", async () => {
    const { world, moveTo } = await partitionedWorld(["messages", "attachments", "source_chunks"]);
    const inbox = await world.newInbox();
    for (const day of ["21", "23", "25"]) {
      await moveTo(`2026-03-${day}T12:00:00.000Z`);
      await world.receive(inbox);
    }
    const insertFiles = (prefix: string, files: number) =>
      query(
        db.api,
        sql`insert into attachments
              (message_id, filename, id, position, content_type, size_bytes, inline, source_id, part, digest)
            select ${prefix} || lpad(n::text, 16, '0'), 'a', 'a', 0, 'text/plain', 1, false, 's', 1, ''
            from generate_series(1, ${files}::int) n`,
      );
    await insertFiles(beginningOfIds("msg", new Date("2026-03-24")), 201);
    await moveTo("2026-03-27T00:00:00.000Z");
    await dropOldPartitions(world.deps);
    expect((await namesOf("messages"))[0]).toBe("messages_before_20260327");
    expect((await namesOf("source_chunks"))[0]).toBe("source_chunks_before_20260327");
    expect([await rows("messages"), await rows("source_chunks")]).toEqual([3, 3]);
    // Too many rows to copy while statements wait.
    expect((await namesOf("attachments"))[0]).toBe("attachments_before_20260324");
    expect(await rows("attachments")).toBe(201);

    // A draft of the 22nd that is sent now has its old id.
    await insertFiles(beginningOfIds("msg", new Date("2026-03-22")), 1);
    const later = beginningOfIds("msg", new Date("2026-03-25"));
    await query(db.api, sql`delete from attachments where message_id < ${later}`);
    await dropOldPartitions(world.deps);
    expect((await namesOf("attachments"))[0]).toBe("attachments_before_20260327");
  }, 120_000);

  test("changes nothing in an export, and a partitioned database takes one in", async () => {
    const lines: string[] = [];
    const exported = async (from: Database) => {
      let text = "";
      await exportEverything(from, { id: "one", version: "0.1.0", now: new Date(0) }, async (line) => {
        text += line;
      });
      return text.trimEnd().split("\n");
    };
    {
      await using world = await startWorld();
      const ada = await world.inbox("ada");
      await world.deliver(mailOf({ messageId: "1@x.example" }), ada.address);
      const plain = await exported(world.service.deps.db);
      await partitionTables({ db: world.service.deps.db, now: world.clock.now }, partitionableTables, "week");
      lines.push(...(await exported(world.service.deps.db)));
      expect(exportedRows(lines)).toEqual(exportedRows(plain));
    }
    await partitionTables({ db, now: settable().now }, partitionableTables, "month");
    await importEverything({ db, mailDomain: "inbox.localhost" }, async function* () {
      yield* lines;
    });
    expect(exportedRows(await exported(db))).toEqual(exportedRows(lines));
    expect((await namesOf("events"))[0]).toBe("events_before_20260401");
  }, 120_000);
});

/** The rows of an export that may be in partitions. The service goes on counting in others. */
function exportedRows(lines: readonly string[]): string[] {
  return lines
    .map((line) => JSON.parse(line))
    .filter((line) => partitionableTables.includes(line.table))
    .flatMap((line) => line.rows.map((row: unknown) => `${line.table} ${JSON.stringify(row)}`));
}
