import { type SQL, sql } from "drizzle-orm";
import { type Db, query, transaction } from "../../database/db.ts";
import type { Folder } from "../../domain/folders.ts";
import { type BlockChange, type ThreadCounts, threadBlock } from "../../domain/thread-blocks.ts";
import { recordSet } from "../rows.ts";
import { threadBlocks } from "../schema.ts";
import { runsOf, type ThreadList } from "./thread-pages.ts";

/*
 * The counts of the threads of blocks (`threadBlock`). A block is counted when a page at a high offset first needs it, and once it is full:
 * no message gets a number in it any more. From then on, each statement that changes a thread changes its counts, behind the lock or the
 * revision of the inbox. The counted blocks of an inbox have no gaps.
 */

const changeFields = ["inboxId", "block", "unread", "read", "archived", "trashed"] as const;

/** Changes the counts, as a part of a statement. Empty without changes. `condition` is a clause about the rows `row`. */
export function blocksWritten(changes: readonly BlockChange[], condition: SQL = sql``): SQL[] {
  if (changes.length === 0) return [];
  return [
    sql`block as (
      update thread_blocks b set unread = b.unread + c.unread, read = b.read + c.read, archived = b.archived + c.archived,
        trashed = b.trashed + c.trashed
      from (select row.* from ${recordSet(threadBlocks, changes, changeFields)}${condition}) c
      where b.inbox_id = c."inboxId" and b.block = c.block)`,
  ];
}

/** Changes the counts of an inbox that the caller has locked. */
export async function changeBlocks(tx: Db, changes: readonly BlockChange[]): Promise<void> {
  if (changes.length > 0) await query(tx, sql`with ${sql.join(blocksWritten(changes), sql`, `)} select`);
}

/**
 * Finds the number below which a list of `total` threads goes on at an offset. Undefined if the offset is above all counted blocks. The
 * statement finds the block, and passes over the threads of the list in it.
 */
export async function findBeforeOffset(
  db: Db,
  list: ThreadList,
  { total, offset }: { total: number; offset: number },
): Promise<number | undefined> {
  const counts = sql.raw(countsOf(list).join(" + "));
  const runs = runsOf({ ...list, before: sql`(select before from place)` }).map(
    (run) =>
      sql`(select last_seq from threads run where ${run} order by last_seq desc limit (select skip + 1 from place))`,
  );
  const [found] = await query<{ before: number }>(
    db,
    sql`with place as materialized (
          select (block + 1) * ${threadBlock}::int4 as before, ${offset}::int8 - above as skip from (
            select block, ${total}::int8 - sum(${counts}) over (order by block rows unbounded preceding) as above from thread_blocks
            where inbox_id = ${list.inboxId}
          ) b where above <= ${offset} order by block limit 1
        )
        select last_seq + 1 as before from (${sql.join(runs, sql` union all `)}) run
        order by last_seq desc limit 1 offset (select skip from place)`,
  );
  return found?.before;
}

/** The columns that count the threads of a list. */
function countsOf({ folders, isRead }: ThreadList): (keyof ThreadCounts)[] {
  const counts: (keyof ThreadCounts)[] = [];
  if (folders.includes("inbox") && isRead !== true) counts.push("unread");
  if (folders.includes("inbox") && isRead !== false) counts.push("read");
  if (folders.includes("archive") && isRead !== false) counts.push("archived");
  if (folders.includes("trash") && isRead !== false) counts.push("trashed");
  return counts;
}

/** The most blocks that are counted at once, because their inbox is locked meanwhile. Counting so many takes 10 to 30 ms. */
const countedAtOnce = 64;

/**
 * Counts the next full blocks of an inbox. Returns whether there may be more. The revision is raised first, so that no mail that was filed
 * before is written without changing the new counts. An inbox that is locked is left as it is.
 */
export async function insertThreadBlocks(db: Db, inboxId: string): Promise<boolean> {
  const isDue = sql`(message_count + 1) / ${threadBlock}::int4 > (
    select coalesce(max(block) + 1, 0) from thread_blocks where inbox_id = ${inboxId})`;
  const due = await query(db, sql`select id from inboxes where id = ${inboxId} and ${isDue}`);
  if (due.length === 0) return false;
  return transaction(db, async (tx) => {
    const [inbox] = await query<{ full: number }>(
      tx,
      sql`update inboxes set revision = revision + 1
          where id in (select id from inboxes where id = ${inboxId} and deleted_at is null for update skip locked)
          returning (message_count + 1) / ${threadBlock}::int4 as full`,
    );
    const ofBlock = (folder: Folder, isRead: boolean) => sql`(select count(*) from threads t
      where t.inbox_id = ${inboxId} and t.folder = ${sql.raw(`'${folder}'`)} and t.is_read = ${sql.raw(String(isRead))}
        and t.last_seq >= block * ${threadBlock}::int4 and t.last_seq < (block + 1) * ${threadBlock}::int4)`;
    const counted = await query(
      tx,
      sql`with next as materialized (select coalesce(max(block) + 1, 0) as first from thread_blocks where inbox_id = ${inboxId})
          insert into thread_blocks (inbox_id, block, unread, read, archived, trashed)
          select ${inboxId}, block, ${ofBlock("inbox", false)}, ${ofBlock("inbox", true)}, ${ofBlock("archive", true)},
            ${ofBlock("trash", true)}
          from next, generate_series(first, least(${inbox?.full ?? 0}::int4, first + ${countedAtOnce}::int4) - 1) block returning block`,
    );
    return counted.length === countedAtOnce;
  });
}
