import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { KeyUse } from "../../domain/idempotency.ts";
import type { Window } from "../../domain/limits.ts";
import { mostRecentMessages, type RecentMessage } from "../../domain/send/loop.ts";
import type { SentMessage } from "../../domain/send/send.ts";
import type {
  AnsweredById,
  AskedReply,
  KnownRecipient,
  NumberedMessage,
  Owner,
  PartiesInThread,
  RecipientOfInbox,
  RepliedMessage,
  Sender,
  SendFact,
  ThreadMessageId,
  ThreadOfSend,
} from "../../domain/send/send-facts.ts";
import { domainOfInbox } from "../account/domains.ts";
import { totalsOf } from "../account/inbox-totals.ts";
import { asJson, selected } from "../columns.ts";
import { threadFields } from "../mail/threads.ts";
import { messages } from "../schema.ts";
import { recipientsOf } from "./recipients.ts";
import { type SuppressedRow, suppressedOf, suppressionOfAsked } from "./suppressions.ts";

export interface AskedFact {
  accountId: string;
  operation: KeyUse["operation"];
  key: string;
  inboxId: string;
  /** The address of the only recipient. Null if there are several, if it is at our own domain, or if cold recipients are not limited. */
  recipient: string | null;
  /** The recipient in the form that suppressions have; null if the request does not name exactly one. */
  address: string | null;
  /** Counts at most this many sends in the window, because more would change nothing. */
  windowUpTo: number;
}

/**
 * Reads the facts of a batch in one statement, so that they are of one instant, in the order of `asked`. Each look-up is lateral and
 * reads one row, so that it uses the index even with a plan that was made while the tables were empty.
 */
export async function listSendFacts(
  db: Db,
  asked: readonly AskedFact[],
  { window, day, at }: { window: Window; day: string; at: Date },
): Promise<SendFact[]> {
  const windows = new Map(asked.map(({ inboxId, windowUpTo }) => [inboxId, windowUpTo]));
  const texts = (of: (each: AskedFact) => string | null) => arrayOf("text", asked.map(of));
  const rows = await query<FactRow>(
    db,
    sql`with sender as materialized (
          select i.*, used.*, ${domainOfInbox} as domain, account.*
          from unnest(${arrayOf("text", [...windows.keys()])}, ${arrayOf("int4", [...windows.values()])}) as asked (inbox_id, up_to)
          cross join lateral (select * from inboxes where id = asked.inbox_id and deleted_at is null limit 1) i
          cross join lateral (select storage_bytes as account_storage_bytes, send_policy as account_send_policy
            from accounts where id = i.account_id limit 1) account
          cross join lateral (select count(*) as in_window, min(created_at) as oldest from (
            select created_at from messages where inbox_id = asked.inbox_id and direction = 'outbound'
              and created_at > ${window.after} and created_at <= ${window.upTo}
              order by created_at desc limit asked.up_to) newest) used
        )
        select ${senderFields}, sender.revision, sender.domain, sender.account_storage_bytes as "accountStorageBytes",
          sender.external_id as "externalId", sender.display_name as "displayName", sender.aliases, sender.disabled, sender.send_policy as "sendPolicy", sender.account_send_policy as "accountSendPolicy",
          sender.rejected_at as "rejectedAt", sender.in_window as "inWindow", sender.oldest as "oldestInWindowAt",
          used.fingerprint, used.subject_id as "subjectId", used.created_at as "usedAt",
          case when asked.recipient is not null then exists (select from correspondents c
            where c.inbox_id = asked.inbox_id and c.address = asked.recipient) end as "isKnown",
          (select count from cold_sends s where s.inbox_id = asked.inbox_id and s.recipient = asked.recipient
            and s.sent_on = greatest(${day}::date, sender.sent_on)) as "sentToday",
          ${suppressionOfAsked(at)} as suppressed
        from unnest(${texts((each) => each.accountId)}, ${texts((each) => each.key)}, ${texts((each) => each.inboxId)},
          ${texts((each) => each.recipient)}, ${texts((each) => each.address)}, ${texts((each) => each.operation)})
          with ordinality as asked (account_id, key, inbox_id, recipient, address, operation, number)
        left join sender on sender.id = asked.inbox_id
        left join lateral (select fingerprint, subject_id, created_at from idempotency_keys
          where account_id = asked.account_id and operation = asked.operation and key = asked.key limit 1) used on true
        order by asked.number`,
  );
  return rows.map((row, index) => factOf(row, asked[index]));
}

const senderFields = totalsOf("sender");

interface FactRow extends Nullable<Sender> {
  fingerprint: string | null;
  subjectId: string | null;
  usedAt: Date | null;
  isKnown: boolean | null;
  sentToday: number | null;
  suppressed: SuppressedRow | null;
}

