import type { Db } from "../../database/db.ts";
import { overRequestLimit, type PacedAction, requestLimits } from "../../domain/limits.ts";
import { insertRecentRequest } from "../../store/account/recent-requests.ts";

/** Counts a request of an account, or refuses it if the account has made too many in the window. */
export async function paceRequest(db: Db, accountId: string, action: PacedAction): Promise<void> {
  const { most, windowMs } = requestLimits[action];
  const pace = await insertRecentRequest(db, { accountId, action, limit: most, windowMs });
  if (!pace.isWithin) throw overRequestLimit(action, pace.oldestAt ?? pace.now, pace.now);
}
