import type { ThreadState } from "../conversation.ts";
import type { KnownThreads } from "../threading.ts";
import type { ArrivedMail } from "./arrived-mail.ts";
import type { KnownOfMails, NamedMessage, ReadInbox } from "./known-of-mails.ts";

/**
 * The state while mails are filed in order: the facts that were read, with the changes by the earlier mails. It is changed in place,
 * because a copy for each mail would cost the square of the batch.
 */
export interface FilingState {
  /** The inboxes that are not deleted. */
  inboxes: Map<string, ReadInbox>;
  threads: Map<string, ThreadState>;
  /** The mails that an inbox has: keys of inbox, Message-ID and content. */
  copies: Set<string>;
  /** By inbox and Message-ID: the thread of the message, the thread that waits for it, and the recipients if we sent it. */
  threadOfMessage: Map<string, string>;
  awaitingThread: Map<string, string>;
  sentTo: Map<string, readonly string[]>;
}

export function filingState({ inboxes, copies, parents, awaiting }: KnownOfMails): FilingState {
  return {
    inboxes: new Map(inboxes.map((inbox) => [inbox.id, inbox])),
    threads: new Map([...awaiting, ...parents].map((thread) => [thread.id, thread])),
    copies: new Set(copies.map((copy) => `${nameOf(copy)} ${copy.contentHash}`)),
    threadOfMessage: new Map(parents.map((parent) => [nameOf(parent), parent.id])),
    awaitingThread: new Map(awaiting.map((thread) => [nameOf(thread), thread.id])),
    sentTo: new Map(
      parents.flatMap((parent) =>
        parent.sentTo === null ? [] : [[nameOf(parent), parent.sentTo.toLowerCase().split(" ")]],
      ),
    ),
  };
}

/** The threads of one inbox. */
export function threadsOfInbox({ threadOfMessage, awaitingThread }: FilingState, inboxId: string): KnownThreads {
  return {
    of: (messageIdHash) => threadOfMessage.get(nameOf({ inboxId, messageIdHash })),
    awaiting: (messageIdHash) => awaitingThread.get(nameOf({ inboxId, messageIdHash })),
  };
}

/** Notes a mail in an inbox. False if the inbox has the same mail already, by Message-ID and content. */
export function takesMail({ copies }: FilingState, inboxId: string, arrival: ArrivedMail): boolean {
  const { messageIdHash, contentHash } = arrival;
  if (contentHash === undefined) return true;
  const copy = `${nameOf({ inboxId, messageIdHash })} ${contentHash}`;
  if (copies.has(copy)) return false;
  copies.add(copy);
  return true;
}

/** Notes that a thread waits for a message. False if an earlier thread already waits for the message: it will join that one. */
export function awaits({ awaitingThread }: FilingState, missing: NamedMessage, threadId: string): boolean {
  const name = nameOf(missing);
  if (awaitingThread.has(name)) return false;
  awaitingThread.set(name, threadId);
  return true;
}

/** Notes the inbox and the thread as they are after a message was filed. */
export function noteFiled(state: FilingState, inbox: ReadInbox, thread: ThreadState, messageIdHash: string): void {
  state.inboxes.set(inbox.id, inbox);
  state.threads.set(thread.id, thread);
  state.threadOfMessage.set(nameOf({ inboxId: inbox.id, messageIdHash }), thread.id);
}

/** Whether one of these hashes is of a message that the inbox had sent to this address. */
export function hadSentTo(state: FilingState, inboxId: string, address: string, hashes: readonly string[]): boolean {
  return hashes.some(
    (messageIdHash) => state.sentTo.get(nameOf({ inboxId, messageIdHash }))?.includes(address) === true,
  );
}

/** The key of a Message-ID in an inbox. Neither part has a space. */
function nameOf({ inboxId, messageIdHash }: NamedMessage): string {
  return `${inboxId} ${messageIdHash}`;
}
