import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import { plans } from "../../domain/limits.ts";
import {
  attachmentMark,
  type BlockSize,
  blockMark,
  blockOf,
  blockSize,
  directionMark,
  markCharacters,
  type PlanSearchWords,
  type Searchable,
  type SearchRow,
  type SearchScope,
  type SearchWords,
  scopeMark,
  searchedAddresses,
  searchedCharacters,
  startOfBlock,
  threadMark,
} from "../../domain/search.ts";
import type { SearchCondition } from "../../domain/search-question.ts";
import { selected } from "../columns.ts";
import { isReached } from "../reach.ts";
import { messages } from "../schema.ts";
import { type ListedMessage, listedFields, shownRows } from "./message-pages.ts";

export interface SearchPage {
  /** In an account, the inboxes within the reach are searched. */
  scope: SearchScope & ({ kind: "inbox" } | { kind: "account"; reach: Reach });
  conditions: readonly SearchCondition[];
  /**
   * Whether the scope has few unread threads. Then the unread messages are found by the marks of these threads, as those of one thread are.
   * Else the thread of each match is looked up: among many unread threads a page is soon full.
   */
  hasFewUnread: boolean;
  /** The range of numbers to search, both ends included. */
  first: number;
  last: number;
  /** The id of a message with the number `last`. Of the messages with that number, only those with a lower id are searched. */
  lastId?: string | undefined;
  limit: number;
  offset: number;
  /** The number up to which matches are counted. It is exceeded if the page needs more. */
  counted: number;
}

export interface Found {
  messages: ListedMessage[];
  /** The number of matches that were counted. There may be more (`counted`). */
  total: number;
  /** The number of the last indexed message of an inbox. Messages after it are not found yet. For an account it is 0. */
  indexedSeq: number;
  /** Which words are indexed of every message in the scope, for a search that asks for words. */
  indexed: SearchWords;
}

/**
 * Finds the newest matches. It searches the messages of the newest blocks first (in an inbox, 1,025 to 1,536 messages), and if these have
 * hardly a match, all others. If a word that is not rare has too few matches among the newest messages, it searches as many messages more as
 * should have the others, and finally all. So a common word costs as much as the newest messages, and a rare word as much as its few
 * matches, in an inbox of any size.
 */
export async function searchMessages(db: Db, page: SearchPage): Promise<Found> {
  const { scope, first, last } = page;
  const needed = Math.max(page.counted, page.offset + page.limit);
  if (isAboutAttachments(page)) return findAttached(db, page, needed);
  const newest = rangeDownTo(page, "near", last - (newestBlocks - 1) * blockSize(scope, "near"), last);
  const found = await searchRanges(db, page, { upper: newest, enough: Math.min(notRare, needed), needed, passed: 0 });
  if (newest.from <= first || found.upper < notRare || found.total >= needed) return found;
  const missing = needed - found.total;
  const span = ((missing * (last - newest.from + 1)) / found.total) * 1.25;
  const size = span < mostBlocks * blockSize(scope, "near") ? "near" : "wide";
  const reach = Math.min(span, (mostBlocks - 1) * blockSize(scope, size));
  const upper = rangeDownTo(page, size, newest.from - 1 - reach, newest.from - 1);
  const others = await searchRanges(db, page, { upper, enough: missing, needed: missing, passed: found.total });
  return { ...found, messages: [...found.messages, ...others.messages], total: found.total + others.total };
}

/** A search with at least this many matches among the newest messages may have too many matches to search all messages next. */
const notRare = 8;

/** How many blocks are searched first, so that together they have more messages than are counted. */
const newestBlocks = 3;

/** The most blocks whose marks a query has. */
const mostBlocks = 32;

/** A range of numbers, with the marks of all messages in it. */
interface SearchRange {
  marks: readonly string[];
  from: number;
  to: number;
}

/** The range of whole blocks up to `to` that contains `from`, without the numbers that are not on the page. */
function rangeDownTo({ scope, first }: SearchPage, size: BlockSize, from: number, to: number): SearchRange {
  const lowest = blockOf(scope, size, Math.max(first, from));
  const count = blockOf(scope, size, to) - lowest + 1;
  const marks = Array.from({ length: count }, (_, index) => blockMark(scope, size, lowest + index));
  return { marks, from: Math.max(first, startOfBlock(scope, size, lowest)), to };
}

