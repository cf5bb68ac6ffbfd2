import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "../database/db.ts";

/** The numbers of the advisory locks. From 1.0 on a number never changes, since processes of two versions may share a database. */
export const locks = {
  /** One process at a time applies a step of the schema. The number spells "inboxd" in ASCII. */
  migrating: 0x696e626f7864,
  /** One process creates the first account, also if several start for the first time at once. */
  firstStart: 7521962899002001,
  /** One process at a time claims from a lane of the outbox. Each kind and lane has its own lock, with this number as the hash seed. */
  claiming: 7521962899002002,
  /** One process at a time prunes. */
  pruning: 7521962899002003,
  /** One transaction at a time counts usage. */
  counting: 7521962899002004,
  /** One process at a time removes mail of an inbox. Each inbox has its own lock, with this number as the hash seed. */
  removing: 7521962899002005,
  /** One transaction at a time registers a client of OAuth. */
  registering: 7521962899002006,
  /** One process at a time imports an account. */
  importing: 7521962899002007,
  /** One process at a time claims due drafts. */
  dispatching: 7521962899002008,
  /** One process at a time partitions a table, or joins old partitions. */
  partitioning: 7521962899002009,
  /** One transaction at a time adds partitions. */
  extending: 7521962899002010,
} as const;

/** The number of a lock as part of a statement's text, and not as a parameter. */
export function lockNumber(name: keyof typeof locks): SQL {
  return sql.raw(String(locks[name]));
}

/** Does work while this connection has a lock. Returns undefined at once, without the work, if another one has it. */
export async function unlessHeld<T>(own: Db, name: keyof typeof locks, work: () => Promise<T>): Promise<T | undefined> {
  const [lock] = await query<{ ours: boolean }>(own, sql`select pg_try_advisory_lock(${lockNumber(name)}) as ours`);
  if (lock?.ours !== true) return undefined;
  try {
    return await work();
  } finally {
    await query(own, sql`select pg_advisory_unlock(${lockNumber(name)})`);
  }
}
