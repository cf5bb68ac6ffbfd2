import { getTableColumns, type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { AcceptedSends, OutboundMessage } from "../../domain/send/accepted-sends.ts";
import { sendTotals } from "../account/inbox-totals.ts";
import { assigned, columnNames, fieldsOf } from "../columns.ts";
import { eventsAndDeliveries, newEvents } from "../events/fan-out.ts";
import { labelsWritten } from "../mail/labels.ts";
import { blocksWritten } from "../mail/thread-blocks.ts";
import { threadChanges, threadsWriting } from "../mail/threads.ts";
import { insertion, recordSet, recordsOf, recordsWith } from "../rows.ts";
import { approvedRecipients, coldSends, idempotencyKeys, inboxes, messages, outbox, recipients } from "../schema.ts";
import { filesWriting } from "./attached.ts";
import { draftsWriting } from "./drafts.ts";
import { useFields } from "./idempotency.ts";

/**
 * Writes accepted sends in one statement, so it needs no transaction. For each inbox it writes all or nothing: nothing if the inbox
 * has changed since the facts were read, or if another transaction has locked it. Returns the inboxes whose sends are written. A key
 * that is already in use fails the statement (`meetsUsedKey`).
 */
export async function insertSends(db: Db, sends: AcceptedSends): Promise<Set<string>> {
  const cold =
    sends.coldSends.length === 0
      ? sql``
      : sql`cold as (${insertion(coldSends, sends.coldSends, whereWritten)}
          on conflict (inbox_id, recipient, sent_on) do update set count = cold_sends.count + excluded.count),`;
  const approved =
    sends.approvedRecipients.length === 0
      ? sql``
      : sql`approved as (${insertion(approvedRecipients, sends.approvedRecipients, whereWritten)} on conflict do nothing),`;
  const ofThreads = [...labelsWritten(sends.threads, whereWritten), ...blocksWritten(sends.threadBlocks, whereWritten)];
  const files = filesWriting(sends.files);
  // A draft without a thread that changes is the only reason for a batch without threads.
  const thread = sends.threads.length === 0 ? sql`` : sql`thread as (${threadsWritten(sends.threads, whereWritten)}),`;
  const ofDrafts = draftsWriting(sends);
  const events =
    sends.events.length === 0 ? sql`` : sql`${newEvents(sends.events, whereWritten)}, ${eventsAndDeliveries},`;
  const rows = await query<{ id: string }>(
    db,
    sql`with asked as materialized (select * from ${recordSet(inboxes, sends.senders, ["id", "revision", ...sendTotals])}),
        unchanged as materialized (select i.id from inboxes i join asked on i.id = asked.id
          where i.revision = asked.revision and i.deleted_at is null for update of i skip locked),
        ${files.held}
        sender as (update inboxes set ${totalsAssigned}, revision = row.revision + 1
          from asked row where inboxes.id = row.id and row.id in (select id from unchanged)${files.areHeld} returning inboxes.id),
        used as (${keyInto} from ${recordsOf(sendKeyUses, sends.keyUses)} ${whereWritten}),
        ${thread}
        ${sql.join(ofThreads.map((part) => sql`${part},`))}
        message as (${messagesInserted(sends.messages)} ${whereWritten}),
        recipient as (${recipientInto} from ${recordsOf(newRecipients, sends.recipients)} ${whereWritten}),
        ${cold}
        ${approved}
        ${files.written}
        ${ofDrafts}
        ${events}
        outboxed as (${outboxInto} from ${recordSet(outbox, sends.outboxItems, outboxFields)} ${whereWritten})
        select id from sender`,
  );
  return new Set(rows.map(({ id }) => id));
}

/** Locks inboxes until the end of the transaction. Waits at most `timeoutMs` for each of them. */
export async function lockSenders(tx: Db, ids: readonly string[], timeoutMs: number): Promise<void> {
  await query(tx, sql`select set_config('lock_timeout', ${String(timeoutMs)}, true)`);
  await query(tx, sql`select from inboxes where id = any(${arrayOf("text", ids)}) order by id for update`);
}

/** The uses of keys, with the inbox of each. */
const sendKeyUses = recordsWith({ ...getTableColumns(idempotencyKeys), inboxId: messages.inboxId });
const outboxFields = ["subjectId", "accountId", "inboxId", "lane", "dueAt", "createdAt"] as const;
const messageFields = [
  "id",
  "inboxId",
  "threadId",
  "seq",
  "directionSeq",
  "createdAt",
  "rfcMessageId",
  "messageIdHash",
  "fromAddr",
  "toAddr",
  "replyTo",
  "subject",
  "bodyText",
  "bodyHtml",
  "sizeBytes",
  "inReplyTo",
  "referenceIds",
  "autoSubmitted",
  "sentBy",
] as const;

const totalsAssigned = assigned(inboxes, sendTotals);
const keyInto = sql`insert into idempotency_keys (${columnNames(idempotencyKeys, useFields)}) select ${fieldsOf("row", useFields)}`;
const messageInto = sql`insert into messages (${columnNames(messages, messageFields)}, direction, status, to_addrs, cc, attachment_count)
  select ${fieldsOf("row", messageFields)}, 'outbound', 'pending', array[row."toAddr"], '{}', 0`;
const outboxInto = sql`insert into outbox (${columnNames(outbox, outboxFields)}, kind) select ${fieldsOf("row", outboxFields)}, 'relay'`;

/** Inserts messages. If all are plain mail, the columns that plain mail does not use are left out, since that makes the insert faster. */
function messagesInserted(rows: AcceptedSends["messages"]): SQL {
  return rows.every(isPlain)
    ? sql`${messageInto} from ${recordSet(messages, rows, messageFields)}`
    : sql`${wholeMessageInto} from ${recordSet(messages, rows, wholeMessageFields)}`;
}

function isPlain(message: OutboundMessage): boolean {
  const { fromName, toAddr, toAddrs, cc, attachmentCount, headers, metadata, forwardOf } = message;
  return (
    [fromName, headers, metadata, forwardOf].every((value) => value === undefined) &&
    toAddrs.length === 1 &&
    toAddrs[0] === toAddr &&
    cc.length === 0 &&
    attachmentCount === 0
  );
}

const wholeMessageFields = [
  ...messageFields,
  ...(["fromName", "toAddrs", "cc", "attachmentCount", "headers", "metadata", "forwardOf"] as const),
];
const wholeMessageInto = sql`insert into messages (${columnNames(messages, wholeMessageFields)}, direction, status)
  select ${fieldsOf("row", wholeMessageFields)}, 'outbound', 'pending'`;

/** The recipients, with the inbox of each. */
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

const whereWritten = sql` where row."inboxId" in (select id from sender)`;

/** A send changes all columns of a thread but the number of the last inbound mail. */
const threadsWritten = threadsWriting(threadChanges.filter((field) => field !== "lastInboundSeq"));
