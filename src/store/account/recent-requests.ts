import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { recentRequests } from "../schema.ts";

export type PacedAction = (typeof recentRequests.$inferSelect)["action"];

export interface PacedRequest {
  accountId: string;
  action: PacedAction;
  /** So many in `windowMs`. */
  limit: number;
  windowMs: number;
}

export interface RequestPace {
  /** Whether this one was within the limit. It then counts, and only then. */
  isWithin: boolean;
  /** Of those in the window, where this one was not within it. */
  oldestAt: Date | null;
  /** By the clock of the database, which all processes share. */
  now: Date;
}

/**
 * Counts a request, if there is room for it in the window that ends now. The update looks at the row, and at the clock, when it
 * has locked it: so of many at once, in whatever processes, exactly as many as may are counted. What the clock has not come to yet,
 * since it was set back, is in no window.
 */
export async function insertRecentRequest(db: Db, request: PacedRequest): Promise<RequestPace> {
  const inWindow = sql`at > clock_timestamp() - ${request.windowMs} * interval '1 ms' and at <= clock_timestamp()`;
  // The column would round up, to an instant that is yet to come.
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
