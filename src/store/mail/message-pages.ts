import { type SQL, sql } from "drizzle-orm";
import { type Db, query, shownInstant, statement } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { ThreadState } from "../../domain/conversation.ts";
import type { RecipientOutcome } from "../../domain/send/recipients/recipient-outcome.ts";
import { asJson, type Selected, selected } from "../columns.ts";
import { isPlacedInReach, isReached, reachPlaces } from "../reach.ts";
import { inboxes, messages, threads } from "../schema.ts";
import { recipientsOf } from "../send/recipients.ts";
import { type ListedAttachment, listedAttachment } from "./attachments.ts";
import { listedBodies } from "./bodies.ts";

const ofMessage = selected(messages, "m", [
  "id",
  "threadId",
  "inboxId",
  "direction",
  "status",
  "fromAddr",
  "fromName",
  "toAddr",
  "toAddrs",
  "cc",
  "replyTo",
  "subject",
  "rfcMessageId",
  "providerMessageId",
  "failure",
  "envelopeFrom",
  "truncated",
  "automated",
  "inReplyTo",
  "metadata",
  "forwardOf",
  "delivery",
  "authentication",
  "spam",
]);

/** A message with the fields that the API shows. */
export interface ShownMessage extends Selected<typeof ofMessage> {
  /** Its number among all messages of its inbox or, in a list of one direction, among those of that direction. */
  position: number;
  bodyText: string;
  bodyHtml: string | null;
  /** The attachments in order; null if there are none. In a list, each message has only its first `mostListedAttachments`. */
  attachments: ListedAttachment[] | null;
  /** Null for an inbound message. */
  recipients: RecipientOutcome[] | null;
  /** A text such as `2026-03-21T10:05:00.123Z`, because making Date objects took a tenth of the time for a page. */
  createdAt: string;
}

/** A listed message. It has its bodies if they are short, else only their sizes in octets. */
export type ListedMessage =
  | (ShownMessage & { longBodies: null })
  | (Omit<ShownMessage, "bodyText" | "bodyHtml"> & { longBodies: [text: number, html: number] });

const shownFields = fieldsWith(selected(messages, "m", ["bodyText", "bodyHtml"]), sql`a.message_id = m.id`);

const mostListedAttachments = 50;

/** The select list of a listed message `m`. */
export const listedFields = fieldsWith(
  listedBodies,
  sql`a.message_id = m.id and a.position < ${sql.raw(String(mostListedAttachments))}`,
);

/** The select list of a message. Attachments come as JSON: few messages have any, and a second statement for them would cost more. */
function fieldsWith(bodies: SQL, attachments: SQL): SQL {
  return sql`${ofMessage}, ${bodies}, m.created_at::text as "createdAt",
     case when m.attachment_count > 0 then array_to_json(array(
       select ${listedAttachment} from attachments a where ${attachments} order by a.position
     )) end as attachments, case when m.direction = 'outbound' then ${recipientsOf("m")} end as recipients`;
}

/** Converts `createdAt` in rows from the database: from the text of Postgres to the format of `ShownMessage`. Changes the rows in place. */
export function shownRows<Shown extends Pick<ShownMessage, "createdAt">>(rows: Shown[]): Shown[] {
  for (const row of rows) row.createdAt = shownInstant(row.createdAt);
  return rows;
}

const totals = selected(inboxes, "i", [
  "id",
  "messageCount",
  "inboundCount",
  "removedCount",
  "removedInboundCount",
  "lastRemovedSeq",
  "lastRemovedInboundSeq",
  "threadCount",
  "unreadCount",
  "archiveCount",
  "trashCount",
]);

/** The totals of an inbox, which its row has. */
export type InboxTotals = Selected<typeof totals>;

export async function findInboxTotals(db: Db, reach: Reach, id: string): Promise<InboxTotals | undefined> {
  const [inbox] = await query<InboxTotals>(
    db,
    sql`select ${totals} from inboxes i where i.id = ${id} and ${isReached(reach)}`,
  );
  return inbox;
}

/** The numbers by which a list is paged: those among all messages of an inbox, or among those of one direction. */
export type Axis = "all" | "inbound" | "outbound";

export interface InboxPage {
  reach: Reach;
  inboxId: string;
  axis: Axis;
  limit: number;
  offset: number;
  /** The number before which the page ends. If it is given, the offset is ignored. */
  before: number | undefined;
}

export interface FoundPage {
  total: number;
  messages: ListedMessage[];
}

/**
 * Finds a page of an inbox, newest first, and the total number of its messages. It is one statement, because a second round trip to the
 * database would cost more than the work there. Undefined if there is no such inbox within the reach.
 *
 * Above the last removed message no number is missing, so an offset leads to a number there. From it downwards, the messages that are left
 * are counted in the index: none if only the oldest were removed.
 */
