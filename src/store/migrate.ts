import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import schema from "../../drizzle/0000_schema.sql" with { type: "text" };
import { type Database, type Db, isLockConflict, query, transaction } from "../database/db.ts";
import { lockNumber } from "./locks.ts";

/** One step of the schema: the name of its file in `drizzle/`, its kind, and its text. */
export interface Migration {
  tag: string;
  kind: StepKind;
  text: string;
}

/**
 * The kind of a step. `expand` only adds, so a program that does not know the step works as before. `contract` removes or forbids
 * something, so a program that does not know the step must not run. A release has such a step only if the release before it no longer
 * uses what the step removes.
 */
export type StepKind = "expand" | "contract";

/** A step that was applied to a database, as its ledger has it. */
export interface DoneStep {
  tag: string;
  kind: StepKind;
}

/**
 * The files in `drizzle/`, imported so that the binary carries them. A later step that changes several tables locks them first, in the
 * order of most transactions: accounts, inboxes, threads, messages, recipients, events, outbox, and then all others.
 */
export const migrations: readonly Migration[] = [{ tag: "0000_schema", kind: "expand", text: schema }];

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
 * either done or untouched. A step that meets a deadlock or waits too long for a table is repeated until it succeeds. A database with
 * later steps stays as it is, if all of them only add.
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
    await query(tx, sql`insert into schema_steps (step, tag, kind) values (${done}, ${step.tag}, ${step.kind})`);
    return done + 1;
  });
}

/** Counts the steps that were applied to the database. Throws if this program must not run on them. */
async function countDone(db: Db, steps: readonly Migration[]): Promise<number> {
  const done = await listDoneSteps(db);
  const { refused } = judgeSteps(done, steps);
  if (refused !== undefined) {
    throw new Error(
      `Cannot use this database: its schema is newer than this inboxd (it has step ${refused}, which this version does not know); start the version that made it, or a later one`,
    );
  }
  return done.length;
}

/** Lists the steps that were applied to the database, in their order. A database without a ledger has none. */
export async function listDoneSteps(db: Db): Promise<DoneStep[]> {
  const [ledger] = await query<{ exists: boolean }>(db, sql`select to_regclass('schema_steps') is not null as exists`);
  if (ledger?.exists !== true) return [];
  return query<DoneStep>(db, sql`select tag, kind from schema_steps order by step`);
}

/** The steps of a database beside those of a program. */
export interface JudgedSteps {
  /** The steps of the program that the database lacks. */
  toDo: string[];
  /** The steps of the database that the program does not know. */
  unknown: string[];
  /** The first step with which the program must not run; undefined if it may. */
  refused: string | undefined;
}

/**
 * Compares the steps of a database with those that a program knows. The program may run if the steps that it does not know are all of
 * the kind `expand`, and come after those that it knows: then a later version has made them.
 */
export function judgeSteps(done: readonly DoneStep[], known: readonly Pick<Migration, "tag">[]): JudgedSteps {
  const isUnknown = ({ tag }: DoneStep, index: number) => known[index]?.tag !== tag;
  const isRefused = (step: DoneStep, index: number) =>
    isUnknown(step, index) && (step.kind === "contract" || index < known.length);
  return {
    toDo: known.slice(done.length).map(({ tag }) => tag),
    unknown: done.filter(isUnknown).map(({ tag }) => tag),
    refused: done.find(isRefused)?.tag,
  };
}

const makeLedger = sql`create table if not exists schema_steps (
  step integer primary key,
  tag text not null,
  kind text not null check (kind in ('expand', 'contract')),
  done_at timestamptz not null default now()
)`;
