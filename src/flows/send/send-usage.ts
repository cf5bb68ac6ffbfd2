import type { Db } from "../../database/db.ts";
import { burstWindow, type Limited, limitsOf, type SendUsage, utcDay } from "../../domain/limits.ts";
import { type Sender, type SendFact, usageOf } from "../../domain/send/send-facts.ts";
import { type AskedFact, listSendFacts, listSendsDatedLater } from "../../store/send/send-facts.ts";
import type { Deps } from "../deps.ts";

/** Reads how much of its limits an inbox has used. This is only for display: no send is judged by it. Undefined if the inbox is deleted. */
export async function sendUsage(
  { db, limits, now }: Pick<Deps, "db" | "limits" | "now">,
  account: { id: string } & Limited,
  inboxId: string,
): Promise<SendUsage | undefined> {
  const at = now();
  const windowUpTo = limitsOf(limits, account).sendsPerMinute;
  const asked = {
    accountId: account.id,
    operation: "send" as const,
    key: "",
    inboxId,
    recipient: null,
    address: null,
    windowUpTo,
  };
  const [fact] = await sendFacts(db.sends, [asked], at);
  return fact && usageOf(fact.sender, at);
}

/** Reads the facts of sends, in the order of `asked`. */
export async function sendFacts(db: Db, asked: readonly AskedFact[], at: Date): Promise<SendFact[]> {
  const window = burstWindow(at);
  const facts = await listSendFacts(db, asked, { window, day: utcDay(at), at });
  const ahead = facts.flatMap(({ sender }) =>
    sender?.lastMessageAt && sender.lastMessageAt > window.upTo ? sender : [],
  );
  if (ahead.length === 0) return facts;
  const ids = [...new Set(ahead.map(({ id }) => id))];
  const later = new Map((await listSendsDatedLater(db, ids, window)).map((sends) => [sends.inboxId, sends]));
  return facts.map((fact) => ({ ...fact, sender: fact.sender && withSends(fact.sender, later.get(fact.sender.id)) }));
}

function withSends(sender: Sender, later: { count: number; oldestAt: Date } | undefined): Sender {
  if (later === undefined) return sender;
  const { inWindow, oldestInWindowAt } = sender;
  const isOldest = oldestInWindowAt === null || later.oldestAt < oldestInWindowAt;
  return {
    ...sender,
    inWindow: inWindow + later.count,
    oldestInWindowAt: isOldest ? later.oldestAt : oldestInWindowAt,
  };
}
