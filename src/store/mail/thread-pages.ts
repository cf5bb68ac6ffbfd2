import { type SQL, sql } from "drizzle-orm";
import { type Db, query, shownInstant } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { Folder } from "../../domain/folders.ts";
import { type Selected, selected } from "../columns.ts";
import { isReached } from "../reach.ts";
import { threads } from "../schema.ts";
import { isOpenDraft } from "../send/drafts.ts";

const plainFields = selected(threads, "t", [
  "id",
  "inboxId",
  "subject",
  "isRead",
  "messageCount",
  "lastMessageId",
  "lastSeq",
  "people",
  "preview",
  "hasAttachments",
  "folder",
  "labels",
  "metadata",
]);
const shownFields = sql`${plainFields}, t.created_at::text as "createdAt", t.last_message_at::text as "lastMessageAt"`;

/** A thread with the fields that the API shows. */
export interface ShownThread extends Omit<Selected<typeof plainFields>, "labels"> {
  labels: readonly string[];
  /** Texts such as `2026-03-21T10:05:00.123Z`, because making Date objects took a tenth of the time for a page. */
  createdAt: string;
  lastMessageAt: string;
  /** The number of its open drafts. */
  draftCount: number;
}

/** Converts the times in rows from the database to the format of `ShownThread`. Changes the rows in place. */
function shownRows(rows: ShownThread[]): ShownThread[] {
  for (const row of rows) {
    row.createdAt = shownInstant(row.createdAt);
    row.lastMessageAt = shownInstant(row.lastMessageAt);
  }
  return rows;
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
 * Lists a page of threads, in the order of their latest messages, newest first. An index has a run for each folder or label and read flag,
 * and a list merges its runs. Each run is read only up to the end of the page: without that limit the planner would sort all threads.
 *
 * The rows at an end of the list are read run by run. Before any other page, rows would be read and thrown away, so its keys are found in
 * the index first.
 */
export async function listThreads(db: Db, page: ThreadsPage): Promise<ShownThread[]> {
  const { total, before } = page;
  const offset = before === undefined ? page.offset : 0;
  const limit = before === undefined ? Math.min(page.limit, total - offset) : page.limit;
  if (limit <= 0) return [];
  const fromEnd = total - offset - limit;
  const fromTop = before !== undefined || offset <= fromEnd;
  const passed = fromTop ? offset : fromEnd;
  const order = sql.raw(fromTop ? "desc" : "asc");
  const { table, keys, rowOfKey } = page.label === undefined ? byFolder : byLabel;
  const merged = (selected: SQL) => {
    const runs = runsOf(page).map(
      (run) => sql`(${selected} where ${run} order by run.last_seq ${order} limit ${passed + limit})`,
    );
    return sql`select * from (${sql.join(runs, sql` union all `)}) run order by run.last_seq ${order} limit ${limit} offset ${passed}`;
  };
  const rows =
    passed === 0
      ? merged(table)
      : sql`select t.* from (${merged(keys)}) run cross join lateral (${rowOfKey} limit 1) t`;
  const shown = sql`select ${shownFields}, ${draftCount(page.inboxId)} from (${rows}) t order by t.last_seq desc`;
  return shownRows(await query<ShownThread>(db, shown));
}

/** The rows of a run, their keys, and the row of a key. The limit of a look-up makes it one by the whole key, whatever the planner knows. */
const byFolder = {
  table: sql`select run.* from threads run`,
  keys: sql`select run.inbox_id, run.folder, run.is_read, run.last_seq from threads run`,
  rowOfKey: sql`select * from threads t where t.inbox_id = run.inbox_id and t.folder = run.folder and t.is_read = run.is_read
    and t.last_seq = run.last_seq`,
};

const byLabel = {
  table: sql`select t.* from thread_labels run join threads t on t.id = run.thread_id`,
  keys: sql`select run.thread_id, run.last_seq from thread_labels run`,
  rowOfKey: sql`select * from threads t where t.id = run.thread_id`,
};

/** The conditions of the runs that a list merges. An unread thread is always in the inbox, so other folders have one run. */
export function runsOf({
  inboxId,
  folders,
  label,
  isRead,
  before,
}: ThreadList & { before: SQL | number | undefined }): SQL[] {
  const flags = isRead === undefined ? [false, true] : [isRead];
  const runs =
    label !== undefined
      ? flags.map((flag) => ({ flag, place: sql`run.label = ${label}` }))
      : folders.flatMap((folder) =>
          flags
            .filter((flag) => flag || folder === "inbox")
            .map((flag) => ({ flag, place: sql.raw(`run.folder = '${folder}'`) })),
        );
  const isBefore = before === undefined ? sql`` : sql` and run.last_seq < ${before}`;
  return runs.map(
    ({ flag, place }) =>
      sql`run.inbox_id = ${inboxId} and ${place} and run.is_read = ${sql.raw(String(flag))}${isBefore}`,
  );
}

/** Finds a thread, if its inbox is within the reach. */
export async function findThread(db: Db, reach: Reach, id: string): Promise<ShownThread | undefined> {
  const found = await query<ShownThread>(
    db,
    sql`select ${shownFields}, ${openDraftsOfThread} as "draftCount" from threads t join inboxes i on i.id = t.inbox_id
        where t.id = ${id} and ${isReached(reach)}`,
  );
  return shownRows(found)[0];
}
