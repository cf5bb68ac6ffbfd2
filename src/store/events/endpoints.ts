import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import { assigned, type Selected, selected } from "../columns.ts";
import { insertRows, recordSet } from "../rows.ts";
import { endpoints } from "../schema.ts";

/*
 * The endpoints of an account as one list, though they stand in two tables that have the same columns: the default one in `webhooks`,
 * where an older inboxd finds it, the others in `endpoints`.
 */

const endpointFields = selected(endpoints, "w");

/** Where there is no address, it is a default endpoint whose secret was made before any was set. */
export type Endpoint = Omit<Selected<typeof endpointFields>, "url"> & { url: string | null; isDefault: boolean };

/** What a statement about one endpoint finds it by. */
export type EndpointName = Pick<Endpoint, "accountId" | "id" | "isDefault">;

const tables = [
  { table: "webhooks", isDefault: true },
  { table: "endpoints", isDefault: false },
] as const;

/** Those that have an address, the oldest first. */
export function listEndpoints(db: Db, accountId: string): Promise<Endpoint[]> {
  return query<Endpoint>(
    db,
    sql`select * from (${endpointsWhere(sql`w.account_id = ${accountId} and w.url is not null`)}) listed
        order by "createdAt", "isDefault" desc, id`,
  );
}

export async function findEndpoint(db: Db, accountId: string, id: string): Promise<Endpoint | undefined> {
  const [endpoint] = await query<Endpoint>(db, endpointsWhere(sql`w.id = ${id} and w.account_id = ${accountId}`));
  return endpoint;
}

/** Nobody else changes it until the end of the transaction. */
export async function lockEndpoint(tx: Db, accountId: string, id: string): Promise<Endpoint | undefined> {
  for (const { table, isDefault } of tables) {
    const [endpoint] = await query<Omit<Endpoint, "isDefault">>(
      tx,
      sql`select ${endpointFields} from ${sql.identifier(table)} w where w.id = ${id} and w.account_id = ${accountId} for update`,
    );
    if (endpoint !== undefined) return { ...endpoint, isDefault };
  }
  return undefined;
}

/** Exact as long as who adds one holds the lock of the account. */
export async function countEndpoints(tx: Db, accountId: string): Promise<number> {
  const [counted] = await query<{ count: number }>(
    tx,
    sql`select count(*) from (${endpointsWhere(sql`w.account_id = ${accountId} and w.url is not null`)}) listed`,
  );
  return counted?.count ?? 0;
}

/** A further endpoint. */
export function insertEndpoint(
  tx: Db,
  { isDefault: _no, url, ...endpoint }: Endpoint & { url: string },
): Promise<void> {
  return insertRows(tx, endpoints, [{ url, ...endpoint }]);
}

const changeable = [
  ...(["url", "description", "eventTypes", "inboxIds", "skipAutomated", "include"] as const),
  ...(["disabledAt", "disabledReason", "failingSince", "answeredAt"] as const),
];

/** Writes down what an endpoint is after a change. */
export async function markEndpointChanged(tx: Db, endpoint: Endpoint): Promise<void> {
  await query(
    tx,
    sql`update ${tableOf(endpoint)} w set ${assigned(endpoints, changeable)}
        from ${recordSet(endpoints, [endpoint], ["id", ...changeable])} where w.id = row.id`,
  );
}

/** The old secret stays valid beside the new one until `previousSecretUntil`. */
export async function markEndpointSecretRotated(
  db: Db,
  endpoint: EndpointName,
  secret: string,
  previousSecretUntil: Date,
): Promise<boolean> {
  const rotated = await query(
    db,
    sql`update ${tableOf(endpoint)} set previous_secret = secret, previous_secret_until = ${previousSecretUntil}, secret = ${secret}
        where id = ${endpoint.id} returning 1`,
  );
  return rotated.length === 1;
}

/** Its secret is forgotten with it. */
export async function removeEndpoint(db: Db, endpoint: EndpointName): Promise<boolean> {
  const removed = await query(db, sql`delete from ${tableOf(endpoint)} where id = ${endpoint.id} returning 1`);
  return removed.length === 1;
}

/** Promises to a further endpoint, `limit` of either state at most; what is on the wire ends by itself. Answers how many went. */
export async function removePromises(db: Db, endpointId: string, limit: number): Promise<number> {
  const inLine = sql`from outbox where kind = 'endpoint' and lane = ${endpointId}`;
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

function endpointsWhere(condition: SQL): SQL {
  const each = tables.map(
    ({ table, isDefault }) =>
      sql`select ${endpointFields}, ${sql.raw(String(isDefault))} as "isDefault" from ${sql.identifier(table)} w where ${condition}`,
  );
  return sql.join(each, sql` union all `);
}

function tableOf({ isDefault }: Pick<EndpointName, "isDefault">): SQL {
  return sql`${sql.identifier(isDefault ? "webhooks" : "endpoints")}`;
}
