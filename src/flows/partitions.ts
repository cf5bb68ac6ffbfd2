import { setTimeout as sleep } from "node:timers/promises";
import { askedTooMuch, type Db, isLockConflict, transaction } from "../database/db.ts";
import { instantOfId } from "../domain/ids.ts";
import {
  boundAt,
  endOf,
  endsBefore,
  eventTables,
  firstEnd,
  intervalOf,
  missingOf,
  nextStart,
  type Partitionable,
  type PartitionInterval,
  type Partitions,
  partitionableTables,
} from "../domain/partitions.ts";
import { unlessHeld } from "../store/locks.ts";
import {
  addBound,
  type Boundary,
  countRowsBelow,
  findOldestInLine,
  foldEvents,
  foldTable,
  hasRowsFrom,
  insertFirstPartition,
  insertPartition,
  isImportOpen,
  listBounded,
  listLastEventsBelow,
  listObstacles,
  listPartitions,
  lockExtending,
  removeBound,
  validateBound,
} from "../store/upkeep/partitions.ts";
import type { Deps } from "./deps.ts";

export type PartitionDeps = Pick<Deps, "db" | "now">;

/** A partitioned table. It takes ids up to the end of its last partition. */
export interface PartitionedTable {
  table: Partitionable;
  by: PartitionInterval | undefined;
  partitions: number;
  until: Date;
}

/** The pause before a step is tried again that did not get its locks, or took too long with them. */
const pauseMs = 1_000;
/** How often a step is tried by the command, and by the service, which tries it again an hour later and may be told to stop. */
const mostTries = 60;
const fewTries = 5;
/** The time that is left for the last step when the rows of a table are checked. */
const spareMs = 3_600_000;
/** The most rows with which old partitions of mail become one. They are copied while statements wait that may change old rows. */
const mostFolded = 200;
/** The most events that stay when old partitions are dropped. They are copied while statements wait that may change old ones. */
const mostKept = 10_000;
const dayMs = 86_400_000;

/**
 * Partitions tables by time while the service runs. Each table becomes its own first partition. Statements wait only for one short
 * transaction, which gives up if it does not get its locks at once, and is tried again. Tables that are partitioned stay as they are.
 */
export async function partitionTables(
  { db, now }: PartitionDeps,
  asked: readonly Partitionable[],
  by: PartitionInterval,
): Promise<PartitionedTable[]> {
  const tables = withPartners(asked);
  const made = await unlessTaken(db, async (own) => {
    const before = await listPartitions(own);
    const todo = tables.filter((table) => !before.has(table));
    for (const table of todo) await refuseObstacles(own, table, firstEnd(by, now()));
    for (const table of tables) {
      const interval = intervalOf(before.get(table) ?? []);
      if (interval !== undefined && interval !== by) {
        throw new Error(`Cannot partition ${table} by ${by}: it is partitioned by ${interval} already`);
      }
    }
    for (const table of todo) await partitionTable(own, table, by, now);
    await insertMissing(own, now());
    const after = await listPartitions(own);
    return tables.map((table) => shownTable(table, after));
  });
  if (made === undefined) throw new Error("Cannot partition: another process changes partitions now; try again later");
  return made;
}

/** Runs work that changes existing partitions. Returns undefined at once if another process does so now. */
function unlessTaken<T>(db: Deps["db"], work: (own: Db) => Promise<T>): Promise<T | undefined> {
  return db.maintain((own) => unlessHeld(own, "partitioning", () => work(own)));
}

/** The tables in the order of the schema. Those of events and deliveries go together, because they are dropped together. */
function withPartners(asked: readonly Partitionable[]): Partitionable[] {
  const all = new Set<Partitionable>(asked);
  if (eventTables.some((table) => all.has(table))) for (const table of eventTables) all.add(table);
  return partitionableTables.filter((table) => all.has(table));
}

function shownTable(table: Partitionable, all: Partitions): PartitionedTable {
  const partitions = all.get(table) ?? [];
  return { table, by: intervalOf(partitions), partitions: partitions.length, until: endOf(partitions) };
}

async function refuseObstacles(own: Db, table: Partitionable, end: Date): Promise<void> {
  const obstacles = await listObstacles(own, table);
  if (await hasRowsFrom(own, table, boundAt(table, end))) {
    obstacles.push(`rows with ids from after ${end.toISOString()}, which were made while a clock was ahead`);
  }
  if (obstacles.length > 0) throw new Error(`Cannot partition ${table}: in the way are ${obstacles.join("; ")}`);
}

