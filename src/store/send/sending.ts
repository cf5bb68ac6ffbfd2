import { getTableColumns, type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { AcceptedSends } from "../../domain/send/accepted-sends.ts";
import { sendTotals } from "../account/inbox-totals.ts";
import { assigned, columnNames, fieldsOf, replaced } from "../columns.ts";
import { threadChanges } from "../mail/threads.ts";
import { insertion, recordSet, recordsOf, recordsWith } from "../rows.ts";
import { coldSends, idempotencyKeys, inboxes, messages, outbox, recipients, threads } from "../schema.ts";
import { filesWriting } from "./attached.ts";
import { useFields } from "./idempotency.ts";

/**
 * Writes what was decided, in one statement that needs no transaction around it: for each inbox all or nothing, and nothing
 * where the inbox is not as it was when the facts were read, or somebody has it locked. Answers whose sends are written. A key
 * that is in use after all fails the statement (`meetsUsedKey`).
 *
 * A thread that is there already is met by its key, since an update that joins may be planned, while the tables are still
 * small, to read them whole.
 */
export async function insertSends(db: Db, sends: AcceptedSends): Promise<Set<string>> {
  const cold =
    sends.coldSends.length === 0
      ? sql``
      : sql`cold as (${insertion(coldSends, sends.coldSends, whereWritten)}
          on conflict (inbox_id, recipient, sent_on) do update set count = cold_sends.count + excluded.count),`;
  const files = filesWriting(sends.files);
  const rows = await query<{ id: string }>(
    db,
    sql`with asked as materialized (select * from ${recordSet(inboxes, sends.senders, ["id", "revision", ...sendTotals])}),
        unchanged as materialized (select i.id from inboxes i join asked on i.id = asked.id
          where i.revision = asked.revision and i.deleted_at is null for update of i skip locked),
        ${files.held}
        sender as (update inboxes set ${totalsAssigned}, revision = row.revision + 1
          from asked row where inboxes.id = row.id and row.id in (select id from unchanged)${files.areHeld} returning inboxes.id),
        used as (${keyInto} from ${recordsOf(sendKeyUses, sends.keyUses)} ${whereWritten}),
        thread as (${insertion(threads, sends.threads, threadChanged)}),
        message as (${messagesInserted(sends.messages)} ${whereWritten}),
        ${cold}
        ${recipientsInserted(sends.recipients)}
        ${files.written}
        outboxed as (${itemsInserted(sends.outboxItems)} ${whereWritten})
        select id from sender`,
  );
  return new Set(rows.map(({ id }) => id));
}

/** Waits for the inboxes, at most so long, and holds them to the end of the transaction. */
export async function lockSenders(tx: Db, ids: readonly string[], timeoutMs: number): Promise<void> {
  await query(tx, sql`select set_config('lock_timeout', ${String(timeoutMs)}, true)`);
  await query(tx, sql`select from inboxes where id = any(${arrayOf("text", ids)}) order by id for update`);
}

/** With the inbox that used them. */
const sendKeyUses = recordsWith({ ...getTableColumns(idempotencyKeys), inboxId: messages.inboxId });
const outboxFields = ["subjectId", "accountId", "inboxId", "lane", "dueAt", "createdAt"] as const;
const messageFields = [
  ...(["id", "inboxId", "threadId", "seq", "directionSeq", "createdAt", "rfcMessageId", "messageIdHash"] as const),
  ...(["fromAddr", "toAddr", "replyTo", "subject", "bodyText", "bodyHtml", "inReplyTo", "referenceIds"] as const),
  "autoSubmitted" as const,
];

const totalsAssigned = assigned(inboxes, sendTotals);
const keyInto = sql`insert into idempotency_keys (${columnNames(idempotencyKeys, useFields)}) select ${fieldsOf("row", useFields)}`;
const messageInto = sql`insert into messages (${columnNames(messages, messageFields)}, direction, status, cc, attachment_count)
  select ${fieldsOf("row", messageFields)}, 'outbound', 'pending', '{}', 0`;
const outboxInto = sql`insert into outbox (${columnNames(outbox, outboxFields)}, kind) select ${fieldsOf("row", outboxFields)}, `;

/** What plain mail has none of is not asked for where all of it is plain: a busy service writes some thousand rows a second. */
function messagesInserted(rows: AcceptedSends["messages"]): SQL {
  if (rows.every(({ more }) => more === undefined)) {
    return sql`${messageInto} from ${recordSet(messages, rows, messageFields)}`;
  }
  const whole = rows.map(({ more, ...message }) => ({
    recipientCount: 1,
    attachmentCount: 0,
    cc: [],
    ...message,
    ...more,
  }));
  return sql`${wholeMessageInto} from ${recordSet(messages, whole, wholeMessageFields)}`;
}

const moreFields = [
  "fromName",
  "toAddrs",
  "cc",
  "recipientCount",
  "metadata",
  "headers",
  "attachmentCount",
  "forwardOf",
] as const;
const wholeMessageFields = [...messageFields, ...moreFields];
const wholeMessageInto = sql`insert into messages (${columnNames(messages, wholeMessageFields)}, direction, status)
  select ${fieldsOf("row", wholeMessageFields)}, 'outbound', 'pending'`;

function itemsInserted(items: AcceptedSends["outboxItems"]): SQL {
  if (items.every(({ kind }) => kind === undefined)) {
    return sql`${outboxInto}'relay' from ${recordSet(outbox, items, outboxFields)}`;
  }
  return sql`${outboxInto}coalesce(row.kind, 'relay') from ${recordSet(outbox, items, [...outboxFields, "kind"])}`;
}

/** With the inbox whose send it is. */
const newRecipients = recordsWith({ ...getTableColumns(recipients), inboxId: messages.inboxId });
const recipientFields = [
  "messageId",
  "position",
  "address",
  "name",
  "type",
  "destination",
  "status",
  "failure",
] as const;
const recipientInto = sql`insert into recipients (${columnNames(recipients, recipientFields)}) select ${fieldsOf("row", recipientFields)}`;

function recipientsInserted(rows: AcceptedSends["recipients"]): SQL {
  if (rows.length === 0) return sql``;
  return sql`recipient as (${recipientInto} from ${recordsOf(newRecipients, rows)} ${whereWritten}),`;
}

const whereWritten = sql` where row."inboxId" in (select id from sender)`;

/** Nothing that was sent changes the number of the last mail that came in. */
const sendChanges = threadChanges.filter((field) => field !== "lastInboundSeq");
const threadChanged = sql`${whereWritten} on conflict (id) do update set ${replaced(threads, sendChanges)}`;