interface RangesSearch {
  upper: SearchRange;
  /** If the upper range has fewer matches, all messages below it are searched too. */
  enough: number;
  /** The number of matches to find. */
  needed: number;
  /** The number of matches above the upper range. */
  passed: number;
}

/**
 * Searches a range and, if it has too few matches, all messages of the page below it.
 *
 * The query is built in a subselect, where the planner cannot see it: with its statistics of a common word it would scan the whole
 * table. For the same reason the inbox and the number are compared as expressions without an index (`|| ''`, `+ 0`): the query already has
 * the lexemes for them.
 */
async function searchRanges(
  db: Db,
  page: SearchPage,
  { upper, enough, needed, passed }: RangesSearch,
): Promise<Found & { upper: number }> {
  const { scope, first } = page;
  const offset = Math.max(0, page.offset - passed);
  const limit = Math.max(0, page.offset + page.limit - passed - offset);
  const { number, isWithin, indexedSeq } = inScope(scope);
  const newestFirst = sql`order by number desc, message_id desc`;
  const terms = questionOf(page);
  const matches = ({ marks, from, to }: SearchRange) => sql`
    select s.message_id, ${number} as number from message_search s
    where s.words @@ (select ${sql.join([anyOf(marks), ...terms], sql` && `)})
      and ${isWithin} and ${number} + 0 between ${from} and ${to} ${below(page, number)} ${lookedUp(page)}
    ${newestFirst} limit (select ${needed}::int8)`;
  const lower = { marks: [scopeMark(scope)], from: first, to: upper.from - 1 };
  const rows = await query<FoundRow & { upper: number }>(
    db,
    sql`with upper as materialized (${matches(upper)}),
        lower as materialized (
          select * from (${matches(lower)}) step
          where (select ${first}::int8 < ${upper.from}::int8 and count(*) < ${enough}::int8 from upper)
        ),
        hits as materialized (select * from (table upper union all table lower) hits ${newestFirst} limit (select ${needed}::int8))
        select (select count(*) from upper) as upper, ${indexedSeq} as "indexedSeq", ${fewestWords(page)} as indexed,
        ${pageOfHits({ limit, offset }, newestFirst, sql`m.id = hit.message_id`)}`,
  );
  return { ...foundIn(rows), upper: rows[0]?.upper ?? 0 };
}

/** A row of a page. If the page is empty, one row has the numbers alone. */
type FoundRow = ListedMessage & Record<"total" | "indexedSeq", number> & { indexed?: SearchWords | null };

function foundIn(rows: FoundRow[]): Found {
  const { total = 0, indexedSeq = 0, indexed = null } = rows[0] ?? {};
  return { messages: shownRows(rows.filter(({ id }) => id !== null)), total, indexedSeq, indexed: indexed ?? "all" };
}

/** The end of a statement that has found `hits`: their total, and a page of their messages. */
function pageOfHits({ limit, offset }: Pick<SearchPage, "limit" | "offset">, newestFirst: SQL, isHit: SQL): SQL {
  const total = sql`(select count(*) from hits) as total`;
  if (limit === 0) return sql`${total}, null as id`;
  return sql`${total}, m.* from (select) one left join (
      select hit.number as position, ${listedFields} from (
        select * from hits ${newestFirst} limit (select ${limit}::int8) offset (select ${offset}::int8)
      ) hit join messages m on ${isHit}
    ) m on true order by m.position desc, m.id desc`;
}

/** Whether a search of an inbox is only for messages with attachments, which have an index of their own. */
function isAboutAttachments({ scope, conditions }: SearchPage): boolean {
  const others = conditions.filter(({ kind }) => kind !== "direction");
  return scope.kind === "inbox" && others.length > 0 && others.every((each) => each.kind === "attachment" && each.is);
}

