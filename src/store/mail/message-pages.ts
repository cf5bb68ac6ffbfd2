import { type SQL, sql } from "drizzle-orm";
import { type Db, query, shownInstant, statement } from "../../database/db.ts";
import type { RecipientOutcome } from "../../domain/send/recipients/recipient-outcome.ts";
import { type Selected, selected } from "../columns.ts";
import { inboxes, messages } from "../schema.ts";
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
     case when m.attachment_count > 0 then (
       select json_agg(${listedAttachment} order by a.position) from attachments a where ${attachments}
     ) end as attachments, case when m.direction = 'outbound' then ${recipientsOf("m")} end as recipients`;
}

/** Converts `createdAt` in rows from the database: from the text of Postgres to the format of `ShownMessage`. Changes the rows in place. */
export function shownRows<Shown extends Pick<ShownMessage, "createdAt">>(rows: Shown[]): Shown[] {
  for (const row of rows) row.createdAt = shownInstant(row.createdAt);
  return rows;
}

const totals = selected(inboxes, "i", ["id", "messageCount", "inboundCount", "threadCount", "unreadCount"]);

/** The totals of an inbox, which its row has. */
export type InboxTotals = Selected<typeof totals>;

export async function findInboxTotals(db: Db, accountId: string, id: string): Promise<InboxTotals | undefined> {
  const [inbox] = await query<InboxTotals>(
    db,
    sql`select ${totals} from inboxes i where i.id = ${id} and i.account_id = ${accountId} and i.deleted_at is null`,
  );
  return inbox;
}

/** The numbers by which a list is paged: those among all messages of an inbox, or among those of one direction. Both have no gaps. */
export type Axis = "all" | "inbound" | "outbound";

export interface InboxPage {
  accountId: string;
  inboxId: string;
  axis: Axis;
  limit: number;
  offset: number;
  /** The number before which the page ends. If it is given, the offset is ignored. */
  before: number | undefined;
}

/**
 * Finds a page of an inbox, newest first, and the total number of its messages. It is one statement, because a second round trip to the
 * database would cost more than the work there. Undefined if the account has no such inbox.
 */
export async function findMessagesPage(
  db: Db,
  { accountId, inboxId, axis, limit, offset, before }: InboxPage,
): Promise<{ total: number; messages: ListedMessage[] } | undefined> {
  const found = before === undefined ? pageFromTop[axis] : pageBefore[axis];
  const rows = await found(db, { accountId, inboxId, limit, offset, before });
  const [first] = rows;
  return first && { total: first.total, messages: shownRows(rows.filter(({ id }) => id !== null)) };
}

const pageFromTop = pages(sql`i.total - ${sql.placeholder("offset")}::int8`);
const pageBefore = pages(sql`least(i.total, ${sql.placeholder("before")}::int8 - 1)`);

function pages(last: SQL) {
  const on = (total: string, number: string, ofAxis: string) =>
    // Only the first row has the total, because the driver takes time to read it from each row.
    statement<ListedMessage & { total: number }>(sql`
      select case when m.position is null or m.position = ${last} then i.total end as total, m.* from (
        select ${sql.raw(total)} as total from inboxes
        where id = ${sql.placeholder("inboxId")} and account_id = ${sql.placeholder("accountId")} and deleted_at is null
      ) i left join lateral (
        select ${sql.raw(number)} as position, ${listedFields} from messages m
        where m.inbox_id = ${sql.placeholder("inboxId")} ${sql.raw(ofAxis)}
          and ${sql.raw(number)} between greatest(1, ${last} - ${sql.placeholder("limit")}::int8 + 1) and ${last}
      ) m on true order by m.position desc`);
  return {
    all: on("message_count", "m.seq", ""),
    inbound: on("inbound_count", "m.direction_seq", "and m.direction = 'inbound'"),
    outbound: on("message_count - inbound_count", "m.direction_seq", "and m.direction = 'outbound'"),
  };
}

/** Lists the messages with the numbers from `first` to `last`, newest first. The cost depends only on the number of rows. */
export async function listMessagesBetween(
  db: Db,
  inboxId: string,
  axis: Axis,
  first: number,
  last: number,
): Promise<ListedMessage[]> {
  const statement =
    axis === "all"
      ? sql`select m.seq as position, ${listedFields} from messages m where m.inbox_id = ${inboxId} and m.seq between ${first} and ${last}
            order by m.seq desc`
      : sql`select m.direction_seq as position, ${listedFields} from messages m where m.inbox_id = ${inboxId} and m.direction = ${axis}
              and m.direction_seq between ${first} and ${last}
            order by m.direction_seq desc`;
  return shownRows(await query<ListedMessage>(db, statement));
}

/**
 * Finds the lowest number whose message is not older than `at`, or `count + 1` if all are older. Numbers are in the order of time, so a
 * binary search needs no index by time: it takes twenty steps among a million messages.
 */
export async function findFirstSince(db: Db, inboxId: string, axis: Axis, count: number, at: Date): Promise<number> {
  const probed =
    axis === "all"
      ? sql`m.inbox_id = ${inboxId} and m.seq = (low + high) / 2`
      : sql`m.inbox_id = ${inboxId} and m.direction = ${axis} and m.direction_seq = (low + high) / 2`;
  const [found] = await query<{ low: number }>(
    db,
    sql`with recursive halves (low, high) as (
          select 1, ${count}::int + 1
          union all
          select case when older then (low + high) / 2 + 1 else low end, case when older then high else (low + high) / 2 end
          from halves cross join lateral (select m.created_at < ${at} as older from messages m where ${probed}) probe
          where low < high
        )
        select low from halves where low >= high`,
  );
  // The search finds no number if messages of a deleted inbox are gone already. Then there is nothing to show.
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

export async function findMessage(db: Db, accountId: string, id: string): Promise<StoredMessage | undefined> {
  const rows = await query<StoredMessage>(
    db,
    sql`select m.seq as position, ${shownFields}, ${ofSource}
        from messages m join inboxes i on i.id = m.inbox_id
        where m.id = ${id} and i.account_id = ${accountId} and i.deleted_at is null`,
  );
  return shownRows(rows)[0];
}