export async function findMessagesPage(
  db: Db,
  { reach, inboxId, axis, limit, offset, before }: InboxPage,
): Promise<FoundPage | undefined> {
  const found = before === undefined && offset > 0 ? pageAtOffset[axis] : pageBefore[axis];
  const rows = await found(db, { ...reachPlaces(reach), inboxId, limit, offset, before });
  // They are in order as the only plan reads them, which SQL does not promise. A sort of whole rows took a tenth of the statement's time.
  rows.sort((one, other) => other.position - one.position);
  const [row] = rows;
  return row && { total: row.total, messages: shownRows(rows.filter(({ id }) => id !== null)) };
}

interface AxisColumns {
  /** The number of the last message. */
  last: string;
  /** How many messages were removed. */
  removed: string;
  /** The number of the last removed message. */
  passed: string;
  /** The number of a message. */
  number: string;
  ofAxis: string;
}

const axes: Record<Axis, AxisColumns> = {
  all: {
    last: "message_count",
    removed: "removed_count",
    passed: "last_removed_seq",
    number: "seq",
    ofAxis: "",
  },
  inbound: {
    last: "inbound_count",
    removed: "removed_inbound_count",
    passed: "last_removed_inbound_seq",
    number: "direction_seq",
    ofAxis: "and direction = 'inbound'",
  },
  outbound: {
    last: "message_count - inbound_count",
    removed: "removed_count - removed_inbound_count",
    passed: "last_removed_seq - last_removed_inbound_seq",
    number: "direction_seq",
    ofAxis: "and direction = 'outbound'",
  },
};

/** Their arguments are the number at which a page begins, if no number is missing there. The first page is before no number. */
const pageAtOffset = pages(sql`i.last - ${sql.placeholder("offset")}::int8`, true);
const pageBefore = pages(sql`least(i.last, (select ${sql.placeholder("before")}::int8 - 1))`);

function pages(top: SQL, isAtOffset = false) {
  const on = ({ last, removed, passed, number, ofAxis }: AxisColumns) => {
    const inList = sql`inbox_id = ${sql.placeholder("inboxId")} ${sql.raw(ofAxis)}`;
    // Without it, the last page would pass the dead entries of removed messages.
    const above = sql`case when i.removed = i.passed then i.passed else 0 end`;
    // The rows that an offset skips are counted before the page is read: in the page each of them would be read as a whole.
    const counted = sql`case when ${top} >= i.passed then ${top} else (
      select ${sql.raw(number)} from messages where ${inList} and ${sql.raw(number)} <= i.passed
      order by ${sql.raw(number)} desc limit 1 offset i.passed - (${top})) end`;
    // The limit is a subselect, because the planner would make a new plan for each value, which takes longer than the page.
    // Only the first row has the total, because the driver takes time to read it from each row. Where numbers are missing, each row has it.
    const isFirst = sql`m.position is null or m.position = ${top} or i.passed >= ${top}`;
    return statement<ListedMessage & { total: number }>(sql`
      select case when ${isFirst} then i.last - i.removed end as total, m.* from (
        select ${sql.raw(last)} as last, ${sql.raw(removed)} as removed, ${sql.raw(passed)} as passed from inboxes i
        where i.id = ${sql.placeholder("inboxId")} and ${isPlacedInReach}
      ) i left join lateral (
        select ${sql.raw(number)} as position, ${listedFields} from messages m
        where ${inList} and ${sql.raw(number)} <= ${isAtOffset ? counted : top} and ${sql.raw(number)} > ${above}
        order by ${sql.raw(number)} desc limit (select ${sql.placeholder("limit")}::int8)
      ) m on true`);
  };
  return { all: on(axes.all), inbound: on(axes.inbound), outbound: on(axes.outbound) };
}

export interface NumberRange {
  inboxId: string;
  axis: Axis;
  first: number;
  last: number;
}

/**
 * Lists the messages with numbers of a range, newest first. The cost depends only on the number of rows, those that are skipped included.
 */
export async function listMessagesInRange(
  db: Db,
  { inboxId, axis, first, last }: NumberRange,
  { limit, skip }: { limit: number; skip: number },
): Promise<ListedMessage[]> {
  const number = sql.raw(`m.${axes[axis].number}`);
  return shownRows(
    await query<ListedMessage>(
      db,
      sql`select ${number} as position, ${listedFields} from messages m
          where m.inbox_id = ${inboxId} ${sql.raw(axes[axis].ofAxis)} and ${number} between ${first} and ${last}
          order by ${number} desc limit ${limit} offset ${skip}`,
    ),
  );
}

/** Counts the messages with numbers of a range. It reads all of them in the index, so it is for ranges with few. */
export async function countMessagesInRange(db: Db, { inboxId, axis, first, last }: NumberRange): Promise<number> {
  const number = sql.raw(axes[axis].number);
  const [counted] = await query<{ count: number }>(
    db,
    sql`select count(*) as count from messages
        where inbox_id = ${inboxId} ${sql.raw(axes[axis].ofAxis)} and ${number} between ${first} and ${last}`,
  );
  return counted?.count ?? 0;
}