/** Finds the newest messages with attachments. */
async function findAttached(
  db: Db,
  { scope, conditions, first, last, ...page }: SearchPage,
  needed: number,
): Promise<Found> {
  const directions = conditions.flatMap((each) => (each.kind === "direction" ? [sql`and direction = ${each.is}`] : []));
  const rows = await query<FoundRow>(
    db,
    sql`with hits as materialized (
          select seq as number from messages
          where inbox_id = ${scope.id} and attachment_count > 0 and seq between ${first} and ${last} ${sql.join(directions, sql` `)}
          order by seq desc limit (select ${needed}::int8)
        )
        select ${last}::int4 as "indexedSeq",
        ${pageOfHits(page, sql`order by number desc`, sql`m.inbox_id = ${scope.id} and m.seq = hit.number`)}`,
  );
  return foundIn(rows);
}

/** The number of a row in a scope, whether a row is in it, and up to which number it is indexed. */
function inScope(scope: SearchPage["scope"]): { number: SQL; isWithin: SQL; indexedSeq: SQL } {
  if (scope.kind === "account") {
    // Inside of a function the planner makes a hash of the inboxes. As a join it may compare each match with each inbox.
    const isWithin = sql`coalesce(s.inbox_id in (${inboxesIn(scope.reach)}), false)`;
    return { number: sql`s.at_ms`, isWithin, indexedSeq: sql`0` };
  }
  const indexedSeq = sql`(select coalesce(max(seq), 0) from message_search where inbox_id = ${scope.id})`;
  return { number: sql`s.seq`, isWithin: sql`s.inbox_id || '' = ${scope.id}`, indexedSeq };
}

/** The fewest words that are indexed of a message in the scope. Null if all are indexed, and for a search that asks for no words. */
function fewestWords({ scope, conditions }: SearchPage): SQL {
  if (conditions.every(({ kind }) => kind !== "words")) return sql`null`;
  const ofInbox = (id: SQL) =>
    sql`(select max(indexed) from message_search where inbox_id = ${id} and indexed <> 'all')`;
  if (scope.kind === "inbox") return ofInbox(sql`${scope.id}`);
  return sql`(select max(${ofInbox(sql`i.id`)}) from inboxes i where ${isReached(scope.reach)})`;
}

function inboxesIn(reach: Reach): SQL {
  return sql`select i.id from inboxes i where ${isReached(reach)}`;
}

/** Leaves out the messages that have the number `last` and are not below `lastId`. */
function below({ last, lastId }: SearchPage, number: SQL): SQL {
  return lastId === undefined ? sql`` : sql`and (${number} + 0 < ${last} or s.message_id < ${lastId})`;
}

function anyOf(marks: readonly string[]): SQL {
  return sql`${marks.map(quoted).join(" | ")}::tsquery`;
}

/** The parts of the query for the conditions. */
function questionOf(page: SearchPage): SQL[] {
  return page.conditions.flatMap((condition) => partOf(condition, page) ?? []);
}

function partOf(condition: SearchCondition, page: SearchPage): SQL | undefined {
  switch (condition.kind) {
    case "words":
      return wordsOf(condition);
    case "attachment":
      return mark(attachmentMark, condition.is);
    case "direction":
      return mark(directionMark(condition.is));
    case "thread":
      return mark(threadMark(condition.id));
    case "unread":
      if (!page.hasFewUnread) return undefined;
      return condition.is ? unread(page) : sql`!!${unread(page)}`;
  }
}

function wordsOf({ field, question }: SearchCondition & { kind: "words" }): SQL {
  if (field === "any") return sql`websearch_to_tsquery('simple', ${question})`;
  return weighted(question, ({ subject: "A", from: "B", to: "C" } as const)[field]);
}

/** A query for the marks of all unread threads. Without such threads it is a query for no message, since no mark is a slash alone. */
function unread({ scope }: SearchPage): SQL {
  const inboxes = scope.kind === "account" ? inboxesIn(scope.reach) : sql`${scope.id}`;
  return sql`(select coalesce(string_agg('''' || ${threadMarkOf(sql.raw("t.id"))} || '''', ' | '), '''/''')::tsquery
    from threads t where t.inbox_id in (${inboxes}) and not t.is_read)`;
}

