/** Mail that waits in the outbox, and its way out. */
import type { PostgresServer } from "../../tests/support/postgres.ts";
import { load } from "./load.ts";
import { cpuMs } from "./process-usage.ts";
import { newInboxes, type SendingServer, sendsTo, startProgram } from "./sends.ts";

/** Each look opens a connection and counts rows, so more looks would be a load. */
const betweenLooksMs = 100;

/** Accepts mails while no workers run, so they wait. */
export async function acceptWaiting(
  environment: Record<string, string | undefined>,
  { mails, inboxCount }: { mails: number; inboxCount: number },
): Promise<void> {
  const server = await startProgram("accepting.ts", environment);
  try {
    await load({ ...sendsTo(server, await newInboxes(server, inboxCount)), connections: 64, requests: mails });
  } finally {
    server.stop();
  }
}

export interface Drained {
  perSecond: number;
  micros: number;
  since: Date;
  until: Date;
}

/** Waits until all of so many mails are out. Measures from the first mail out to the last. */
export async function drainedOutbox(
  service: SendingServer,
  postgres: PostgresServer | undefined,
  mails: number,
): Promise<Drained> {
  if (postgres === undefined)
    throw new Error("Cannot measure: relay looks into the database from outside, which the embedded one forbids");
  let since = new Date();
  let firstCpuMs = cpuMs(service.pid);
  for (let left = mails; left > 0; ) {
    if (left === mails) [since, firstCpuMs] = [new Date(), cpuMs(service.pid)];
    await Bun.sleep(betweenLooksMs);
    const [row] = await postgres.ask("select count(*) as count from outbox", "bench");
    left = Number(row?.count);
  }
  const until = new Date();
  const micros = ((cpuMs(service.pid) - firstCpuMs) * 1000) / mails;
  return { perSecond: (mails * 1000) / (until.getTime() - since.getTime()), micros, since, until };
}
