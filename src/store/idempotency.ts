import { sql } from "drizzle-orm";
import { type Db, query } from "./db.ts";
import { recordSet } from "./rows.ts";
import { idempotencyKeys } from "./schema.ts";

export type KeyUse = typeof idempotencyKeys.$inferSelect;
export type KeyName = Pick<KeyUse, "accountId" | "operation" | "key">;

const nameFields = ["accountId", "operation", "key"];
const useFields = [...nameFields, "fingerprint", "subjectId", "createdAt"];

/**
 * Takes the keys that are free or were used before `expiredBefore`, and gives back their subjects. A key that another
 * transaction is taking is waited for: whoever comes second finds it used. In the order of keys, so that two
 * batches can't wait for each other.
 */
export async function insertKeyUses(tx: Db, uses: readonly KeyUse[], expiredBefore: Date): Promise<Set<string>> {
  if (uses.length === 0) return new Set();
  const taken = await query<{ subjectId: string }>(
    tx,
    sql`insert into idempotency_keys (account_id, operation, key, fingerprint, subject_id, created_at)
        select row."accountId", row.operation, row.key, row.fingerprint, row."subjectId", row."createdAt"
        from ${recordSet(idempotencyKeys, uses, useFields)} order by row."accountId", row.operation, row.key
        on conflict (account_id, operation, key) do update
        set fingerprint = excluded.fingerprint, subject_id = excluded.subject_id, created_at = excluded.created_at
        where idempotency_keys.created_at <= ${expiredBefore} returning subject_id as "subjectId"`,
  );
  return new Set(taken.map((use) => use.subjectId));
}

export async function listKeyUses(db: Db, names: readonly KeyName[]): Promise<KeyUse[]> {
  if (names.length === 0) return [];
  return query<KeyUse>(
    db,
    sql`select used.account_id as "accountId", used.operation, used.key, used.fingerprint,
          used.subject_id as "subjectId", used.created_at as "createdAt"
        from ${recordSet(idempotencyKeys, names, nameFields)} join idempotency_keys used
          on used.account_id = row."accountId" and used.operation = row.operation and used.key = row.key`,
  );
}

/** For requests that were refused after they took their key. */
export async function removeKeyUses(tx: Db, names: readonly KeyName[]): Promise<void> {
  if (names.length === 0) return;
  await query(
    tx,
    sql`delete from idempotency_keys used using ${recordSet(idempotencyKeys, names, nameFields)}
        where used.account_id = row."accountId" and used.operation = row.operation and used.key = row.key`,
  );
}
