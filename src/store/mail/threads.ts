import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { ThreadState } from "../../domain/conversation.ts";
import { assigned, columnNames, fieldsOf, replaced, selected } from "../columns.ts";
import { recordSet } from "../rows.ts";
import { threads } from "../schema.ts";
import { labelsWritten } from "./labels.ts";

/** The fields of a thread `t` that domain/conversation.ts uses. */
export const threadFields = selected(threads, "t");

const ofMessages = [
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

/** The columns of a thread that change if a message is added. */
export const threadChanges = [...ofMessages, "folder", "trashedAt"] as const;

const plainFields = ["id", "inboxId", "subject", "createdAt", ...ofMessages] as const;
const filedFields = [...plainFields, "folder", "trashedAt", "labels"] as const;

/**
 * Makes the part of a statement that inserts threads, or updates these columns of those that exist. It updates by the key (`on conflict`),
 * because an update with a join may be planned to scan the table. A thread without labels in the inbox has the defaults of the columns that
 * plain threads do not use, so these are left out if all are plain.
 */
export function threadsWriting(changes: readonly (typeof threadChanges)[number][] = threadChanges) {
  const plain = writingOf(plainFields, changes);
  const filed = writingOf(filedFields, [...changes, "labels"]);
  return (states: readonly ThreadState[], condition: SQL): SQL => {
    const arePlain = states.every(({ folder, labels }) => folder === "inbox" && labels.length === 0);
    const { begin, fields, end } = arePlain ? plain : filed;
    return sql`${begin}${recordSet(threads, states, fields)}${condition}${end}`;
  };
}

type FieldOfThread = (typeof filedFields)[number];

/** The texts around the rows. They are made once, because making the lists of columns took 8 µs of a mail. */
function writingOf(fields: readonly FieldOfThread[], changes: readonly FieldOfThread[]) {
  const begin = sql`insert into threads (${columnNames(threads, fields)}) select ${fieldsOf("row", fields)} from `;
  return { begin, fields, end: sql` on conflict (id) do update set ${replaced(threads, changes)}` };
}

const markedFields = [...threadChanges, "subject", "createdAt", "labels", "metadata"] as const;
const threadAssigned = assigned(threads, markedFields);

/** Writes changed threads, with their labels. The caller has locked their inboxes. */
export async function markThreads(tx: Db, states: readonly ThreadState[]): Promise<void> {
  if (states.length === 0) return;
  const parts = [
    sql`thread as (update threads set ${threadAssigned}
      from ${recordSet(threads, states, ["id", ...markedFields])} where threads.id = row.id)`,
    ...labelsWritten(states),
  ];
  await query(tx, sql`with ${sql.join(parts, sql`, `)} select`);
}

/** Lists those of these threads that are in the inbox. */
export function listThreadsOfInbox(tx: Db, inboxId: string, ids: readonly string[]): Promise<ThreadState[]> {
  return query(
    tx,
    sql`select ${threadFields} from threads t where t.id = any(${arrayOf("text", ids)}) and t.inbox_id = ${inboxId}`,
  );
}
