import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { ThreadState } from "../../domain/conversation.ts";
import type { Folder } from "../../domain/folders.ts";
import { isReached } from "../reach.ts";
import { isOpenDraft } from "../send/drafts.ts";
import { threadFields } from "./threads.ts";

/** A thread of a list, with the number of its open drafts. */
export interface ListedThread extends ThreadState {
  draftCount: number;
}

/** Counts the open drafts of a thread `t`. Most inboxes have none, which one look-up for the whole statement shows. */
function draftCount(inboxId: string): SQL {
  return sql`case when (select exists (select from drafts d where d.inbox_id = ${inboxId} and ${isOpenDraft}))
    then ${openDraftsOfThread} else 0 end as "draftCount"`;
}

const openDraftsOfThread = sql`(select count(*) from drafts d where d.thread_id = t.id and ${isOpenDraft})`;

/** The threads of a list: those of some folders or, if a label is given, those with this label outside the trash. */
export interface ThreadList {
  inboxId: string;
  folders: readonly Folder[];
  label: string | undefined;
  isRead: boolean | undefined;
}

export interface ThreadsPage extends ThreadList {
  /** The number of threads in the list, so that a page near the end can be counted from there. */
  total: number;
  limit: number;
  offset: number;
  /** Lists only threads whose last message has a lower number. If it is given, the offset is ignored. */
  before: number | undefined;
}

/**
 * Lists a page of threads, in the order of their latest messages, newest first. The statement finds the keys of the page in an index, and
 * then reads only the rows of the page. The index has a run for each folder or label and read flag, and a list merges its runs.
 */
export async function listThreads(db: Db, page: ThreadsPage): Promise<ListedThread[]> {
  const { total, before } = page;
  const offset = before === undefined ? page.offset : 0;
  const limit = before === undefined ? Math.min(page.limit, total - offset) : page.limit;
  if (limit <= 0) return [];
  const fromEnd = total - offset - limit;
  const fromTop = before !== undefined || offset <= fromEnd;
  const passed = fromTop ? offset : fromEnd;
  const order = sql.raw(fromTop ? "order by last_seq desc" : "order by last_seq");
  const [first = sql``, ...others] = runsOf(page).map((run) => sql`${run} ${order}`);
  // Each run is read only up to the end of the page. Without that limit the planner would sort all threads.
  const stopping = [first, ...others].map((run) => sql`(${run} limit ${passed + limit})`);
  const keys = others.length === 0 ? first : sql`select * from (${sql.join(stopping, sql` union all `)}) runs ${order}`;
  const isKeyed =
    page.label === undefined
      ? sql`t.inbox_id = ${page.inboxId} and t.folder = key.folder and t.is_read = key.is_read and t.last_seq = key.last_seq`
      : sql`t.id = key.thread_id`;
  return query<ListedThread>(
    db,
    sql`select ${threadFields}, ${draftCount(page.inboxId)} from (${keys} limit ${limit} offset ${passed}) key
        join threads t on ${isKeyed} order by t.last_seq desc`,
  );
}

/** The runs of an index that a list merges. An unread thread is always in the inbox, so other folders have one run. */
function runsOf({ inboxId, folders, label, isRead, before }: ThreadsPage): SQL[] {
  const flags = isRead === undefined ? [false, true] : [isRead];
  const isBefore = before === undefined ? sql`` : sql` and last_seq < ${before}`;
  if (label !== undefined) {
    return flags.map(
      (flag) =>
        sql`select thread_id, last_seq from thread_labels
            where inbox_id = ${inboxId} and label = ${label} and is_read = ${sql.raw(String(flag))}${isBefore}`,
    );
  }
  const runs = folders.flatMap((folder) => flags.map((flag) => ({ folder, flag })));
  const filled = runs.filter(({ folder, flag }) => flag || folder === "inbox");
  return filled.map(
    ({ folder, flag }) =>
      sql`select folder, is_read, last_seq from threads
          where inbox_id = ${inboxId} and folder = ${sql.raw(`'${folder}'`)} and is_read = ${sql.raw(String(flag))}${isBefore}`,
  );
}

/** Finds a thread, if its inbox is within the reach. */
export async function findThread(db: Db, reach: Reach, id: string): Promise<ListedThread | undefined> {
  const [thread] = await query<ListedThread>(
    db,
    sql`select ${threadFields}, ${openDraftsOfThread} as "draftCount" from threads t join inboxes i on i.id = t.inbox_id
        where t.id = ${id} and ${isReached(reach)}`,
  );
  return thread;
}
