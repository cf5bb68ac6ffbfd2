import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";

export interface UsedToken {
  /** Begins with what the token is for, as in `sign_in:…`. */
  token: string;
  /** Tells a repeated request from another one that brings the same token; empty where no repeat counts. */
  usedFor: string;
  validUntil: Date;
}

/** Writes down that a token was used. Answers what an earlier request used it for, or undefined for the first one. */
export async function insertUsedToken(db: Db, { token, usedFor, validUntil }: UsedToken): Promise<string | undefined> {
  // The update changes nothing. It locks the row, so that of two requests at once the second one sees the first.
  const [use] = await query<{ isFirst: boolean; usedFor: string }>(
    db,
    sql`insert into used_tokens as used (token, used_for, valid_until) values (${token}, ${usedFor}, ${validUntil})
        on conflict (token) do update set used_for = used.used_for
        returning xmax = 0 as "isFirst", used_for as "usedFor"`,
  );
  return use === undefined || use.isFirst ? undefined : use.usedFor;
}

/** Gives a token back that was used for this alone. */
export async function removeUsedToken(db: Db, { token, usedFor }: Pick<UsedToken, "token" | "usedFor">): Promise<void> {
  await query(db, sql`delete from used_tokens where token = ${token} and used_for = ${usedFor}`);
}
