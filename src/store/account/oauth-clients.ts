import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import { type Selected, selected } from "../columns.ts";
import { lockNumber } from "../locks.ts";
import { insertRows } from "../rows.ts";
import { oauthClients } from "../schema.ts";

const clientFields = selected(oauthClients, "c", ["id", "name", "redirectUris"]);

export type RegisteredClient = Selected<typeof clientFields>;

export async function findOAuthClient(db: Db, id: string): Promise<RegisteredClient | undefined> {
  const [client] = await query<RegisteredClient>(
    db,
    sql`select ${clientFields} from oauth_clients c where c.id = ${id}`,
  );
  return client;
}

export function insertOAuthClient(tx: Db, client: typeof oauthClients.$inferInsert): Promise<void> {
  return insertRows(tx, oauthClients, [client]);
}

/** Lets one transaction at a time register a client, so that none passes a limit that another one reaches. */
export async function lockRegistering(tx: Db): Promise<void> {
  await query(tx, sql`select pg_advisory_xact_lock(${lockNumber("registering")})`);
}

/** Counts the unused registrations since an instant: all, and those from one address. */
export async function countUnusedClients(
  tx: Db,
  { since, address }: { since: Date; address: string | null },
): Promise<{ unused: number; fromAddress: number }> {
  const [counted] = await query<{ unused: number; fromAddress: number }>(
    tx,
    sql`select (select count(*) from oauth_clients where not is_used) as unused,
          (select count(*) from oauth_clients where registered_from is not distinct from ${address} and registered_at > ${since})
            as "fromAddress"`,
  );
  return counted ?? { unused: 0, fromAddress: 0 };
}

export async function markClientUsed(tx: Db, id: string): Promise<void> {
  await query(tx, sql`update oauth_clients set is_used = true where id = ${id} and not is_used`);
}

/** Removes registrations before an instant that nobody has used. */
export async function removeUnusedClients(tx: Db, before: Date, limit: number): Promise<number> {
  const unused = sql`select id from oauth_clients where not is_used and registered_at < ${before} limit ${limit}`;
  const removed = await query(tx, sql`delete from oauth_clients where id = any(array(${unused})) returning 1`);
  return removed.length;
}