type Nullable<Row> = { [Name in keyof Row]: Row[Name] | null };

function factOf(row: FactRow, asked: AskedFact | undefined): SendFact {
  const { fingerprint, subjectId, usedAt, isKnown, sentToday, suppressed, ...sender } = row;
  return {
    // The outer join fills all columns of the sender or none, so a test of the id is enough.
    sender: sender.id === null ? undefined : (sender as unknown as Sender),
    use:
      fingerprint === null || subjectId === null || usedAt === null || asked === undefined
        ? undefined
        : { ...asked, fingerprint, subjectId, createdAt: usedAt },
    recipient: isKnown === null ? undefined : { isKnown, sentToday: sentToday ?? 0 },
    suppressed: suppressedOf(suppressed === null ? null : [suppressed]),
  };
}

/**
 * Counts the sends of inboxes that were accepted in the window, but whose messages have a time after it. A message always gets a later time
 * than the last one of its inbox, which is in the future if a clock was set back. The idempotency keys have the true times; that of a
 * scheduled send has the time of its dispatch.
 */
export async function listSendsDatedLater(
  db: Db,
  inboxIds: readonly string[],
  window: Window,
): Promise<{ inboxId: string; count: number; oldestAt: Date }[]> {
  if (inboxIds.length === 0) return [];
  return query<{ inboxId: string; count: number; oldestAt: Date }>(
    db,
    sql`select m.inbox_id as "inboxId", count(*) as count, min(k.created_at) as "oldestAt"
        from messages m join idempotency_keys k on k.operation = ${sendOrDispatch} and k.subject_id = m.id
        where m.inbox_id = any(${arrayOf("text", inboxIds)}) and m.direction = 'outbound' and m.created_at > ${window.upTo}
          and k.created_at > ${window.after} and k.created_at <= ${window.upTo}
        group by m.inbox_id`,
  );
}

const sendOrDispatch = sql.raw(
  "case when exists (select from drafts d where d.id = m.id and d.accepted_at is not null) then 'dispatch' else 'send' end",
);

/** The fields to read of answered messages: a reply without a quote needs no bodies, and a reply in plain text needs no HTML. */
export interface WantedOfReplied {
  text: boolean;
  html: boolean;
  /** The Message-IDs that a relay gave them. */
  wireNames: boolean;
}

/**
 * Lists for each reply the message that it answers and quotes: the last message of the thread that did not fail, or the last one up to the
 * message that the caller has seen. Bodies are cut to the length that a quote uses (mail/html/quote-html.ts).
 */
export async function listRepliedMessages(
  tx: Db,
  asked: readonly AskedReply[],
  wanted: WantedOfReplied,
): Promise<RepliedMessage[]> {
  if (asked.length === 0) return [];
  return query<RepliedMessage>(
    tx,
    sql`select ${repliedFields}, ${repliedMessage},
          case when ${wanted.text}::boolean then left(m.body_text, ${mostQuotedCharacters}::int) else '' end as "bodyText",
          case when ${wanted.html}::boolean then left(m.body_html, ${mostQuotedCharacters}::int) end as "bodyHtml",
          case when ${wanted.wireNames}::boolean then ${wireName} end as "wireName"
        from ${repliesOf(asked)}
        cross join lateral (select * from messages where thread_id = asked.thread_id and seq <= asked.last_seq
          and status <> 'failed' order by seq desc limit 1) m`,
  );
}

const repliedMessage = selected(messages, "m", [
  "id",
  "seq",
  "fromAddr",
  "fromName",
  "createdAt",
  "rfcMessageId",
  "direction",
  "toAddr",
  "toAddrs",
  "cc",
  "replyTo",
  "replyTos",
  "envelopeFrom",
]);

/** Lists the messages with these ids, which requests answer. */
export async function listAnsweredMessages(db: Db, ids: readonly string[]): Promise<AnsweredById[]> {
  if (ids.length === 0) return [];
  return query<AnsweredById>(
    db,
    sql`select ${answeredById}, ${repliedMessage}, left(m.body_text, ${mostQuotedCharacters}::int) as "bodyText",
          left(m.body_html, ${mostQuotedCharacters}::int) as "bodyHtml"
        from messages m where m.id = any(${arrayOf("text", ids)})`,
  );
}

/**
 * Lists the addresses in the last messages of each thread, the newest message first. It leaves out failed messages. Bcc addresses come from
 * the table `recipients`, because `messages` does not have them.
 */
