import { type Plan, type SendUsage, utcDay, windowStart } from "../domain/limits.ts";
import { listSendFacts, type SendFact } from "../store/send-facts.ts";
import type { Deps } from "./deps.ts";

/** What an inbox has sent so far: to be told, not to judge by. Undefined where there is no such inbox any more. */
export async function sendUsage(
  { db, limits, now }: Pick<Deps, "db" | "limits" | "now">,
  account: { id: string; plan: Plan },
  inboxId: string,
): Promise<SendUsage | undefined> {
  const at = now();
  const windowUpTo = limits[account.plan].sendsPerMinute;
  const asked = { accountId: account.id, key: "", inboxId, recipient: null, windowUpTo };
  const [fact] = await listSendFacts(db.api, [asked], { windowAfter: windowStart(at), day: utcDay(at) });
  return fact && usageOf(fact, utcDay(at));
}

export function usageOf({ sender, recipient }: Omit<SendFact, "use">, today: string): SendUsage | undefined {
  if (sender === undefined) return undefined;
  return {
    inWindow: sender.inWindow,
    oldestInWindowAt: sender.oldestInWindowAt ?? undefined,
    today: sender.sentOn === today ? sender.sentCount : 0,
    coldToday: recipient === undefined || recipient.isKnown ? undefined : recipient.sentToday,
  };
}
