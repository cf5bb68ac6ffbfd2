import { DatabaseUnavailable, type Db } from "../../database/db.ts";
import { type Folder, folders } from "../../domain/folders.ts";
import { findLabel } from "../../store/mail/labels.ts";
import type { InboxTotals } from "../../store/mail/message-pages.ts";
import { findBeforeOffset, insertThreadBlocks } from "../../store/mail/thread-blocks.ts";
import { listThreads, type ShownThread, type ThreadList } from "../../store/mail/thread-pages.ts";

/** The threads of an inbox to show, the one with the latest message first. */
export interface ThreadsQuery {
  folder: Folder | "all";
  /** Lists the threads of all folders but the trash that have this label, whatever `folder` says. */
  label: string | undefined;
  isRead: boolean | undefined;
  limit: number;
  offset: number;
  /** The number of the last message of the last thread on the previous page. */
  after: number | undefined;
}

export interface PageOfThreads {
  threads: readonly ShownThread[];
  total: number;
  /** The number after which the next page goes on; undefined if no page follows. */
  next: number | undefined;
}

/** A page of the threads of an inbox, and how many there are in all. The totals are in rows, so none is counted here. */
export async function pageThreads(db: Db, inbox: InboxTotals, asked: ThreadsQuery): Promise<PageOfThreads> {
  const { folder, label, isRead, limit, offset, after } = asked;
  const counts = label === undefined ? countsOf(inbox, folder) : await findLabel(db, inbox.id, label);
  const { threadCount = 0, unreadCount = 0 } = counts ?? {};
  const total = isRead === undefined ? threadCount : isRead ? threadCount - unreadCount : unreadCount;
  const list = { inboxId: inbox.id, folders: folder === "all" ? folders : [folder], label, isRead };
  const before = after ?? (await beforeOffset(db, list, { total, offset }));
  // Behind a cursor, one thread more shows whether a page follows.
  const page = { total, offset, before, limit: after === undefined ? limit : limit + 1 };
  const found = await listThreads(db, { ...list, ...page });
  const threads = found.slice(0, limit);
  const isLast = after === undefined ? offset + threads.length >= total : found.length <= limit;
  return { threads, total, next: isLast ? undefined : threads.at(-1)?.lastSeq };
}

/**
 * The number below which a page at a high offset begins. Undefined if the offset is counted off: near an end, in a list by label, or above
 * the full blocks. The blocks that are full since the last such page are counted first.
 */
async function beforeOffset(
  db: Db,
  list: ThreadList,
  page: { total: number; offset: number },
): Promise<number | undefined> {
  if (list.label !== undefined || Math.min(page.offset, page.total - page.offset) <= countedOff) return undefined;
  let before = await findBeforeOffset(db, list, page);
  for (let hasMore = true; before === undefined && hasMore; ) {
    // If the database writes nothing, as while its disk is full, the offset is counted off.
    hasMore = await insertThreadBlocks(db, list.inboxId).catch((error: unknown) => {
      if (error instanceof DatabaseUnavailable) return false;
      throw error;
    });
    before = await findBeforeOffset(db, list, page);
  }
  return before;
}

/** Threads are counted off up to this offset, which costs about as much as the page. */
const countedOff = 500;

function countsOf({ threadCount, unreadCount, archiveCount, trashCount }: InboxTotals, folder: Folder | "all") {
  switch (folder) {
    case "all":
      return { threadCount, unreadCount };
    case "archive":
      return { threadCount: archiveCount };
    case "trash":
      return { threadCount: trashCount };
    case "inbox":
      return { threadCount: threadCount - archiveCount - trashCount, unreadCount };
  }
}
