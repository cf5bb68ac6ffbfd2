import { sql } from "drizzle-orm";
import { type Db, query } from "../database/db.ts";

/*
 * The notifications between processes on one database. From 1.0 on a channel keeps its name and format, since processes of two versions
 * may listen.
 */

/** Carries the kinds of new work in the outbox, so that the workers for it look there. */
export const outboxChannel = "inboxd_outbox";
/** Carries forget signals: the changed keys, addresses and rules that all processes must drop from memory. */
export const forgetSignalsChannel = "inboxd_forget";
/** Carries the accounts and inboxes that have changed. */
export const changesChannel = "inboxd_changes";

/** The pause between notifications, so that a flood of mail does not become a flood of notifications. */
export const notificationPauseMs = 75;

/** The most octets of a notification. Postgres allows 7,999. */
export const mostNotificationBytes = 7_000;

/**
 * A changed key, account, address or domain, or an account with changed rules or policies, that all processes must drop from memory. A
 * domain's signal concerns all hosts below it too.
 */
export type ForgetSignal =
  | { kind: "key"; hash: string }
  | { kind: "account"; id: string }
  | { kind: "address"; username: string }
  | { kind: "domain"; name: string }
  | { kind: "rules"; accountId: string };

/** Sends a forget signal to all processes when the transaction commits. */
export async function signalToForget(tx: Db, signal: ForgetSignal): Promise<void> {
  await notifyChannel(tx, forgetSignalsChannel, JSON.stringify(signal));
}

/** Notifies a channel when the transaction commits. */
export async function notifyChannel(db: Db, channel: string, text: string): Promise<void> {
  await query(db, sql`select pg_notify(${channel}, ${text})`);
}

/**
 * Notifies a channel in a transaction of its own: NOTIFY locks the whole database until its transaction has committed, so in longer
 * transactions commits would wait for each other. The commit does not wait for the disk: a notification may be lost, because processes also
 * look for work by themselves.
 */
export async function wakeChannel(db: Db, channel: string, text: string): Promise<void> {
  await query(db, sql`select set_config('synchronous_commit', 'off', true), pg_notify(${channel}, ${text})`);
}
