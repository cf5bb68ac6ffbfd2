import { type SQL, sql } from "drizzle-orm";

/**
 * The advisory locks of the house. Processes of all versions meet at them, so a number stays what it is, and one that is given up is
 * not given again.
 */
export const locks = {
  /** The next step of the schema: of many processes that start, one takes it. Spells "inboxd" in ASCII. */
  migrating: 0x696e626f7864,
  /** The first account: of many first starts, one makes it. */
  firstStart: 7521962899002001,
  /** Who claims from a lane of the outbox: the seed of a lock for each kind and lane, held while one claims there. */
  claiming: 7521962899002002,
  /** Tidying up: one process at a time does a step of it. */
  pruning: 7521962899002003,
} as const;

/** Part of the statement's text, which so is the same each time. */
export function lockNumber(name: keyof typeof locks): SQL {
  return sql.raw(String(locks[name]));
}