/** Compares the thread of each match, if there are too many unread threads for a query of their marks. */
function lookedUp({ conditions, hasFewUnread }: SearchPage): SQL {
  const looked = conditions.flatMap((condition) =>
    condition.kind === "unread" && !hasFewUnread ? [condition.is] : [],
  );
  // A subselect is run for each match. The planner might begin a join with all unread threads.
  const isUnread = sql`(select not t.is_read from threads t where t.id = s.thread_id limit 1)`;
  return sql.join(
    looked.map((is) => sql`and ${isUnread} = ${is}`),
    sql` `,
  );
}

function mark(text: string, is = true): SQL {
  return sql`${is ? quoted(text) : `!${quoted(text)}`}::tsquery`;
}

/**
 * A query for words in one field: subject (A), sender (B) or recipients (C). No function sets the weight of a query, so it is inserted
 * into the text form of the query.
 */
function weighted(question: string, weight: "A" | "B" | "C"): SQL {
  return sql`regexp_replace(websearch_to_tsquery('simple', ${question})::text, '''(?:[^'']|'''')+''', ${`\\&:${weight}`}, 'g')::tsquery`;
}

function quoted(mark: string): string {
  return `'${mark}'`;
}

/** `threadMark` as SQL, for the id of a thread in a row. */
function threadMarkOf(id: SQL): SQL {
  return sql`'/t' || left(encode(sha256(convert_to(${id}, 'UTF8')), 'hex'), ${sql.raw(String(markCharacters))})`;
}

/** The facts about the inboxes within the reach that a search of an account needs. */
export interface AccountSearchFacts {
  /** The instant of their newest message; null if they have none. */
  newestAt: Date | null;
  unreadThreads: number;
  /** The inboxes that are not indexed to their end. */
  behind: { inboxId: string; indexedSeq: number; messageCount: number }[];
}

export async function findAccountSearchFacts(db: Db, reach: Reach): Promise<AccountSearchFacts> {
  const [facts] = await query<Omit<AccountSearchFacts, "behind"> & { behind: AccountSearchFacts["behind"] | null }>(
    db,
    sql`select max(i.last_message_at) as "newestAt", coalesce(sum(i.unread_count), 0)::int8 as "unreadThreads",
          json_agg(json_build_object('inboxId', i.id, 'indexedSeq', coalesce(s.seq, 0), 'messageCount', i.message_count))
            filter (where coalesce(s.seq, 0) < i.message_count and ${hasMessageAbove(sql`coalesce(s.seq, 0)`)}) as behind
        from inboxes i
        left join lateral (select seq from message_search where inbox_id = i.id order by seq desc limit 1) s on true
        where ${isReached(reach)}`,
  );
  return { newestAt: facts?.newestAt ?? null, unreadThreads: facts?.unreadThreads ?? 0, behind: facts?.behind ?? [] };
}

/** Whether an inbox `i` has a message with a number above this one. The last messages may be removed, so its last number does not tell. */
function hasMessageAbove(seq: SQL): SQL {
  return sql`exists (select from messages where inbox_id = i.id and seq > ${seq})`;
}

export async function findIndexedSeq(db: Db, inboxId: string): Promise<number> {
  const [found] = await query<{ seq: number | null }>(
    db,
    sql`select max(seq) as seq from message_search where inbox_id = ${inboxId}`,
  );
  return found?.seq ?? 0;
}

const searchedFields = selected(messages, "m", [
  ...(["inboxId", "seq", "threadId", "direction", "fromAddr", "fromName", "toAddr", "subject"] as const),
  "attachmentCount",
]);

export interface SearchablesPage {
  inboxId: string;
  afterSeq: number;
  limit: number;
  /** The words that are indexed of the mail of each plan. */
  ofPlans: PlanSearchWords;
}

/** Lists up to `limit` messages of an inbox with a number above `afterSeq`, in order, for the search index. */
export function listSearchables(db: Db, { inboxId, afterSeq, limit, ofPlans }: SearchablesPage): Promise<Searchable[]> {
  const indexed = indexedOf(ofPlans);
  return query(
    db,
    sql`select ${searchedFields}, m.id as "messageId", (extract(epoch from m.created_at) * 1000)::int8 as "atMs",
          i.account_id as "accountId", ${indexed} as indexed, m.cc[1:${searchedAddresses}] as cc,
          case when ${indexed} = 'all' then left(m.body_text, ${searchedCharacters}) else '' end as "bodyText"
        from messages m join inboxes i on i.id = m.inbox_id join accounts a on a.id = i.account_id
        where m.inbox_id = ${inboxId} and m.seq > ${afterSeq} order by m.seq limit ${limit}`,
  );
}