export async function listPartiesInThreads(db: Db, threadIds: readonly string[]): Promise<PartiesInThread[]> {
  return query<PartiesInThread>(
    db,
    sql`select ${partiesInThread}, case when m.direction = 'outbound' then (select array_agg(r.address) from recipients r
            where r.message_id = m.id and r.type = 'bcc') end as bcc
        from unnest(${arrayOf("text", threadIds)}) as asked (thread_id)
        cross join lateral (select * from messages where thread_id = asked.thread_id and status <> 'failed'
          order by seq desc limit ${mostPartiesRead}::int) m
        order by m.thread_id, m.seq desc`,
  );
}

/** The number of last messages of a thread to read. A reply quotes nothing if none of its recipients sent or received one of these. */
const mostPartiesRead = 1000;

const partiesInThread = selected(messages, "m", [
  "id",
  "seq",
  "threadId",
  "fromAddr",
  "toAddr",
  "toAddrs",
  "cc",
  "replyTo",
]);

const answeredById = selected(messages, "m", ["inboxId", "threadId"]);

/** Reads the facts about the recipients of sends that name several. For a send to one recipient, `listSendFacts` reads them. */
export async function listRecipientsOfSends(
  db: Db,
  asked: readonly { inboxId: string; address: string }[],
  day: string,
): Promise<RecipientOfInbox[]> {
  if (asked.length === 0) return [];
  const inboxIds = asked.map(({ inboxId }) => inboxId);
  const addresses = asked.map(({ address }) => address);
  return query<RecipientOfInbox>(
    db,
    sql`select asked.inbox_id as "inboxId", asked.recipient as address,
          exists (select from correspondents c
            where c.inbox_id = asked.inbox_id and c.address = asked.recipient) as "isKnown",
          coalesce((select count from cold_sends s where s.inbox_id = asked.inbox_id and s.recipient = asked.recipient
            and s.sent_on = greatest(${day}::date, sender.sent_on)), 0) as "sentToday"
        from unnest(${arrayOf("text", inboxIds)}, ${arrayOf("text", addresses)}) as asked (inbox_id, recipient)
        cross join lateral (select sent_on from inboxes where id = asked.inbox_id limit 1) sender`,
  );
}

/** A recipient of a send whose policy depends on who is known. */
export interface AskedRecipient extends KnownRecipient {
  /** The username that an inbox with this address has; null if no inbox can have it. */
  username: string | null;
  /** Whether the key reaches only a part of the account, so that only inboxes of the same tenant are known to it. */
  isBound: boolean;
}

/**
 * Lists those of these recipients that are known to an inbox (contract §5.3): its correspondents, those who were sent an approved mail, and
 * inboxes of the same account, or of the same tenant for a key that reaches only a part of the account.
 */
export async function listKnownRecipients(db: Db, asked: readonly AskedRecipient[]): Promise<KnownRecipient[]> {
  if (asked.length === 0) return [];
  const texts = (of: (each: AskedRecipient) => string | null) => arrayOf("text", asked.map(of));
  return query<KnownRecipient>(
    db,
    sql`select asked.inbox_id as "inboxId", asked.recipient as address
        from unnest(${texts((each) => each.inboxId)}, ${texts((each) => each.address)}, ${texts((each) => each.username)},
          ${arrayOf(
            "bool",
            asked.map(({ isBound }) => isBound),
          )}) as asked (inbox_id, recipient, username, is_bound)
        cross join lateral (select * from inboxes where id = asked.inbox_id limit 1) sender
        where exists (select from correspondents c where c.inbox_id = asked.inbox_id and c.address = asked.recipient)
          or exists (select from approved_recipients c where c.inbox_id = asked.inbox_id and c.address = asked.recipient)
          or exists (select from addresses a join inboxes i on i.id = a.inbox_id where a.username = asked.username
            and a.held_until is null and i.deleted_at is null and i.account_id = sender.account_id
            and (not asked.is_bound or i.id = sender.id or i.external_id = sender.external_id))`,
  );
}

/** The Message-ID that a relay gave to a mail; the first by bytes if it gave several. A name without @ is the relay's own id instead. */
const wireName = sql.raw(
  `(select name from message_names where message_id = m.id and strpos(name, '@') > 0 order by name collate "C" limit 1)`,
);

const mostQuotedCharacters = 512 * 1024 + 1;

/** Lists the first and the last hundred Message-IDs of each thread, oldest first, but none after the message that the caller has seen. */
export async function listThreadMessageIds(
  tx: Db,
  asked: readonly AskedReply[],
  wantsWireNames: boolean,
): Promise<ThreadMessageId[]> {
  if (asked.length === 0) return [];
  return query<ThreadMessageId>(
    tx,
    sql`select ${repliedFields}, m.seq, m.rfc_message_id as "rfcMessageId", m.ancestors,
          case when ${wantsWireNames}::boolean then ${wireName} end as "wireName"
        from ${repliesOf(asked)}
        cross join lateral (
          (select id, seq, rfc_message_id, ${ancestors} from messages where thread_id = asked.thread_id and seq <= asked.last_seq
            order by seq limit 1)
          union (select id, seq, rfc_message_id, ${ancestors} from messages where thread_id = asked.thread_id and seq <= asked.last_seq
            order by seq desc limit 100)) m
        order by asked.thread_id, m.seq`,
  );
}

