import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { ThreadState } from "../../domain/conversation.ts";
import { isReached } from "../reach.ts";
import { threadFields } from "./threads.ts";

export interface ThreadsPage {
  inboxId: string;
  isRead: boolean | undefined;
  /** The number of threads in the list, so that a page near the end can be counted from there. */
  total: number;
  limit: number;
  offset: number;
}

/**
 * Lists a page of threads, in the order of their latest messages, newest first. The statement finds the keys of the page in an index, and
 * then reads only the rows of the page. The index begins with `is_read`, so the list of all threads merges its two halves.
 */
export async function listThreads(db: Db, page: ThreadsPage): Promise<ThreadState[]> {
  const { inboxId, isRead, total, offset } = page;
  const limit = Math.min(page.limit, total - offset);
  if (limit <= 0) return [];
  const fromEnd = total - offset - limit;
  const fromTop = offset <= fromEnd;
  const passed = fromTop ? offset : fromEnd;
  const order = sql.raw(fromTop ? "order by last_seq desc" : "order by last_seq");
  const half = (read: boolean) =>
    sql`select is_read, last_seq from threads where inbox_id = ${inboxId} and is_read = ${sql.raw(String(read))} ${order}`;
  // Each half is read only up to the end of the page. Without that limit the planner would sort all threads.
  const stopping = (read: boolean) => sql`(${half(read)} limit ${passed + limit})`;
  const keys: SQL =
    isRead === undefined
      ? sql`select * from (${stopping(false)} union all ${stopping(true)}) halves ${order}`
      : half(isRead);
  return query<ThreadState>(
    db,
    sql`select ${threadFields} from (${keys} limit ${limit} offset ${passed}) key
        join threads t on t.inbox_id = ${inboxId} and t.is_read = key.is_read and t.last_seq = key.last_seq
        order by t.last_seq desc`,
  );
}

/** Finds a thread, if its inbox is within the reach. */
export async function findThread(db: Db, reach: Reach, id: string): Promise<ThreadState | undefined> {
  const [thread] = await query<ThreadState>(
    db,
    sql`select ${threadFields} from threads t join inboxes i on i.id = t.inbox_id
        where t.id = ${id} and ${isReached(reach)}`,
  );
  return thread;
}