/**
 * Finds the lowest number that no older message has: all messages from it on are at `at` or later. It is `count + 1` if all are older.
 * Numbers are in the order of time, so a binary search needs no index by time: it takes twenty steps among a million messages. Each step
 * looks at the first message from the middle on, since numbers of removed messages are missing.
 */
export async function findFirstSince(db: Db, inboxId: string, axis: Axis, count: number, at: Date): Promise<number> {
  const number = sql.raw(axes[axis].number);
  const [found] = await query<{ low: number }>(
    db,
    sql`with recursive halves (low, high) as (
          select 1, ${count}::int + 1
          union all
          select case when older then number + 1 else low end, case when older then high else (low + high) / 2 end
          from halves left join lateral (
            select ${number} as number, created_at < ${at} as older from messages
            where inbox_id = ${inboxId} ${sql.raw(axes[axis].ofAxis)} and ${number} >= (low + high) / 2 and ${number} < high
            order by ${number} limit 1
          ) probe on true
          where low < high
        )
        select low from halves where low >= high`,
  );
  return found?.low ?? count + 1;
}

export interface ThreadPage {
  threadId: string;
  /** The number of messages in the thread. */
  total: number;
  limit: number;
  offset: number;
}

/** Lists a page of a thread, oldest first. The offset is counted from the nearer end of the thread. */
export async function listThreadMessages(db: Db, page: ThreadPage): Promise<ListedMessage[]> {
  const { threadId, total, offset } = page;
  const limit = Math.min(page.limit, total - offset);
  if (limit <= 0) return [];
  const fromEnd = total - offset - limit;
  const numbers =
    offset <= fromEnd
      ? sql`select seq from messages where thread_id = ${threadId} order by seq limit ${limit} offset ${offset}`
      : sql`select seq from messages where thread_id = ${threadId} order by seq desc limit ${limit} offset ${fromEnd}`;
  const rows = await query<ListedMessage>(
    db,
    sql`select m.seq as position, ${listedFields}
        from (${numbers}) number join messages m on m.thread_id = ${threadId} and m.seq = number.seq order by m.seq`,
  );
  return shownRows(rows);
}

/** Lists the messages of a thread with a number below `beforeSeq`, newest first. */
export async function listThreadMessagesBefore(
  db: Db,
  threadId: string,
  beforeSeq: number,
  limit: number,
): Promise<ListedMessage[]> {
  const rows = await query<ListedMessage>(
    db,
    sql`select m.seq as position, ${listedFields} from messages m where m.thread_id = ${threadId} and m.seq < ${beforeSeq}
        order by m.seq desc limit ${limit}`,
  );
  return shownRows(rows);
}

const ofSource = selected(messages, "m", ["sourceId", "sizeBytes", "referenceIds", "autoSubmitted", "headers"]);

/** A message with its raw source, and with fields that lists leave out. */
export type StoredMessage = ShownMessage & Selected<typeof ofSource>;

export async function findMessage(db: Db, reach: Reach, id: string): Promise<StoredMessage | undefined> {
  const rows = await query<StoredMessage>(
    db,
    sql`select m.seq as position, ${shownFields}, ${ofSource}
        from messages m join inboxes i on i.id = m.inbox_id
        where m.id = ${id} and ${isReached(reach)}`,
  );
  return shownRows(rows)[0];
}

/** A message for an export. An inbound one has no bodies, since its raw source has them. The first one of a thread has the thread. */
export type ExportedMessage = StoredMessage & { thread: ExportedThread | null };

export type ExportedThread = Pick<ThreadState, (typeof exportedThread)[number]>;

const exportedThread = ["id", "subject", "isRead", "folder", "labels", "metadata", "messageCount"] as const;

const exportedFields = fieldsWith(
  sql`case when m.direction = 'outbound' then m.body_text else '' end as "bodyText",
      case when m.direction = 'outbound' then m.body_html end as "bodyHtml"`,
  sql`a.message_id = m.id`,
);

/** Lists the first messages of an inbox with numbers above `afterSeq`, up to `upToSeq`, in order. `position` is their number. */
export async function listMessagesToExport(
  db: Db,
  { inboxId, afterSeq, upToSeq, limit }: { inboxId: string; afterSeq: number; upToSeq: number; limit: number },
): Promise<ExportedMessage[]> {
  const rows = await query<ExportedMessage>(
    db,
    sql`select m.seq as position, ${exportedFields}, ${ofSource},
          case when not exists (select from messages earlier where earlier.thread_id = m.thread_id and earlier.seq < m.seq)
            then (select ${asJson(threads, "t", exportedThread)} from threads t where t.id = m.thread_id)
          end as thread
        from messages m where m.inbox_id = ${inboxId} and m.seq > ${afterSeq} and m.seq <= ${upToSeq} order by m.seq limit ${limit}`,
  );
  return shownRows(rows);
}
