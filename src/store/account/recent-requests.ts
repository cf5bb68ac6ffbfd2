import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { recentRequests } from "../schema.ts";

export type PacedAction = (typeof recentRequests.$inferSelect)["action"];

export interface PacedRequest {
  accountId: string;
  action: PacedAction;
  /** The most requests of the account for this action in `windowMs`. */
  limit: number;
  windowMs: number;
}

export interface RequestPace {
  /** Whether this request was within the limit. If it was not, it is not counted. */
  isWithin: boolean;
  /** The time of the oldest request in the window. */
  oldestAt: Date | null;
  /** The time by the clock of the database, which all processes share. */
  now: Date;
}

/**
 * Counts a request if fewer than `limit` were counted in the window that ends now. The update reads the row and the clock after it has
 * locked the row, so the count is exact for any number of processes. If the clock was set back, requests with a later instant do not count.
 */
export async function insertRecentRequest(db: Db, request: PacedRequest): Promise<RequestPace> {
  const inWindow = sql`at > clock_timestamp() - ${request.windowMs} * interval '1 ms' and at <= clock_timestamp()`;
  // Truncated to milliseconds, because the column would round it, perhaps up to an instant after now, which does not count.
  const asked = sql`date_trunc('milliseconds', clock_timestamp())`;
  const [pace] = await query<RequestPace>(
    db,
    sql`with counted as (
          insert into recent_requests as r (account_id, action, asked_at)
          values (${request.accountId}, ${request.action}, array[${asked}])
          on conflict (account_id, action) do update
          set asked_at = array(select at from unnest(r.asked_at) at where ${inWindow} order by at) || ${asked}
          where (select count(*) from unnest(r.asked_at) at where ${inWindow}) < ${request.limit}
          returning 1
        )
        select exists (select from counted) as "isWithin", clock_timestamp() as now,
          (select min(at) from recent_requests r, unnest(r.asked_at) at
            where r.account_id = ${request.accountId} and r.action = ${request.action} and ${inWindow}) as "oldestAt"`,
  );
  if (pace === undefined) throw new Error("Cannot count a request: the database gave no answer");
  return pace;
}
