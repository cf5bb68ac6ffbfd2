import { sql } from "drizzle-orm";
import { type Db, query, violates } from "../../database/db.ts";
import type { KeyUse } from "../../domain/idempotency.ts";
import { columnNames, fieldsOf, replaced, selected } from "../columns.ts";
import { recordSet } from "../rows.ts";
import { idempotencyKeys } from "../schema.ts";

export type KeyName = Pick<KeyUse, "accountId" | "operation" | "key">;

const nameFields = ["accountId", "operation", "key"] as const;
const valueFields = ["fingerprint", "subjectId", "createdAt"] as const;
export const useFields = [...nameFields, ...valueFields];

/** Deletes expired uses of keys, so that the keys can be used again. */
export async function removeExpiredKeyUses(db: Db, names: readonly KeyName[], expiredBefore: Date): Promise<void> {
  if (names.length === 0) return;
  await query(
    db,
    sql`delete from idempotency_keys used using ${recordSet(idempotencyKeys, names, nameFields)}
        where used.account_id = row."accountId" and used.operation = row.operation and used.key = row.key
          and used.created_at <= ${expiredBefore}`,
  );
}

/** Whether a statement failed because a key that it expected to be free is in use. */
export function meetsUsedKey(error: unknown): boolean {
  return violates(error, "idempotency_keys_account_id_operation_key_pk");
}

/**
 * Inserts the uses whose keys are free or were last used at `expiredBefore` or earlier, and returns their subject ids. If another
 * transaction is inserting a key, the statement waits for it and then finds the key in use. Keys are inserted in order, so that two
 * batches cannot deadlock.
 */
export async function insertKeyUses(tx: Db, uses: readonly KeyUse[], expiredBefore: Date): Promise<Set<string>> {
  if (uses.length === 0) return new Set();
  const taken = await query<{ subjectId: string }>(
    tx,
    sql`insert into idempotency_keys (${columnNames(idempotencyKeys, useFields)}) select ${fieldsOf("row", useFields)}
        from ${recordSet(idempotencyKeys, uses, useFields)} order by ${fieldsOf("row", nameFields)}
        on conflict (account_id, operation, key) do update set ${replaced(idempotencyKeys, valueFields)}
        where idempotency_keys.created_at <= ${expiredBefore} returning subject_id as "subjectId"`,
  );
  return new Set(taken.map((use) => use.subjectId));
}

const usedFields = selected(idempotencyKeys, "used", useFields);

/** Lists the uses of these keys. The lateral look-up uses the index even if the plan was made while the table was empty. */
export async function listKeyUses(db: Db, names: readonly KeyName[]): Promise<KeyUse[]> {
  if (names.length === 0) return [];
  return query(
    db,
    sql`select ${usedFields} from ${recordSet(idempotencyKeys, names, nameFields)}
        cross join lateral (select * from idempotency_keys used where used.account_id = row."accountId"
          and used.operation = row.operation and used.key = row.key limit 1) used`,
  );
}
