import type { Db } from "../../database/db.ts";
import { burstWindowMs, overRequestLimit, requestLimits } from "../../domain/limits.ts";
import { insertRecentRequest } from "../../store/account/recent-requests.ts";

/** Counts what an account asks for, and refuses it where it has asked for too much of it in the last minute. */
export async function paceRequest(db: Db, accountId: string, action: keyof typeof requestLimits): Promise<void> {
  const limit = requestLimits[action].perMinute;
  const pace = await insertRecentRequest(db, { accountId, action, limit, windowMs: burstWindowMs });
  if (!pace.isWithin) throw overRequestLimit(action, pace.oldestAt ?? pace.now, pace.now);
}
