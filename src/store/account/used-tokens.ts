import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";

export interface UsedToken {
  /** Begins with the token's purpose, as in `sign_in:…`. */
  token: string;
  /** A digest of the request, by which a repeated request is recognised; empty if no repeat is allowed. */
  usedFor: string;
  validUntil: Date;
}

/** Records the use of a token. Returns the `usedFor` of an earlier use, or undefined for the first use. */
export async function insertUsedToken(db: Db, use: UsedToken): Promise<string | undefined> {
  const { token, usedFor, validUntil } = use;
  const [first] = await query(
    db,
    sql`insert into used_tokens (token, used_for, valid_until) values (${token}, ${usedFor}, ${validUntil})
        on conflict do nothing returning token`,
  );
  if (first !== undefined) return undefined;
  const [earlier] = await query<Pick<UsedToken, "usedFor">>(
    db,
    sql`select used_for as "usedFor" from used_tokens where token = ${token}`,
  );
  // A request that failed may have removed its use between the two statements.
  return earlier === undefined ? insertUsedToken(db, use) : earlier.usedFor;
}

/** Makes a token unused again, if it was used for this request. */
export async function removeUsedToken(db: Db, { token, usedFor }: Pick<UsedToken, "token" | "usedFor">): Promise<void> {
  await query(db, sql`delete from used_tokens where token = ${token} and used_for = ${usedFor}`);
}
