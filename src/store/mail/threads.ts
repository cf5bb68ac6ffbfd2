import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { ThreadState } from "../../domain/conversation.ts";
import { assigned, selected } from "../columns.ts";
import { recordSet } from "../rows.ts";
import { threads } from "../schema.ts";

/** The fields of a thread `t` that domain/conversation.ts uses. */
export const threadFields = selected(threads, "t");

/** The columns of a thread that change if a message is added, or if the thread is marked as read or unread. */
export const threadChanges = [
  "isRead",
  "messageCount",
  "lastMessageAt",
  "lastMessageId",
  "lastSeq",
  "lastInboundSeq",
  "people",
  "preview",
  "hasAttachments",
] as const;

const threadAssigned = assigned(threads, threadChanges);

/** Writes changed threads. The caller has locked their inboxes. */
export async function markThreads(tx: Db, states: readonly ThreadState[]): Promise<void> {
  if (states.length === 0) return;
  await query(
    tx,
    sql`update threads set ${threadAssigned}
        from ${recordSet(threads, states, ["id", ...threadChanges])} where threads.id = row.id`,
  );
}

export async function findThreadState(tx: Db, inboxId: string, id: string): Promise<ThreadState | undefined> {
  const [thread] = await query<ThreadState>(
    tx,
    sql`select ${threadFields} from threads t where t.id = ${id} and t.inbox_id = ${inboxId}`,
  );
  return thread;
}
