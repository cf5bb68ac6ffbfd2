import { sql } from "drizzle-orm";
import { type Database, query } from "../../src/database/db.ts";
import { webhookLeaseMs } from "./leases.ts";
import { isExcused, isWanted, type Ledger, type LedgerEndpoint, type LoggedEvent } from "./ledger.ts";

interface Attempt {
  promise: string;
  attempt: number;
  status: number | null;
  attemptedAt: Date;
}

/** I3: each endpoint got the events that it wants, and no others, and the log of deliveries agrees. */
export async function checkDeliveries(ledger: Ledger, db: Database): Promise<void> {
  const rows = await query<Attempt>(
    db.api,
    sql`select event_id || case when lane like 'whk_%' then '.' || lane else '' end as promise, attempt, status,
          attempted_at as "attemptedAt" from deliveries order by event_id, lane, attempt`,
  );
  const attempts = Map.groupBy(rows, ({ promise }) => promise);
  for (const endpoint of ledger.endpoints) {
    const log = ledger.logs.get(endpoint.account.name) ?? [];
    const known = new Set(log.map(({ id }) => id));
    for (const event of log) {
      const promise = endpoint.isDefault ? event.id : `${event.id}.${endpoint.id}`;
      checkPromise(ledger, endpoint, event, attempts.get(promise) ?? []);
      attempts.delete(promise);
    }
    for (const id of endpoint.deliveries.keys()) {
      if (!known.has(id)) ledger.violation("I3", `${endpoint.name} was told of ${id}, which its account does not have`);
    }
    checkRecovered(ledger, endpoint, log);
  }
  for (const promise of attempts.keys()) ledger.violation("I3", `${promise} was attempted, and nobody was to have it`);
}

function checkPromise(
  ledger: Ledger,
  { name, subscription, deliveries }: LedgerEndpoint,
  event: LoggedEvent,
  made: readonly Attempt[],
): void {
  const heard = deliveries.get(event.id);
  const about = `${event.id} (${event.type}) at ${name}`;
  if (!isWanted(subscription, event)) {
    if (heard !== undefined || made.length > 0) ledger.violation("I3", `${about} was not asked for`);
    return;
  }
  const last = made.at(-1)?.attempt ?? 0;
  const answered = made.filter(({ status }) => status !== null && status >= 200 && status < 300);
  ledger.count(`deliveries logged: ${name.split(" ")[1]}`, made.length);
  if (made.length !== last)
    ledger.violation("I3", `${about} has ${made.length} attempts in its log, and the last is number ${last}`);
  if (heard === undefined || !heard.delivered)
    ledger.violation("I3", `${about} was never delivered (${made.length} attempts)`);
  if (answered.length === 0) ledger.violation("I3", `the log has no delivery of ${about} (${made.length} attempts)`);
  if (heard !== undefined && heard.inboxId !== event.inboxId)
    ledger.violation("I6", `${about} was told of another inbox`);
  const [first] = answered;
  const isRepeated = first !== undefined && first.attempt < last;
  if (isRepeated) ledger.count("deliveries repeated after their answer");
  if (isRepeated && !isExcused(ledger.disturbances, first.attemptedAt.getTime(), webhookLeaseMs))
    ledger.violation("I3", `${about} was answered at attempt ${first.attempt} of ${last}, with no fault near it`);
  for (const [attempt, { arrivals }] of heard?.attempts ?? []) {
    if (arrivals > 1) ledger.violation("I3", `attempt ${attempt} of ${about} arrived ${arrivals} times`);
    if (attempt > last) ledger.violation("I3", `attempt ${attempt} of ${about} arrived and is not in its log`);
  }
}

/** Recovered events came in order; two processes may each have one in the same millisecond. */
function checkRecovered(ledger: Ledger, endpoint: LedgerEndpoint, log: readonly LoggedEvent[]): void {
  const { name, recovered, deliveries } = endpoint;
  const came: { event: LoggedEvent; atMs: number }[] = [];
  for (const event of log) {
    const attemptsBefore = recovered.get(event.id);
    if (attemptsBefore === undefined) continue;
    const atMs = deliveries.get(event.id)?.attempts.get(attemptsBefore + 1)?.atMs;
    if (atMs === undefined) ledger.violation("I3", `${event.id} was given up at ${name} and not recovered`);
    else came.push({ event, atMs });
  }
  ledger.count("events recovered", came.length);
  came.sort((one, other) => one.atMs - other.atMs);
  for (const [index, { event }] of came.entries()) {
    const before = came[index - 1]?.event;
    if (before !== undefined && before.occurredAt > event.occurredAt)
      ledger.violation("I3", `${before.id} was recovered at ${name} before ${event.id}, which happened first`);
  }
}
