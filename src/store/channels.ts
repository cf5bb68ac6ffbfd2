import { sql } from "drizzle-orm";
import { type Db, query } from "../database/db.ts";

/*
 * The notifications between processes on one database. From 1.0 on a channel keeps its name and format, since processes of two versions
 * may listen.
 */

/** New work, by its kind. */
export const outboxChannel = "inboxd_outbox";
/** Changes that all processes must drop from memory. */
export const forgetSignalsChannel = "inboxd_changes";
/** The accounts and inboxes that have changed. */
export const changesChannel = "inboxd_news";

/** The pause between notifications, so that a flood of mail does not become a flood of notifications. */
export const tellingPauseMs = 75;

/** The most octets of a notification: Postgres takes 7,999. */
export const mostToldBytes = 7_000;

/** A change by one process that all processes must drop from memory. */
export type ForgetSignal = { kind: "key"; hash: string } | { kind: "address"; username: string };

/** Sends a change to all processes when the transaction commits. */
export async function signalToForget(tx: Db, signal: ForgetSignal): Promise<void> {
  await tellChannel(tx, forgetSignalsChannel, JSON.stringify(signal));
}

/** Notifies a channel when the transaction commits. */
export async function tellChannel(db: Db, channel: string, text: string): Promise<void> {
  await query(db, sql`select pg_notify(${channel}, ${text})`);
}

/**
 * Notifies a channel outside of any transaction: NOTIFY locks the whole database until its transaction has committed, so commits would
 * wait for each other. It does not wait for the disk, since a process looks for work by itself after a crash.
 */
export async function wakeChannel(db: Db, channel: string, text: string): Promise<void> {
  await query(db, sql`select set_config('synchronous_commit', 'off', true), pg_notify(${channel}, ${text})`);
}
