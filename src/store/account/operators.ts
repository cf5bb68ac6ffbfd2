import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { Operator } from "../../domain/access/operator.ts";
import { type Selected, selected } from "../columns.ts";
import { insertRow } from "../rows.ts";
import { operatorKeys } from "../schema.ts";

const shownFields = selected(operatorKeys, "o", [
  "id",
  "name",
  "prefix",
  "lastFour",
  "createdAt",
  "expiresAt",
  "lastUsedAt",
  "revokedAt",
]);

export type OperatorInfo = Selected<typeof shownFields>;

export type NewOperator = Pick<
  typeof operatorKeys.$inferSelect,
  "id" | "name" | "hash" | "prefix" | "lastFour" | "createdAt" | "expiresAt"
>;

/** Inserts the key of an operator. Returns false and writes nothing if its name is taken. */
export function insertOperator(tx: Db, operator: NewOperator): Promise<boolean> {
  return insertRow(tx, operatorKeys, operator);
}

/** Lists the keys of operators, newest first. */
export function listOperators(db: Db): Promise<OperatorInfo[]> {
  return query(db, sql`select ${shownFields} from operator_keys o order by o.id desc`);
}

/** Finds the operator of the key with this hash. Undefined if the key is unknown, revoked or expired. */
export async function findOperator(
  db: Db,
  hash: string,
  now: Date,
): Promise<(Operator & { lastUsedAt: Date | null }) | undefined> {
  const [operator] = await query<Operator & { lastUsedAt: Date | null }>(
    db,
    sql`select id, name, last_used_at as "lastUsedAt" from operator_keys
        where hash = ${hash} and revoked_at is null and (expires_at is null or expires_at > ${now})`,
  );
  return operator;
}

export async function markOperatorUsed(db: Db, id: string, at: Date): Promise<void> {
  await query(db, sql`update operator_keys set last_used_at = ${at} where id = ${id}`);
}

/** Revokes the key of an operator, by its id or its name. Returns its id; undefined if there is no such key that is valid. */
export async function markOperatorRevoked(tx: Db, idOrName: string, at: Date): Promise<string | undefined> {
  const [revoked] = await query<{ id: string }>(
    tx,
    sql`update operator_keys set revoked_at = ${at} where (id = ${idOrName} or name = ${idOrName}) and revoked_at is null
        returning id`,
  );
  return revoked?.id;
}
