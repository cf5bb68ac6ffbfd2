import type { Db } from "../../database/db.ts";
import { lastShared, quotesLast } from "../../domain/send/quotable.ts";
import type { SendRequest } from "../../domain/send/send.ts";
import {
  type AnsweredById,
  askedReply,
  isAddressedByReply,
  nameOfReply,
  type RepliedMessage,
} from "../../domain/send/send-facts.ts";
import { listAnsweredMessages, listPartiesInThreads } from "../../store/send/send-facts.ts";

/**
 * The messages that replies quote instead of the last message of the thread: a reply does so if none of its recipients wrote or got that
 * message. Most replies need no read here: a reply to the addresses of the last message always quotes it, and most others do too.
 */
export async function quotableMessages(
  db: Db,
  requests: readonly SendRequest[],
  last: readonly RepliedMessage[],
  ownAddresses: (inboxId: string) => string[],
): Promise<AnsweredById[]> {
  const lastOf = new Map(last.map((message) => [nameOfReply(message), message]));
  const unshared = requests.filter((request) => {
    const name = askedReply(request);
    if (name === undefined || !quotesLast(request) || isAddressedByReply(request)) return false;
    const message = lastOf.get(nameOfReply(name));
    const own = ownAddresses(request.inboxId);
    return lastShared(message === undefined ? [] : [message], request.recipients, own) === undefined;
  });
  if (unshared.length === 0) return [];
  const threadIds = new Set(unshared.map(({ threadId = "" }) => threadId));
  const partiesOf = Map.groupBy(await listPartiesInThreads(db, [...threadIds]), ({ threadId }) => threadId);
  const chosen = unshared.flatMap((request) => {
    const name = askedReply(request);
    const upTo = name && lastOf.get(nameOfReply(name))?.seq;
    const parties = (partiesOf.get(request.threadId ?? "") ?? []).filter(({ seq }) => seq <= (upTo ?? seq));
    return lastShared(parties, request.recipients, ownAddresses(request.inboxId)) ?? [];
  });
  const bccOf = new Map(chosen.map(({ id, bcc }) => [id, bcc]));
  const messages = await listAnsweredMessages(db, [...bccOf.keys()]);
  return messages.map((message) => ({ ...message, bcc: bccOf.get(message.id) ?? null }));
}
