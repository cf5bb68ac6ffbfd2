import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { ThreadState } from "../../domain/conversation.ts";
import { shownLabels } from "../../domain/filing.ts";
import { recordSet, recordsOf, recordsWith } from "../rows.ts";
import { threadLabels } from "../schema.ts";

/*
 * The rows of labels follow their threads: a statement that changes a thread with labels writes these rows too, behind the lock or the
 * revision of the inbox. So the counts are always those of the threads.
 */

/**
 * Writes the labels of threads, and counts them, as parts of the statement that writes the threads. Labels that a thread has lost are
 * removed by `removeLabels`. Empty if no thread has labels, so plain threads cost nothing. `condition` is a clause about the rows `row`.
 */
export function labelsWritten(states: readonly ThreadState[], condition: SQL = sql``): SQL[] {
  const rows = states.flatMap((thread) =>
    shownLabels(thread).map((label) => ({ ...rowOf(thread), label, threadId: thread.id })),
  );
  if (rows.length === 0) return [];
  return [
    sql`label_row as materialized (
      select row.*, before.is_read as "wasRead" from ${recordSet(threadLabels, rows, labelFields)}
      left join thread_labels before on before.thread_id = row."threadId" and before.label = row.label${condition})`,
    sql`labeled as (
      insert into thread_labels (thread_id, label, inbox_id, is_read, last_seq)
      select "threadId", label, "inboxId", "isRead", "lastSeq" from label_row
      on conflict (thread_id, label) do update set is_read = excluded.is_read, last_seq = excluded.last_seq)`,
    sql`label_counted as (
      insert into label_counts as c (inbox_id, label, thread_count, unread_count)
      select "inboxId", label, count(*) filter (where "wasRead" is null),
        count(*) filter (where not "isRead") - count(*) filter (where not "wasRead") from label_row group by "inboxId", label
      on conflict (inbox_id, label) do update set thread_count = c.thread_count + excluded.thread_count,
        unread_count = c.unread_count + excluded.unread_count)`,
  ];
}

const labelFields = ["threadId", "label", "inboxId", "isRead", "lastSeq"] as const;

function rowOf({ inboxId, isRead, lastSeq }: ThreadState) {
  return { inboxId, isRead, lastSeq };
}

/** A label of a thread. */
export interface ThreadLabel {
  threadId: string;
  label: string;
}

/** Removes labels of threads of an inbox that the caller has locked. A label without a thread is gone. */
export async function removeLabels(tx: Db, inboxId: string, removed: readonly ThreadLabel[]): Promise<void> {
  if (removed.length === 0) return;
  await query(
    tx,
    sql`with gone as (
          delete from thread_labels l using ${recordsOf(removedLabels, removed)}
          where l.thread_id = row."threadId" and l.label = row.label returning l.label, l.is_read
        ),
        less as materialized (
          select label, count(*) as threads, count(*) filter (where not is_read) as unread from gone group by label
        ),
        unused as (
          delete from label_counts c using less where c.inbox_id = ${inboxId} and c.label = less.label and c.thread_count <= less.threads
        )
        update label_counts c set thread_count = c.thread_count - less.threads, unread_count = c.unread_count - less.unread
        from less where c.inbox_id = ${inboxId} and c.label = less.label and c.thread_count > less.threads`,
  );
}

const removedLabels = recordsWith({ threadId: threadLabels.threadId, label: threadLabels.label });

export interface LabelCount {
  label: string;
  threadCount: number;
  unreadCount: number;
}

const countFields = sql`c.label, c.thread_count as "threadCount", c.unread_count as "unreadCount"`;

/** Lists the labels of an inbox, by name. */
export function listLabels(db: Db, inboxId: string): Promise<LabelCount[]> {
  return query(db, sql`select ${countFields} from label_counts c where c.inbox_id = ${inboxId} order by c.label`);
}

/** Finds a label of an inbox; undefined if none of its threads outside the trash has it. */
export async function findLabel(db: Db, inboxId: string, label: string): Promise<LabelCount | undefined> {
  const [found] = await query<LabelCount>(
    db,
    sql`select ${countFields} from label_counts c where c.inbox_id = ${inboxId} and c.label = ${label}`,
  );
  return found;
}

/** Lists the labels of several inboxes. */
export function listLabelsOfInboxes(
  db: Db,
  inboxIds: readonly string[],
): Promise<{ inboxId: string; label: string }[]> {
  return query(
    db,
    sql`select inbox_id as "inboxId", label from label_counts where inbox_id = any(${arrayOf("text", inboxIds)})`,
  );
}
