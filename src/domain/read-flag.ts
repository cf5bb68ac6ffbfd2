import type { ThreadState } from "./conversation.ts";

/** The result of setting the read flag. */
export interface Marked {
  thread: ThreadState;
  /** The reason if the thread stays unread. */
  reason: "newer_inbound" | undefined;
}

/**
 * Sets the read flag. With `upToSeq`, the last message that the caller has seen, a thread with newer inbound mail stays unread, so that a
 * caller who lists, processes and marks loses no mail (contract §7.2).
 */
export function markRead(thread: ThreadState, isRead: boolean, upToSeq: number | undefined): Marked {
  const unseen = isRead && !thread.isRead && upToSeq !== undefined && thread.lastInboundSeq > upToSeq;
  if (unseen || thread.isRead === isRead) return { thread, reason: unseen ? "newer_inbound" : undefined };
  return { thread: { ...thread, isRead }, reason: undefined };
}