/**
 * The words that are indexed of the mail of an inbox `i` of an account `a`: the fewer of those of the account and those of the inbox. The
 * fewest are the greatest text, and `greatest` leaves out null.
 */
function indexedOf(ofPlans: PlanSearchWords): SQL {
  const choices = plans.map((plan) => sql`when ${plan}::text then ${ofPlans[plan]}::text`);
  return sql`greatest(coalesce(a.search_words, case a.plan ${sql.join(choices, sql` `)} end), i.search_words)`;
}

/**
 * Indexes messages in one statement, so that the index of an inbox has no gaps up to its highest number. Skips messages that another
 * process has indexed or removed. The lock makes a removal wait, so that no words of a removed message are left.
 */
export async function insertSearchRows(db: Db, rows: readonly SearchRow[]): Promise<void> {
  await query(
    db,
    sql`insert into message_search (inbox_id, seq, message_id, thread_id, at_ms, indexed, words)
        select row."inboxId", row.seq, row."messageId", row."threadId", row."atMs", row.indexed, setweight(to_tsvector('simple', row.subject), 'A')
          || setweight(to_tsvector('simple', row.sender), 'B') || setweight(to_tsvector('simple', row.recipients), 'C')
          || to_tsvector('simple', row.body) || array_to_tsvector(row.marks)
        from json_to_recordset(${JSON.stringify(rows)}::json)
          as row("inboxId" text, seq int, "messageId" text, "threadId" text, "atMs" int8, indexed text, subject text, sender text, recipients text, body text, marks text[])
        where exists (select from messages where id = row."messageId" for key share)
        on conflict do nothing`,
  );
}

/** Moves new entries from the pending list of the index into the index. Each search scans the pending list as a whole. */
export async function settleSearchIndex(db: Db): Promise<void> {
  await query(db, sql`select gin_clean_pending_list('message_search_words')`);
}

/** The number of parts of the index. More processes than this do not index faster. */
export const indexingParts = 16;

/** Makes the rows of the parts, unless they exist. */
export async function insertIndexingParts(db: Db): Promise<void> {
  await query(
    db,
    sql`insert into search_indexing (id, holder, leased_until, seen_id)
        select number, '', 'epoch', '' from generate_series(0, ${indexingParts - 1}::int) number on conflict do nothing`,
  );
}

/** A part of the index that a process fills. */
export interface IndexingPart {
  id: number;
  /** The id up to which all messages were looked at. */
  seenId: string;
}

/**
 * Takes or renews leases on as many parts as each process that indexes may have, and ends those on others. Returns the parts, and whether
 * there are as many as the process may have.
 */
export async function holdParts(
  db: Db,
  { holder, now, leasedUntil }: { holder: string; now: Date; leasedUntil: Date },
): Promise<{ parts: IndexingPart[]; isShareFull: boolean }> {
  const rows = await query<IndexingPart & { share: number }>(
    db,
    sql`with present as (
          insert into search_indexers (holder, leased_until) values (${holder}, ${leasedUntil})
          on conflict (holder) do update set leased_until = excluded.leased_until
        ),
        gone as (delete from search_indexers where leased_until <= ${now} and holder <> ${holder}),
        share as materialized (
          select ceil(${indexingParts}::numeric / (1 + count(*)))::int as parts from search_indexers
          where leased_until > ${now} and holder <> ${holder}
        ),
        mine as materialized (
          select id, row_number() over (order by id) <= (select parts from share) as stays
          from search_indexing where holder = ${holder}
        ),
        free as materialized (
          select id, true as stays from search_indexing where leased_until <= ${now} and holder <> ${holder} order by id
          limit greatest(0, (select parts from share) - (select count(*) from mine where stays)) for update skip locked
        ),
        held as (
          update search_indexing part set holder = ${holder}, leased_until = case when chosen.stays then ${leasedUntil}::timestamptz else ${now}::timestamptz end
          from (table mine union all table free) chosen
          where part.id = chosen.id and (part.holder = ${holder} or part.leased_until <= ${now}) returning part.*
        )
        select held.id, held.seen_id as "seenId", share.parts as share from share left join held on held.leased_until > ${now}`,
  );
  const parts = rows.filter(({ id }) => id !== null).map(({ id, seenId }) => ({ id, seenId }));
  return { parts, isShareFull: parts.length >= (rows[0]?.share ?? 1) };
}

