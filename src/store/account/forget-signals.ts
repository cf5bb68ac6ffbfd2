import type { Db } from "../../database/db.ts";
import { forgetSignalsChannel, tellChannel } from "../channels.ts";

/** What one process changed and all should forget: heard once the transaction commits. */
export type ForgetSignal = { kind: "key"; hash: string } | { kind: "address"; username: string };

export async function signalToForget(tx: Db, signal: ForgetSignal): Promise<void> {
  await tellChannel(tx, forgetSignalsChannel, JSON.stringify(signal));
}
