import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "./db.ts";
import { recordSet } from "./rows.ts";
import { idempotencyKeys } from "./schema.ts";

export type KeyUse = typeof idempotencyKeys.$inferSelect;
export type KeyName = Pick<KeyUse, "accountId" | "operation" | "key">;

const nameFields = ["accountId", "operation", "key"];
const useFields = [...nameFields, "fingerprint", "subjectId", "createdAt"];

/** A key in one word. None of its parts holds a space. */
export function keyLabel({ accountId, operation, key }: KeyName): string {
  return `${accountId} ${operation} ${key}`;
}

/**
 * Takes the keys, to the end of the transaction, that no other transaction has; answers the labels of those. Never waits,
 * so that one request that hangs holds up its own twins and nobody else.
 */
export async function lockFreeKeys(tx: Db, labels: readonly string[]): Promise<Set<string>> {
  const locked = await query<{ label: string }>(
    tx,
    sql`select label from unnest(${arrayOf("text", labels)}) as label where pg_try_advisory_xact_lock(${lockOf(sql`label`)})`,
  );
  return new Set(locked.map(({ label }) => label));
}

/** Waits until no other transaction has the key. */
export async function lockKey(tx: Db, label: string, timeoutMs: number): Promise<void> {
  await query(tx, sql`select set_config('lock_timeout', ${String(timeoutMs)}, true)`);
  await query(tx, sql`select pg_advisory_xact_lock(${lockOf(sql`${label}::text`)})`);
}

function lockOf(label: SQL): SQL {
  return sql`hashtextextended(${label}, 7521962899002003)`;
}

/**
 * `insert …` for uses whose keys are locked and were free, or had run out. Should a key be in use after all, the null
 * breaks its column's constraint and the whole transaction fails: no key is ever overwritten.
 */
export function keyUsesInserted(uses: readonly KeyUse[], expiredBefore: Date): SQL {
  return sql`insert into idempotency_keys (account_id, operation, key, fingerprint, subject_id, created_at)
    select row."accountId", row.operation, row.key, row.fingerprint, row."subjectId", row."createdAt"
    from ${recordSet(idempotencyKeys, uses, useFields)}
    on conflict (account_id, operation, key) do update
    set fingerprint = case when idempotency_keys.created_at <= ${expiredBefore} then excluded.fingerprint end,
      subject_id = excluded.subject_id, created_at = excluded.created_at`;
}

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

/** The lateral look-up keeps to the index, also with a plan that was made while the table was empty. */
export async function listKeyUses(db: Db, names: readonly KeyName[]): Promise<KeyUse[]> {
  if (names.length === 0) return [];
  return query<KeyUse>(
    db,
    sql`select used.account_id as "accountId", used.operation, used.key, used.fingerprint,
          used.subject_id as "subjectId", used.created_at as "createdAt"
        from ${recordSet(idempotencyKeys, names, nameFields)}
        cross join lateral (select * from idempotency_keys used where used.account_id = row."accountId"
          and used.operation = row.operation and used.key = row.key limit 1) used`,
  );
}
