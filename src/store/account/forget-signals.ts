import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";

/** What one process changed and all should forget: heard once the transaction commits. */
export type ForgetSignal = { kind: "key"; hash: string } | { kind: "address"; username: string };

/** Processes of all versions listen on it: its name stays what it is. */
export const forgetSignalsChannel = "inboxd_changes";

export async function signalToForget(tx: Db, signal: ForgetSignal): Promise<void> {
  await query(tx, sql`select pg_notify(${forgetSignalsChannel}, ${JSON.stringify(signal)})`);
}
