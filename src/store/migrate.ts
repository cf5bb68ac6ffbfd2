import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import schema from "../../drizzle/0000_schema.sql" with { type: "text" };
import { type Database, type Db, isLockConflict, query, transaction } from "../database/db.ts";
import { lockNumber } from "./locks.ts";

/** One step of the schema: the name of its file in `drizzle/`, and its text. */
export interface Migration {
  tag: string;
  text: string;
}

/**
 * The files in `drizzle/`, imported so that the binary carries them. A later step that changes several tables locks them first, in the
 * order of most transactions: accounts, inboxes, threads, messages, recipients, events, outbox, and then all others.
 */
export const migrations: readonly Migration[] = [{ tag: "0000_schema", text: schema }];

export interface LockPatience {
  /** How long a step may wait for a lock on a table. Meanwhile all later statements on that table wait too. */
  lockMs?: number;
  /** The pause before a step is tried again that did not get its locks. */
  pauseMs?: number;
  onRetry?: (error: unknown) => unknown;
}

/**
 * Applies the steps of the schema that the database lacks. Each step is one transaction that takes the advisory lock first and then
 * checks whether the step is still to be done. So any number of processes may start at once, and a process that dies leaves each step
 * either done or untouched. A step that meets a deadlock or waits too long for a table is repeated until it succeeds.
 */
export async function migrate(
  db: Database,
  steps: readonly Migration[] = migrations,
  { lockMs = 1_000, pauseMs = 1_000, onRetry }: LockPatience = {},
): Promise<void> {
  await db.maintain(async (own) => {
    for (let done = await countDone(own, steps); done < steps.length; ) {
      try {
        done = await takeNextStep(own, steps, lockMs);
      } catch (error) {
        if (!isLockConflict(error)) throw error;
        await onRetry?.(error);
        await sleep(pauseMs);
      }
    }
  });
}

async function takeNextStep(db: Db, steps: readonly Migration[], lockMs: number): Promise<number> {
  return transaction(db, async (tx) => {
    await query(tx, sql`select pg_advisory_xact_lock(${lockNumber("migrating")})`);
    // Set only after the advisory lock: the wait for a step of another process has no time limit.
    await query(tx, sql`select set_config('lock_timeout', ${String(lockMs)}, true)`);
    await query(tx, makeLedger);
    const done = await countDone(tx, steps);
    const step = steps[done];
    if (!step) return done;
    await tx.script(step.text);
    await query(tx, sql`insert into schema_steps (step, tag) values (${done}, ${step.tag})`);
    return done + 1;
  });
}

/** Counts the steps that were applied to the database. Throws if they are not the first ones of `steps`. */
async function countDone(db: Db, steps: readonly Migration[]): Promise<number> {
  const [ledger] = await query<{ exists: boolean }>(db, sql`select to_regclass('schema_steps') is not null as exists`);
  if (ledger?.exists !== true) return 0;
  const rows = await query<{ tag: string }>(db, sql`select tag from schema_steps order by step`);
  const tags = rows.map(({ tag }) => tag);
  const unknown = tags.find((tag, step) => steps[step]?.tag !== tag);
  if (unknown !== undefined) {
    throw new Error(
      `Cannot use this database: its schema is newer than this inboxd (it has step ${unknown}, which this version does not know); start the version that made it, or a later one`,
    );
  }
  return tags.length;
}

const makeLedger = sql`create table if not exists schema_steps (
  step integer primary key,
  tag text not null,
  done_at timestamptz not null default now()
)`;
