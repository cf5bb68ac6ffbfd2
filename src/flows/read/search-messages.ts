import { askedTooMuch, type Db } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { RowKey } from "../../domain/cursor.ts";
import { Refusal } from "../../domain/errors.ts";
import { partSearched, type SearchCondition } from "../../domain/search-question.ts";
import type { InboxTotals } from "../../store/mail/message-pages.ts";
import {
  type AccountSearchFacts,
  type Found,
  findAccountSearchFacts,
  type SearchPage,
  searchMessages,
} from "../../store/mail/search.ts";
import { type IndexingDeps, indexMessages } from "./index-messages.ts";
import { listedPage, type MessagesPage, type MessagesQuery, rangeOf } from "./page-messages.ts";

/** Matches are counted up to this number, because counting more would cost more than reading the page. */
export const countedMatches = 1_000;
/** The most unread threads whose marks a search may ask for. With more of them the query would cost more than its matches. */
const fewUnread = 1_000;
const patienceMs = 4_000;

/**
 * A page of the messages of an inbox that match a search, the newest first. The search index is filled in the background. Messages that it
 * does not have yet are added here first, so that a mail is found as soon as it is stored.
 */
export async function searchPage(
  deps: IndexingDeps,
  totals: InboxTotals,
  conditions: readonly SearchCondition[],
  asked: Pick<MessagesQuery, "since" | "until" | "limit" | "offset" | "after">,
): Promise<MessagesPage> {
  const { db } = deps;
  const { first, last } = await rangeOf(db, totals, "all", asked);
  if (last < first) return { messages: [], total: 0, next: undefined };
  const hasFewUnread = totals.unreadCount <= fewUnread;
  const search = { scope: { kind: "inbox", id: totals.id }, conditions, hasFewUnread, first, last } as const;
  const rows = { limit: asked.limit, offset: asked.offset };
  const after = asked.after === undefined ? undefined : { last: Math.min(last, asked.after - 1) };
  let found = await findPage(db, search, rows, after);
  if (found.indexedSeq < last) {
    await catchUp(deps, [{ inboxId: totals.id, indexedSeq: found.indexedSeq, messageCount: last }]);
    found = await findPage(db, search, rows, after);
  }
  const { messages, total, isLast } = await shownPage(db, found, asked.limit);
  const searched = partSearched(conditions, found.indexed);
  return { messages, total, next: isLast ? undefined : messages.at(-1)?.position, searched };
}

export interface AccountSearch {
  conditions: readonly SearchCondition[];
  since: Date | undefined;
  until: Date | undefined;
  limit: number;
  /** The last message of the previous page: its milliseconds and its id. */
  after: RowKey | undefined;
}

export interface AccountPage extends Omit<MessagesPage, "next"> {
  /** The last message on this page, for the request of the next page; undefined if no page follows. */
  next: RowKey | undefined;
}

/** A page of the messages of all inboxes within the reach that match a search, the newest first. */
export async function searchAccount(deps: IndexingDeps, reach: Reach, asked: AccountSearch): Promise<AccountPage> {
  const { db } = deps;
  const { newestAt, unreadThreads, behind } = await findAccountSearchFacts(db, reach);
  if (newestAt === null) return { messages: [], total: 0, next: undefined };
  await catchUp(deps, behind);
  const { conditions, since, until, limit, after } = asked;
  // Old enough that no message is before it. Blocks have no negative numbers.
  const first = Math.max(0, since?.getTime() ?? 0);
  const last = Math.min(newestAt.getTime(), until === undefined ? Number.POSITIVE_INFINITY : until.getTime() - 1);
  if (last < first) return { messages: [], total: 0, next: undefined };
  const hasFewUnread = unreadThreads <= fewUnread;
  const scope = { kind: "account", id: reach.accountId, reach } as const;
  const search = { scope, conditions, hasFewUnread, first, last };
  const afterLast = after && { last: Math.min(last, Number(after.number)), lastId: after.id };
  const found = await findPage(db, search, { limit, offset: 0 }, afterLast);
  const { messages, total, isLast } = await shownPage(db, found, limit);
  const shown = messages.at(-1);
  const next = isLast || !shown ? undefined : { number: String(shown.position), id: shown.id };
  return { messages, total, next, searched: partSearched(conditions, found.indexed) };
}

/**
 * Finds a page and one match more, to know whether another page follows. `after` bounds the page behind a cursor: its matches are all
 * counted by a statement of their own.
 */
async function findPage(
  db: Db,
  search: Pick<SearchPage, "scope" | "conditions" | "hasFewUnread" | "first" | "last">,
  { limit, offset }: { limit: number; offset: number },
  after: { last: number; lastId?: string } | undefined,
): Promise<Found> {
  const find = (page: Pick<SearchPage, "limit" | "offset" | "counted">, end = {}) =>
    searchMessages(db, { ...search, ...page, ...end }).catch(refuseTooMuch);
  if (after === undefined) return find({ limit: limit + 1, offset, counted: countedMatches });
  const [page, counted] = await Promise.all([
    after.last < search.first ? undefined : find({ limit: limit + 1, offset: 0, counted: 0 }, after),
    find({ limit: 0, offset: 0, counted: countedMatches }),
  ]);
  return { ...counted, messages: page?.messages ?? [] };
}

async function shownPage(db: Db, found: Found, limit: number) {
  const messages = await listedPage(db, found.messages.slice(0, limit));
  const isLast = found.messages.length <= messages.length;
  return { messages, total: Math.min(found.total, countedMatches), isLast };
}

/**
 * Adds the missing messages to the index. If that takes more than 4 seconds, because much mail has come, the search is refused: its result
 * would be incomplete. Each retry continues where this call has stopped.
 */
async function catchUp(deps: IndexingDeps, behind: AccountSearchFacts["behind"]): Promise<void> {
  const startedMs = performance.now();
  const mayGoOn = () => performance.now() - startedMs < patienceMs;
  let missing = 0;
  for (const { inboxId, indexedSeq, messageCount } of behind) {
    const reached = mayGoOn() ? await indexMessages(deps, inboxId, indexedSeq, messageCount, mayGoOn) : indexedSeq;
    missing += messageCount - reached;
  }
  if (missing > 0) {
    const why = `${missing} messages that have just come are still being indexed`;
    throw new Refusal("service_unavailable", `Cannot search: ${why}`, { retryAfterSeconds: 1 });
  }
}

/** Refuses a search that is too much for the database. A retry would take as long, so the message asks the caller to narrow the search. */
function refuseTooMuch(error: unknown): never {
  if (!askedTooMuch(error)) throw error;
  const why = "it takes too long; use rarer words, or limit it by `since` and `until`";
  throw new Refusal("service_unavailable", `Cannot search: ${why}`, { retryAfterSeconds: 1 });
}