/** Writes down the id up to which all messages were looked at for these parts, as far as the process still has them. */
export async function markIndexed(db: Db, holder: string, parts: readonly number[], seenId: string): Promise<void> {
  await query(
    db,
    sql`update search_indexing set seen_id = ${seenId}
        where id = any(${arrayOf("int4", parts)}) and holder = ${holder} and seen_id < ${seenId}`,
  );
}

/** Ends the leases of a process now, so that the others need not wait until they expire. */
export async function releaseParts(db: Db, holder: string, now: Date): Promise<void> {
  await query(
    db,
    sql`with gone as (delete from search_indexers where holder = ${holder})
        update search_indexing set leased_until = ${now} where holder = ${holder} and leased_until > ${now}`,
  );
}

export interface RecentMessages {
  /** The number of messages that were looked at, and the id of the last one; null if there was none. */
  looked: number;
  lastId: string | null;
  /** The id of the last of these messages from before `settledBefore`: a message with a lower id is unlikely to be committed later. */
  settledId: string | null;
  /** The inboxes of these messages that are not fully indexed. */
  behind: { inboxId: string; messageCount: number }[];
}

/** The other work of the service. Indexing waits while there is any. */
export interface Activity {
  newestMessageAt: Date | null;
  /** Whether there are running rows of the outbox that were claimed in the last `withinMs`. */
  isCarryingOut: boolean;
}

/** Reads the activity. The newest message is the one with the highest id, because ids begin with the time of their creation. */
export async function findActivity(db: Db, withinMs: number): Promise<Activity> {
  const [activity] = await query<Activity>(
    db,
    sql`select (select created_at from messages order by id desc limit 1) as "newestMessageAt",
          exists (select from outbox
            where state = 'running' and claimed_at > clock_timestamp() - ${withinMs} * interval '1 ms') as "isCarryingOut"`,
  );
  return activity ?? { newestMessageAt: null, isCarryingOut: false };
}

export interface RecentPage {
  afterId: string;
  settledBefore: Date;
  limit: number;
  parts: readonly number[];
}

/** Looks at up to `limit` messages after `afterId`, and finds those of their inboxes that are in these parts and not fully indexed. */
export async function findRecentMessages(
  db: Db,
  { afterId, settledBefore, limit, parts }: RecentPage,
): Promise<RecentMessages> {
  const rows = await query<Omit<RecentMessages, "behind"> & RecentMessages["behind"][number]>(
    db,
    sql`with recent as materialized (
          select id, inbox_id, created_at from messages where id > ${afterId} order by id limit ${limit}
        )
        select looked.*, behind.*
        from (select count(*) as looked, max(id) as "lastId", max(id) filter (where created_at < ${settledBefore}) as "settledId" from recent) looked
        left join (select i.id as "inboxId", i.message_count as "messageCount"
          from (select distinct inbox_id from (select inbox_id from recent
              union all select inbox_id from drafts
              where content is not null and updated_at > ${settledBefore}::timestamptz - interval '5 minutes' and state = 'sent') seen
            where (hashtextextended(inbox_id, 0) & ${indexingParts - 1}) = any(${arrayOf("int4", parts)})) r
          join inboxes i on i.id = r.inbox_id and i.deleted_at is null
          where ${hasMessageAbove(sql`(select coalesce(max(seq), 0) from message_search s where s.inbox_id = i.id)`)}) behind on true`,
  );
  const [{ looked, lastId, settledId } = { looked: 0, lastId: null, settledId: null }] = rows;
  const behind = rows.filter(({ inboxId }) => inboxId !== null);
  return { looked, lastId, settledId, behind };
}
