import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import { assigned, selected } from "../columns.ts";
import { insertRow, recordSet } from "../rows.ts";
import { type deliveries, endpoints } from "../schema.ts";

export type Endpoint = typeof endpoints.$inferSelect;

/** An endpoint with the last attempt to deliver to it, which is null before the first one. */
export type TriedEndpoint = Endpoint & { lastDelivery: LastDelivery | null };

export type LastDelivery = Pick<typeof deliveries.$inferSelect, "eventId" | "attemptedAt" | "status" | "error">;

/** Identifies an endpoint of an account: by its id, or as the default one. */
export type EndpointName = Pick<Endpoint, "accountId"> & (Pick<Endpoint, "id"> | { isDefault: true });

const endpointFields = selected(endpoints, "w");

/** The lane of an endpoint `w` in the outbox. The index `endpoints_lane` has the same expression. */
export const endpointLane = sql.raw("(case when w.is_default then w.account_id else w.id end)");

export function laneOf({ isDefault, accountId, id }: Pick<Endpoint, "isDefault" | "accountId" | "id">): string {
  return isDefault ? accountId : id;
}

const triedFields = sql`${endpointFields}, last.event_id as "lastEventId", last.attempted_at as "lastAttemptedAt",
  last.status as "lastStatus", last.error as "lastError"`;

/**
 * Joins the last attempt to deliver to an endpoint `w`, by one look-up in the index `deliveries_lane`. Earlier attempts than the endpoint
 * itself are left out: they belong to an earlier default endpoint, which had the same lane.
 */
const lastAttempt = sql`left join lateral (
  select d.event_id, d.attempted_at, d.status, d.error from deliveries d
  where d.lane = ${endpointLane} and d.attempted_at >= w.created_at order by d.attempted_at desc limit 1
) last on true`;

/** Lists the endpoints of an account that have a URL, the oldest first. */
export async function listEndpoints(db: Db, accountId: string): Promise<TriedEndpoint[]> {
  const rows = await query<TriedRow>(
    db,
    sql`select ${triedFields} from endpoints w ${lastAttempt} where w.account_id = ${accountId} and w.url is not null
        order by w.created_at, w.is_default desc, w.id`,
  );
  return rows.map(triedEndpoint);
}

export async function findEndpoint(db: Db, name: EndpointName): Promise<TriedEndpoint | undefined> {
  const [row] = await query<TriedRow>(
    db,
    sql`select ${triedFields} from endpoints w ${lastAttempt} where ${isNamed(name)}`,
  );
  return row && triedEndpoint(row);
}

/** Finds an endpoint and locks it until the end of the transaction. */
export async function lockEndpoint(tx: Db, name: EndpointName): Promise<TriedEndpoint | undefined> {
  const [row] = await query<TriedRow>(
    tx,
    sql`select ${triedFields} from endpoints w ${lastAttempt} where ${isNamed(name)} for update of w`,
  );
  return row && triedEndpoint(row);
}

/** Counts the endpoints that have a URL. It is exact, because every transaction that adds an endpoint locks the account first. */
export async function countEndpoints(tx: Db, accountId: string): Promise<number> {
  const [counted] = await query<{ count: number }>(
    tx,
    sql`select count(*) from endpoints where account_id = ${accountId} and url is not null`,
  );
  return counted?.count ?? 0;
}

/** Inserts an endpoint. Returns false and writes nothing if it would be a second default endpoint. */
export function insertEndpoint(tx: Db, endpoint: Endpoint): Promise<boolean> {
  return insertRow(tx, endpoints, endpoint);
}

const changeable = [
  "url",
  "description",
  "eventTypes",
  "inboxIds",
  "externalIds",
  "skipAutomated",
  "include",
  "headers",
  "disabledAt",
  "disabledReason",
  "failingSince",
  "answeredAt",
] as const;

/** Writes the changeable fields of an endpoint. */
export async function markEndpointChanged(tx: Db, endpoint: Endpoint): Promise<void> {
  await query(
    tx,
    sql`update endpoints w set ${assigned(endpoints, changeable)}
        from ${recordSet(endpoints, [endpoint], ["id", ...changeable])} where w.id = row.id`,
  );
}

/** Replaces the secret. The old one stays valid, in addition to the new one, until `previousSecretUntil`. */
export async function markEndpointSecretRotated(
  db: Db,
  { accountId, id }: Pick<Endpoint, "accountId" | "id">,
  secret: string,
  previousSecretUntil: Date,
): Promise<boolean> {
  const rotated = await query(
    db,
    sql`update endpoints w set previous_secret = secret, previous_secret_until = ${previousSecretUntil}, secret = ${secret}
        where ${isNamed({ accountId, id })} returning 1`,
  );
  return rotated.length === 1;
}

/**
 * Deletes the endpoint with its secret. A later default endpoint gets a new secret, which is shown once. Returns the id; undefined if there
 * was no endpoint.
 */
export async function removeEndpoint(db: Db, name: EndpointName): Promise<string | undefined> {
  const [removed] = await query<{ id: string }>(db, sql`delete from endpoints w where ${isNamed(name)} returning w.id`);
  return removed?.id;
}

/** Deletes at most `limit` ready and `limit` waiting deliveries from a lane; running ones stay. Returns how many it deleted. */
export async function removeDeliveriesInLine(db: Db, lane: string, limit: number): Promise<number> {
  const inLine = sql`from outbox where kind = 'webhook' and lane = ${lane}`;
  const removed = await query(
    db,
    sql`with chosen as materialized (
          (select subject_id ${inLine} and state = 'ready' limit ${limit})
          union all (select subject_id ${inLine} and state = 'waiting' limit ${limit})
        )
        delete from outbox where subject_id = any(array(select subject_id from chosen)) and state || '' <> 'running' returning 1`,
  );
  return removed.length;
}

type TriedRow = Endpoint & {
  lastEventId: string | null;
  lastAttemptedAt: Date | null;
  lastStatus: number | null;
  lastError: string | null;
};

function triedEndpoint({ lastEventId, lastAttemptedAt, lastStatus, lastError, ...endpoint }: TriedRow): TriedEndpoint {
  if (lastEventId === null || lastAttemptedAt === null) return { ...endpoint, lastDelivery: null };
  const lastDelivery = { eventId: lastEventId, attemptedAt: lastAttemptedAt, status: lastStatus, error: lastError };
  return { ...endpoint, lastDelivery };
}

function isNamed({ accountId, ...name }: EndpointName) {
  return sql`w.account_id = ${accountId} and ${"id" in name ? sql`w.id = ${name.id}` : sql`w.is_default`}`;
}
