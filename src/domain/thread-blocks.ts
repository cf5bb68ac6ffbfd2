import type { ThreadState } from "./conversation.ts";

/**
 * Threads are counted in blocks of this many numbers, by the number of their last message. A page at a high offset adds up the blocks, and
 * passes over the threads of one block at most.
 */
export const threadBlock = 2_048;

/** The threads of a block, by the lists that show them. An unread thread is always in the inbox. */
export interface ThreadCounts {
  unread: number;
  read: number;
  archived: number;
  trashed: number;
}

/** A change of the counts of a block. */
export interface BlockChange extends ThreadCounts {
  inboxId: string;
  block: number;
}

/** A thread before and after a change. Undefined is a thread that does not exist. */
export interface ChangedThread {
  before: ThreadState | undefined;
  after: ThreadState | undefined;
}

/**
 * The changes of the counts by changes of threads. A message that arrives takes its thread into the newest block, which is not counted until
 * it is full. So a new thread changes nothing, and neither does an arrival in a thread whose last message is in that block.
 */
export function blockChanges(changed: readonly ChangedThread[]): BlockChange[] {
  const changes = new Map<string, BlockChange>();

  function add({ inboxId, lastSeq, folder, isRead }: ThreadState, count: number): void {
    const block = blockOf(lastSeq);
    const none = { inboxId, block, unread: 0, read: 0, archived: 0, trashed: 0 };
    const change = changes.get(`${inboxId} ${block}`) ?? none;
    const column = folder === "archive" ? "archived" : folder === "trash" ? "trashed" : isRead ? "read" : "unread";
    changes.set(`${inboxId} ${block}`, { ...change, [column]: change[column] + count });
  }

  for (const { before, after } of changed) {
    if (before === undefined) continue;
    const isArrival = after !== undefined && after.lastSeq > before.lastSeq;
    if (isArrival && blockOf(after.lastSeq) === blockOf(before.lastSeq)) continue;
    add(before, -1);
    if (after !== undefined && !isArrival) add(after, 1);
  }
  return [...changes.values()].filter(({ unread, read, archived, trashed }) =>
    [unread, read, archived, trashed].some((count) => count !== 0),
  );
}

function blockOf(seq: number): number {
  return Math.floor(seq / threadBlock);
}
