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
export async function insertUsedToken(db: Db, { token, usedFor, validUntil }: UsedToken): Promise<string | undefined> {
  // The update changes nothing. It locks the row, so that the second of two simultaneous requests sees the first.
  const [use] = await query<{ isFirst: boolean; usedFor: string }>(
    db,
    sql`insert into used_tokens as used (token, used_for, valid_until) values (${token}, ${usedFor}, ${validUntil})
        on conflict (token) do update set used_for = used.used_for
        returning xmax = 0 as "isFirst", used_for as "usedFor"`,
  );
  return use === undefined || use.isFirst ? undefined : use.usedFor;
}

/** Makes a token unused again, if it was used for this request. */
export async function removeUsedToken(db: Db, { token, usedFor }: Pick<UsedToken, "token" | "usedFor">): Promise<void> {
  await query(db, sql`delete from used_tokens where token = ${token} and used_for = ${usedFor}`);
}
