import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { Closure } from "../../domain/access/suspension.ts";

/** Lists the accounts that are suspended, or deleted and not removed yet. */
export function listClosedAccounts(db: Db): Promise<{ id: string; closure: Closure }[]> {
  return query(
    db,
    sql`select id, case when deleted_at is not null then 'deleted' else suspended end as closure from accounts
        where suspended is not null or deleted_at is not null`,
  );
}
