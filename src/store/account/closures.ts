import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { Closure } from "../../domain/access/suspension.ts";

/** An account that is not open. */
export interface ClosedAccount {
  id: string;
  closure: Closure;
  /** The host of the cell to which it has moved. */
  movedTo: string | null;
}

/** Lists the accounts that are suspended, or deleted and not removed yet. */
export function listClosedAccounts(db: Db): Promise<ClosedAccount[]> {
  return query(
    db,
    sql`select id, case when deleted_at is not null then 'deleted' else suspended end as closure, moved_to as "movedTo" from accounts
        where suspended is not null or deleted_at is not null`,
  );
}
