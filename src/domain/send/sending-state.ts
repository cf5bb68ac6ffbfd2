import type { ThreadState } from "../conversation.ts";
import { expiryOfKeys, type KeyUse } from "../idempotency.ts";
import type { AcceptedSend } from "./accepted-sends.ts";
import { mostRecentMessages, type RecentMessage } from "./loop.ts";
import type { Replied, RepliedThread } from "./reply-content.ts";
import type { Send, SendRequest, SentMessage } from "./send.ts";
import {
  type AskedReply,
  nameOfReply,
  type Owner,
  type Place,
  type Recipient,
  type Sender,
  type SendFacts,
  type ThreadMessageId,
} from "./send-facts.ts";

/**
 * What is known while sends are judged one after the other: what was read, and what the sends before have used up. It is changed in
 * place, since a copy for each send would cost the square of a batch.
 */
export interface SendingState {
  senders: Map<string, Sender>;
  /** By inbox and address. */
  recipients: Map<string, Recipient>;
  /** By the label of the key. */
  keyUses: Map<string, KeyUse>;
  sent: Map<string, SentMessage>;
  threads: Map<string, ThreadState>;
  /** Of each thread, the newest first. */
  recentMessages: Map<string, readonly RecentMessage[]>;
  /** By what is answered. */
  replied: Map<string, Replied>;
  threadMessageIds: Map<string, readonly Omit<ThreadMessageId, keyof AskedReply>[]>;
  places: ReadonlyMap<string, Place>;
  owners: readonly Owner[];
}

export function sendingState(sends: readonly Send[], facts: SendFacts, at: Date): SendingState {
  const state: SendingState = {
    senders: new Map(),
    recipients: new Map(),
    keyUses: new Map(),
    sent: new Map(facts.replays.map((message) => [message.id, message])),
    threads: new Map(facts.threads.map((thread) => [thread.id, thread])),
    recentMessages: new Map(facts.threads.map(({ id, recent }) => [id, recent])),
    replied: new Map(facts.replied.map((message) => [nameOfReply(message), message])),
    threadMessageIds: Map.groupBy(facts.threadMessageIds, nameOfReply),
    places: new Map(facts.places.map((place) => [place.id, place])),
    owners: facts.owners,
  };
  for (const [index, send] of sends.entries()) {
    const { sender, recipient, use } = facts.facts[index] ?? {};
    if (sender !== undefined) state.senders.set(sender.id, sender);
    if (recipient !== undefined) state.recipients.set(pairOf(send.request), recipient);
    if (use !== undefined && use.createdAt > expiryOfKeys(at)) state.keyUses.set(send.key.label, use);
  }
  return state;
}

/** Undefined where nothing limits mail to him. */
export function recipientOfSend({ recipients }: SendingState, request: SendRequest): Recipient | undefined {
  return recipients.get(pairOf(request));
}

/** Who says what he has seen answers that, whatever has come since, also in this batch. */
export function repliedThread(state: SendingState, request: SendRequest, thread: ThreadState): RepliedThread {
  const name = nameOfReply({ threadId: thread.id, upToMessageId: request.readUpToMessageId ?? null });
  const messageIds = state.threadMessageIds.get(name) ?? [];
  const replied = state.replied.get(name);
  // Programs file a reply under the last of its References (RFC 5322 §3.6.4).
  const isAncestor = ({ seq }: { seq: number }) => replied === undefined || seq <= replied.seq;
  return {
    subject: thread.subject,
    messageIds: request.readUpToMessageId === undefined ? messageIds : messageIds.filter(isAncestor),
    replied,
  };
}

/** What an accepted send has used up, and what the next one answers. */
export function noteAccepted(state: SendingState, { request, key }: Send, accepted: AcceptedSend): void {
  const { sender, thread, message, keyUse, coldSend } = accepted;
  state.senders.set(sender.id, sender);
  state.threads.set(thread.id, thread);
  state.sent.set(message.id, sentMessage(message));
  state.keyUses.set(key.label, keyUse);
  if (coldSend !== undefined) {
    state.recipients.set(pairOf(request), { isKnown: false, sentToday: coldSend.sentToday });
  }
  const recent: RecentMessage[] = [{ ...message, direction: "outbound", automated: null }];
  const before = state.recentMessages.get(thread.id) ?? [];
  state.recentMessages.set(thread.id, recent.concat(before).slice(0, mostRecentMessages));
  const wholeThread = nameOfReply({ threadId: thread.id, upToMessageId: null });
  state.threadMessageIds.set(wholeThread, [...(state.threadMessageIds.get(wholeThread) ?? []), message]);
  state.replied.set(wholeThread, { ...message, fromName: null, bodyHtml: message.bodyHtml ?? null });
}

export function sentMessage({ id, inboxId, threadId, rfcMessageId }: AcceptedSend["message"]): SentMessage {
  return { id, inboxId, threadId, status: "pending", rfcMessageId, providerMessageId: null };
}

/** An inbox and whom it sends to: mail to strangers is counted by both. */
function pairOf({ inboxId, to }: SendRequest): string {
  return `${inboxId} ${to.toLowerCase()}`;
}
