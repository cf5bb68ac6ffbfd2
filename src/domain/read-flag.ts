import type { ThreadState } from "./conversation.ts";

/** What became of a request to set the read flag. */
export interface Marked {
  thread: ThreadState;
  /** Why a thread stayed unread that was to become read. */
  reason: "newer_inbound" | undefined;
}

/**
 * Sets the read flag. Who says up to which message they have seen the thread can't mark as read what came in behind
 * it: list, process, mark then loses no mail (contract §7.2).
 */
export function markRead(thread: ThreadState, isRead: boolean, upToSeq: number | undefined): Marked {
  const unseen = isRead && !thread.isRead && upToSeq !== undefined && thread.lastInboundSeq > upToSeq;
  if (unseen || thread.isRead === isRead) return { thread, reason: unseen ? "newer_inbound" : undefined };
  return { thread: { ...thread, isRead }, reason: undefined };
}
