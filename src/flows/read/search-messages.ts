import { askedTooMuch } from "../../database/db.ts";
import { Refusal } from "../../domain/errors.ts";
import type { SearchCondition } from "../../domain/search-question.ts";
import type { InboxTotals } from "../../store/mail/message-pages.ts";
import { type Found, searchMessages } from "../../store/mail/search.ts";
import { type IndexingDeps, indexMessages } from "./index-messages.ts";
import { listedPage, type MessagesPage, type MessagesQuery, rangeOf } from "./page-messages.ts";

/** Matches are counted up to this number, because counting more would cost more than reading the page. */
export const countedMatches = 10_000;
/** The most unread threads whose marks a search may ask for. With more of them the query would cost more than its matches. */
const fewUnread = 1_000;
const patienceMs = 4_000;

/**
 * A page of the messages that match a search, the newest first. The search index is filled in the background. Messages that it does not
 * have yet are added here first, so that a mail is found as soon as it is stored.
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
  const scope = { inboxId: totals.id, hasFewUnread: totals.unreadCount <= fewUnread };
  const search = (until: number, limit: number, offset: number, counted: number) =>
    searchMessages(db, { ...scope, conditions, first, last: until, limit, offset, counted }).catch(refuseTooMuch);

  /** Reads one match more than the page shows, to know whether another page follows. */
  async function searchOnce(): Promise<{ page: Found; total: number; indexedSeq: number }> {
    if (asked.after === undefined) {
      const page = await search(last, asked.limit + 1, asked.offset, countedMatches);
      return { page, total: page.total, indexedSeq: page.indexedSeq };
    }
    const until = Math.min(last, asked.after - 1);
    const nothing = { messages: [], total: 0, indexedSeq: totals.messageCount };
    const [page, counted] = await Promise.all([
      until < first ? nothing : search(until, asked.limit + 1, 0, 0),
      search(last, 0, 0, countedMatches),
    ]);
    return { page, total: counted.total, indexedSeq: counted.indexedSeq };
  }

  let result = await searchOnce();
  if (result.indexedSeq < last) {
    await catchUp(deps, totals.id, result.indexedSeq, last);
    result = await searchOnce();
  }
  const found = result.page.messages;
  const messages = await listedPage(db, found.slice(0, asked.limit));
  const next = found.length > messages.length ? messages.at(-1)?.position : undefined;
  return { messages, total: Math.min(result.total, countedMatches), next };
}

/**
 * Adds the missing messages to the index. If that takes more than 4 seconds, because much mail has come, the search is refused: its result
 * would be incomplete. Each retry continues where this call has stopped.
 */
async function catchUp(deps: IndexingDeps, inboxId: string, fromSeq: number, upToSeq: number): Promise<void> {
  const startedMs = performance.now();
  const reached = await indexMessages(
    deps,
    inboxId,
    fromSeq,
    upToSeq,
    () => performance.now() - startedMs < patienceMs,
  );
  if (reached < upToSeq) {
    const why = `${upToSeq - reached} messages that have just come are still being indexed`;
    throw new Refusal("service_unavailable", `Cannot search: ${why}`, { retryAfterSeconds: 1 });
  }
}

/** Refuses a search that is too much for the database. A retry would take as long, so the message asks the caller to narrow the search. */
function refuseTooMuch(error: unknown): never {
  if (!askedTooMuch(error)) throw error;
  const why = "it takes too long; use rarer words, or limit it by `since` and `until`";
  throw new Refusal("service_unavailable", `Cannot search: ${why}`, { retryAfterSeconds: 1 });
}