/** The Message-IDs that a received message named. They are stored only for the message that began its thread. */
const ancestors = sql.raw("case when direction = 'inbound' then reference_ids end as ancestors");

const repliedFields = sql.raw('asked.thread_id as "threadId", asked.up_to as "upToMessageId"');

/**
 * The set `asked`: each reply with `last_seq`, the number of the last message that the caller has seen. It is null if that message does not
 * exist. Such a send is refused later.
 */
function repliesOf(asked: readonly AskedReply[]): SQL {
  const threadIds = asked.map(({ threadId }) => threadId);
  const seen = asked.map(({ upToMessageId }) => upToMessageId);
  return sql`(select thread_id, up_to,
      case when up_to is null then ${highestSeq}::int else (select seq from messages where id = up_to) end as last_seq
    from unnest(${arrayOf("text", threadIds)}, ${arrayOf("text", seen)}) as given (thread_id, up_to)) asked`;
}

/** The highest possible number of a message. */
const highestSeq = 2 ** 31 - 1;

/** Lists threads, with their last messages if wanted. Both stay valid until the revision of the inbox changes. */
export async function listThreadsOfSends(
  tx: Db,
  ids: readonly string[],
  wantsRecent: boolean,
): Promise<ThreadOfSend[]> {
  if (ids.length === 0) return [];
  const rows = await query<ThreadOfSend>(
    tx,
    sql`select ${threadFields}, case when ${wantsRecent}::boolean then (
          select json_agg(${recentMessage} order by m.seq desc) from (
            select * from messages where thread_id = t.id order by seq desc limit ${mostRecentMessages}::int) m) end as recent
        from threads t where t.id = any(${arrayOf("text", ids)})`,
  );
  return rows.map((row) => ({ ...row, recent: (row.recent ?? []).map(withInstant) }));
}

const recentMessage = asJson(messages, "m", [
  "direction",
  "fromAddr",
  "toAddr",
  "toAddrs",
  "cc",
  "createdAt",
  "automated",
  "messageIdHash",
]);

/** Makes a Date of the time, which comes as a text, because JSON has no dates. */
function withInstant(message: RecentMessage): RecentMessage {
  return { ...message, createdAt: new Date(message.createdAt) };
}

export async function listNumberedMessages(tx: Db, ids: readonly string[]): Promise<NumberedMessage[]> {
  if (ids.length === 0) return [];
  return query(tx, sql`select ${numberFields} from messages m where m.id = any(${arrayOf("text", ids)})`);
}

/**
 * Lists for each of these messages the last outbound one that did not fail and stands behind it in its thread. A failed message never
 * becomes another, and each new one changes the revision of its inbox, so an empty list stays true until the revision changes.
 */
export async function listAnswersBehind(tx: Db, ids: readonly string[]): Promise<NumberedMessage[]> {
  if (ids.length === 0) return [];
  return query(
    tx,
    sql`select ${numberFields} from unnest(${arrayOf("text", ids)}) as asked (id)
        cross join lateral (select thread_id, seq from messages where id = asked.id limit 1) seen
        cross join lateral (select * from messages where thread_id = seen.thread_id and seq > seen.seq
          and direction = 'outbound' and status <> 'failed' order by seq desc limit 1) m`,
  );
}

const numberFields = selected(messages, "m", ["id", "threadId", "seq"]);

/** Lists messages for the answer to a repeated request, or to a send that waited for its result. */
export async function listSentMessages(db: Db, ids: readonly string[]): Promise<SentMessage[]> {
  if (ids.length === 0) return [];
  return query(
    db,
    sql`select ${sentFields}, ${recipientsOf("m")} as recipients from messages m where m.id = any(${arrayOf("text", ids)})`,
  );
}

const sentFields = selected(messages, "m", [
  "id",
  "inboxId",
  "threadId",
  "status",
  "rfcMessageId",
  "providerMessageId",
]);

/** Lists the usernames among these that have an inbox, each with the account of the inbox. */
export async function listOwners(tx: Db, usernames: readonly string[]): Promise<Owner[]> {
  if (usernames.length === 0) return [];
  return query<Owner>(
    tx,
    sql`select a.username, i.account_id as "accountId" from unnest(${arrayOf("text", usernames)}) as name (name)
        join addresses a on a.username = name.name and a.held_until is null join inboxes i on i.id = a.inbox_id and i.deleted_at is null`,
  );
}
