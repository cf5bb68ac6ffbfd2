import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import { sealedMark } from "../../standards/sealing.ts";

/** The places of secrets: a table, the column with the secret, and the name of the row under which it is sealed. */
const places = [
  { table: "endpoints", column: "secret", row: "id" },
  { table: "endpoints", column: "previous_secret", row: "id" },
  { table: "domain_keys", column: "private_key", row: "domain_id || '/' || selector" },
] as const;

export interface StoredSecret {
  /** The index of its place. */
  place: number;
  row: string;
  stored: string;
}

/** The name of the row of a domain's key, under which its private half is sealed. */
export function rowOfDomainKey({ domainId, selector }: { domainId: string; selector: string }): string {
  return `${domainId}/${selector}`;
}

/** Whether a stored secret is sealed, but begins with none of these marks. */
export async function hasSecretOfOthers(db: Db, marks: readonly string[]): Promise<boolean> {
  const isOther = sql`starts_with(stored, ${sealedMark}) and not exists (
    select from unnest(${arrayOf("text", marks)}) as known (mark) where starts_with(stored, known.mark))`;
  const [found] = await query(db, sql`select from (${allSecrets}) s where ${isOther} limit 1`);
  return found !== undefined;
}

/** Lists secrets that do not begin with the mark; without a mark, secrets that are sealed. */
export function listSecretsToReseal(db: Db, mark: string | undefined, limit: number): Promise<StoredSecret[]> {
  const isOther = mark === undefined ? sql`starts_with(stored, ${sealedMark})` : sql`not starts_with(stored, ${mark})`;
  return query(db, sql`select place, row, stored from (${allSecrets}) s where ${isOther} limit ${limit}`);
}

/** Replaces a stored secret, unless it has changed meanwhile. Returns whether it did. */
export async function markSecretResealed(db: Db, secret: StoredSecret, again: string): Promise<boolean> {
  const { table, column, row } = places[secret.place] ?? places[0];
  const [set, where] = [sql.raw(`update ${table} set ${column}`), sql.raw(`where ${column}`)];
  const marked = await query(
    db,
    sql`${set} = ${again} ${where} = ${secret.stored} and ${sql.raw(row)} = ${secret.row} returning 1`,
  );
  return marked.length === 1;
}

const allSecrets: SQL = sql.raw(
  places
    .map(
      ({ table, column, row }, place) =>
        `select ${place} as place, ${row} as row, ${column} as stored from ${table} where ${column} is not null`,
    )
    .join(" union all "),
);
