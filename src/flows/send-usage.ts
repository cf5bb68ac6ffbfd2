import { type Plan, type SendUsage, utcDay, windowStart } from "../domain/limits.ts";
import { findSentCount, listWindowUses } from "../store/sending.ts";
import type { Deps } from "./deps.ts";

/** What an inbox has sent so far: to be told, not to judge by. Undefined where there is no such inbox any more. */
export async function sendUsage(
  { db, limits, now }: Pick<Deps, "db" | "limits" | "now">,
  plan: Plan,
  inboxId: string,
): Promise<SendUsage | undefined> {
  const at = now();
  const upTo = limits[plan].sendsPerMinute;
  const [counted, [window]] = await Promise.all([
    findSentCount(db.api, inboxId),
    listWindowUses(db.api, upTo > 0 ? [{ inboxId, upTo }] : [], windowStart(at)),
  ]);
  if (counted === undefined) return undefined;
  return {
    inWindow: window?.inWindow ?? 0,
    oldestInWindowAt: window?.oldestInWindowAt,
    today: counted.sentOn === utcDay(at) ? counted.sentCount : 0,
    coldToday: undefined,
  };
}