async function partitionTable(own: Db, table: Partitionable, by: PartitionInterval, now: () => Date): Promise<void> {
  const end = firstEnd(by, now());
  const first = boundary(table, end);
  await patiently(own, (tx) => addBound(tx, table, first.bound));
  try {
    // At its end the table would refuse new rows.
    const mostMs = end.getTime() - now().getTime() - spareMs;
    await transaction(own, (tx) => validateBound(tx, table, mostMs)).catch((error: unknown) => {
      if (!askedTooMuch(error)) throw error;
      throw new Error(`Cannot partition ${table}: checking its rows took too long; try longer partitions (--by)`);
    });
    await patiently(own, async (tx) => {
      await insertFirstPartition(tx, table, first);
      // The second one shows the interval to the service, which adds all others.
      await insertPartition(tx, table, { from: first, to: boundary(table, nextStart(by, end)) });
    });
  } catch (error) {
    // If this fails too, the service removes it later.
    await patiently(own, (tx) => removeBound(tx, table)).catch(() => undefined);
    throw error;
  }
}

function boundary(table: Partitionable, at: Date): Boundary {
  return { at, bound: boundAt(table, at) };
}

/** Adds the partitions that are missing for now and for some time ahead. */
export async function addPartitions({ db, now }: PartitionDeps): Promise<void> {
  if (db.engine === "embedded") return;
  if (allMissing(await listPartitions(db.work), now()).length === 0) return;
  await db.maintain((own) => insertMissing(own, now()));
}

/** The transaction lists the partitions anew, since several processes may start at once. */
function insertMissing(own: Db, now: Date): Promise<void> {
  return transaction(own, async (tx) => {
    await lockExtending(tx);
    for (const { table, from, to } of allMissing(await listPartitions(tx), now)) {
      await insertPartition(tx, table, { from: boundary(table, from), to: boundary(table, to) });
    }
  });
}

function allMissing(all: Partitions, now: Date): { table: Partitionable; from: Date; to: Date }[] {
  return Array.from(all).flatMap(([table, own]) => missingOf(own, now).map((missing) => ({ table, ...missing })));
}

/** Removes the bounds of tables whose partitioning has ended halfway. At its bound such a table would refuse new rows. */
export async function removeLeftBounds({ db }: Pick<PartitionDeps, "db">): Promise<void> {
  if (db.engine === "embedded" || (await listBounded(db.work)).length === 0) return;
  await unlessTaken(db, async (own) => {
    for (const table of await listBounded(own)) await patiently(own, (tx) => removeBound(tx, table), fewTries);
  });
}

/**
 * Drops old partitions. Events and deliveries are dropped whole at the end of their retention, except for the last event of an account.
 * Mail has no retention that is the same for all, and its removal changes totals and threads: its partitions are dropped once the removal
 * has left them nearly empty. The few rows that stay go to a new first partition, which also takes rows with ids that old from then on.
 */
export async function dropOldPartitions({
  db,
  now,
  eventRetentionDays,
}: PartitionDeps & { eventRetentionDays: number }): Promise<void> {
  if (db.engine === "embedded" || (await listPartitions(db.work)).size === 0) return;
  await unlessTaken(db, async (own) => {
    const all = await listPartitions(own);
    await dropOldEvents(own, all, new Date(now().getTime() - eventRetentionDays * dayMs));
    for (const table of all.keys()) if (!isOfEvents(table)) await dropEmpty(own, all, table, now());
  });
}

function isOfEvents(table: Partitionable): boolean {
  return eventTables.some((name) => name === table);
}

async function dropOldEvents(own: Db, partitions: Partitions, retainedFrom: Date): Promise<void> {
  const oldest = await findOldestInLine(own);
  const inLineAt = oldest === undefined ? retainedFrom : instantOfId(oldest);
  const before = inLineAt < retainedFrom ? inLineAt : retainedFrom;
  const endsOf = (table: Partitionable) => endsBefore(partitions.get(table) ?? [], before);
  const ofDeliveries = endsOf("deliveries").map(Number);
  const end = endsOf("events").findLast((each) => ofDeliveries.includes(Number(each)));
  if (end === undefined) return;
  // An import inserts events before their account, and with their old ids.
  await unlessHeld(own, "importing", async () => {
    if (await isImportOpen(own)) return;
    const to = boundary("events", end);
    const kept = await listLastEventsBelow(own, to.bound, mostKept + 1);
    if (kept.length > mostKept) {
      throw new Error(`Cannot drop partitions of events: more than ${mostKept} accounts have no later event`);
    }
    await patiently(own, (tx) => foldEvents(tx, { partitions, to }, kept), fewTries);
  });
}

async function dropEmpty(own: Db, partitions: Partitions, table: Partitionable, now: Date): Promise<void> {
  let empty: Boundary | undefined;
  for (const end of endsBefore(partitions.get(table) ?? [], now)) {
    const to = boundary(table, end);
    if ((await countRowsBelow(own, table, to.bound, mostFolded + 1)) > mostFolded) break;
    empty = to;
  }
  if (empty === undefined) return;
  const to = empty;
  await patiently(own, (tx) => foldTable(tx, table, { partitions, to }), fewTries);
}

/** Runs a transaction that gives up soon, again until it does not, at most `most` times. */
async function patiently<T>(own: Db, work: (tx: Db) => Promise<T>, most = mostTries): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await transaction(own, work);
    } catch (error) {
      if (tries === most || !(isLockConflict(error) || askedTooMuch(error))) throw error;
    }
    await sleep(pauseMs);
  }
}
