import type { ThreadState } from "../conversation.ts";
import { type KnownThreads, resolveThread } from "../threading.ts";
import type { ArrivedCopy, ArrivedMail } from "./arrived-mail.ts";
import type { KnownOfMails, NamedMessage, ReadInbox } from "./known-of-mails.ts";

/**
 * The state of a batch whose mails are filed one after the other: the facts that were read, with the changes by the mails filed so far.
 * It is changed in place, because a new copy for each mail would take time quadratic in the size of the batch.
 */
export interface FilingState {
  /** The inboxes that are not deleted. */
  inboxes: Map<string, ReadInbox>;
  threads: Map<string, ThreadState>;
  /** A key for each mail that an inbox has, made from the inbox, the Message-ID and the content. */
  copies: Set<string>;
  /**
   * The next three maps are by inbox and Message-ID: the thread of the message, the thread that waits for it, and its recipients if we sent
   * it.
   */
  threadOfMessage: Map<string, string>;
  awaitingThread: Map<string, string>;
  sentTo: Map<string, readonly string[]>;
  /** The removed messages, by inbox and Message-ID. */
  removed: Set<string>;
}

export function filingState({ inboxes, copies, parents, awaiting, removed }: KnownOfMails): FilingState {
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
    removed: new Set(removed.map(nameOf)),
  };
}

/** The threads of one inbox, as functions that find a thread by the hash of a Message-ID. */
function threadsOfInbox(state: FilingState, inboxId: string): KnownThreads {
  const { threadOfMessage, awaitingThread, removed } = state;
  return {
    of: (messageIdHash) => threadOfMessage.get(nameOf({ inboxId, messageIdHash })),
    awaiting: (messageIdHash) => awaitingThread.get(nameOf({ inboxId, messageIdHash })),
    wasRemoved: (messageIdHash) => removed.has(nameOf({ inboxId, messageIdHash })),
  };
}

/** Finds the thread of an inbox that a mail joins, and the messages that it refers to and that are missing there. */
export function threadJoined(
  state: FilingState,
  { messageIdHash, ancestorHashes }: Pick<ArrivedMail, "messageIdHash" | "ancestorHashes">,
  { inboxId, answeredHash = "" }: Pick<ArrivedCopy, "inboxId" | "answeredHash">,
): { thread: ThreadState | undefined; missing: string[] } {
  const known = threadsOfInbox(state, inboxId);
  const { threadId, missing } = resolveThread(messageIdHash, ancestorHashes, known);
  return { thread: state.threads.get(threadId ?? known.of(answeredHash) ?? ""), missing };
}

/**
 * Records that an inbox gets a mail. Returns false if the inbox, or its quarantine, already has a mail with the same Message-ID and content.
 * True for every mail without a content hash, which is never treated as a copy, and for a mail that the quarantine releases.
 */
export function takesMail({ copies }: FilingState, inboxId: string, arrival: ArrivedMail): boolean {
  const { messageIdHash, contentHash, isReleased } = arrival;
  if (contentHash === undefined) return true;
  const copy = `${nameOf({ inboxId, messageIdHash })} ${contentHash}`;
  if (copies.has(copy)) return isReleased === true;
  copies.add(copy);
  return true;
}

/** Records that a thread waits for a missing message. Returns false if another thread already waits: the message will join that one. */
export function awaits({ awaitingThread }: FilingState, missing: NamedMessage, threadId: string): boolean {
  const name = nameOf(missing);
  if (awaitingThread.has(name)) return false;
  awaitingThread.set(name, threadId);
  return true;
}

/** Records the inbox, the thread and the thread of the Message-ID after a message was filed. */
export function noteFiled(state: FilingState, inbox: ReadInbox, thread: ThreadState, messageIdHash: string): void {
  state.inboxes.set(inbox.id, inbox);
  state.threads.set(thread.id, thread);
  state.threadOfMessage.set(nameOf({ inboxId: inbox.id, messageIdHash }), thread.id);
}

/** Records the inbox after a mail went into its quarantine. */
export function noteQuarantined({ inboxes }: FilingState, inbox: ReadInbox, sizeBytes: number): void {
  inboxes.set(inbox.id, { ...inbox, storageBytes: inbox.storageBytes + sizeBytes });
}

/** Whether one of these hashed Message-IDs is that of a message that the inbox sent to this address. */
export function hadSentTo(state: FilingState, inboxId: string, address: string, hashes: readonly string[]): boolean {
  return hashes.some(
    (messageIdHash) => state.sentTo.get(nameOf({ inboxId, messageIdHash }))?.includes(address) === true,
  );
}

/** The key of a Message-ID in an inbox. Neither part has a space. */
function nameOf({ inboxId, messageIdHash }: NamedMessage): string {
  return `${inboxId} ${messageIdHash}`;
}
