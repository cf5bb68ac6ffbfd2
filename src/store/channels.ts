import { sql } from "drizzle-orm";
import { type Db, query } from "../database/db.ts";

/*
 * How processes on one database speak to each other. Processes of all versions listen: a name stays what it is, and who wants to say
 * what older ones don't know takes another.
 */

/** That there is work, by its kind. */
export const outboxChannel = "inboxd_outbox";
/** What all should forget. */
export const forgetSignalsChannel = "inboxd_changes";
/** The accounts and inboxes that have changed. */
export const changesChannel = "inboxd_news";

/** A flood of mail is one wake-up for each of these. */
export const tellingPauseMs = 75;

/** What a notification may hold, with room to spare: Postgres takes 7,999 octets. */
export const mostToldBytes = 7_000;

/** Heard when the transaction commits. */
export async function tellChannel(db: Db, channel: string, text: string): Promise<void> {
  await query(db, sql`select pg_notify(${channel}, ${text})`);
}

/**
 * What only wakes is told outside any transaction: NOTIFY takes a lock over the whole database until its own has committed, so that
 * commits would go one by one. It need not reach the disk first, for who would hear of it after a crash looks by himself.
 */
export async function wakeChannel(db: Db, channel: string, text: string): Promise<void> {
  await query(db, sql`select set_config('synchronous_commit', 'off', true), pg_notify(${channel}, ${text})`);
}
