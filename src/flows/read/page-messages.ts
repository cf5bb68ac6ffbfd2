import type { Db } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import { rowsOfPage } from "../../domain/page-budget.ts";
import type { SearchWords } from "../../domain/search.ts";
import { utf8Length } from "../../standards/text.ts";
import { listListedBodies, longestListedBody } from "../../store/mail/bodies.ts";
import {
  type Axis,
  countMessagesInRange,
  findFirstSince,
  findMessagesPage,
  type InboxTotals,
  type ListedMessage,
  listMessagesInRange,
  listThreadMessages,
  listThreadMessagesBefore,
  type ShownMessage,
} from "../../store/mail/message-pages.ts";
import { findThread } from "../../store/mail/thread-pages.ts";

/** The messages of an inbox to show, the newest first. */
export interface MessagesQuery {
  reach: Reach;
  inboxId: string;
  direction: "inbound" | "outbound" | undefined;
  threadId: string | undefined;
  /** Only messages at this instant or later. */
  since: Date | undefined;
  /** Only messages before this instant. */
  until: Date | undefined;
  limit: number;
  offset: number;
  /** The number of the last message on the previous page. */
  after: number | undefined;
}

export interface MessagesPage {
  messages: readonly ShownMessage[];
  total: number;
  /** The number of the last message on this page, for the request of the next page; undefined if no page follows. */
  next: number | undefined;
  /** The words that a search looked at, if it asks for others too; undefined if it looked at all that it asks for. */
  searched?: Exclude<SearchWords, "all"> | undefined;
}

/**
 * A page of an inbox. A high offset costs nothing, because the messages of an inbox are numbered in order: a page begins at a number. If
 * chosen messages were removed, it is counted in the index. Undefined if there is no such inbox within the reach.
 */
export async function pageMessages(db: Db, asked: MessagesQuery): Promise<MessagesPage | undefined> {
  const { reach, inboxId, direction, limit, offset, after } = asked;
  const axis = direction ?? "all";
  // One more shows whether a page follows. A look-up of the lowest number took longer, above all over partitions.
  const page = await findMessagesPage(db, { reach, inboxId, axis, limit: limit + 1, offset, before: after });
  if (page === undefined) return undefined;
  const messages = await listedPage(db, page.messages.slice(0, limit));
  const isMore = page.messages.length > messages.length;
  return { messages, total: page.total, next: isMore ? messages.at(-1)?.position : undefined };
}

/**
 * A page of the messages between two instants. Messages are numbered in the order of time, so the numbers of the first and the last one
 * between the instants bound the page.
 */
export async function pageBetween(db: Db, totals: InboxTotals, asked: MessagesQuery): Promise<MessagesPage> {
  const axis: Axis = asked.direction ?? "all";
  const { first, last } = await rangeOf(db, totals, axis, asked);
  const { lastRemoved, leftBelow } = numbersOn(axis, totals);
  const range = { inboxId: totals.id, axis, first, last };
  const below = { ...range, last: Math.min(last, lastRemoved) };
  // None are left below the last removed one if only the oldest were removed.
  const mayHaveBelow = leftBelow > 0 && below.last >= first;
  const countBelow = mayHaveBelow ? await countMessagesInRange(db, below) : 0;
  const lowest = Math.max(first, lastRemoved + 1);
  const countAbove = Math.max(0, last - lowest + 1);
  const total = countAbove + countBelow;
  const top = asked.after === undefined ? last - Math.min(asked.offset, countAbove) : Math.min(last, asked.after - 1);
  const skip = asked.after === undefined ? Math.max(0, asked.offset - countAbove) : 0;
  const found = top < first ? [] : await listMessagesInRange(db, { ...range, last: top }, { limit: asked.limit, skip });
  const messages = await listedPage(db, found);
  const isWhole = found.length < asked.limit && messages.length === found.length;
  return { messages, total, next: isWhole ? undefined : numberAbove(countBelow > 0 ? first : lowest, messages) };
}

/** The number of the last message on a page; undefined if it is the first number of the list, so that no page follows. */
function numberAbove(first: number, messages: readonly ShownMessage[]): number | undefined {
  const number = messages.at(-1)?.position;
  return number !== undefined && number > first ? number : undefined;
}

/** The numbers of the first and the last message between the two instants. */
export async function rangeOf(
  db: Db,
  totals: InboxTotals,
  axis: Axis,
  { since, until }: Pick<MessagesQuery, "since" | "until">,
): Promise<{ first: number; last: number }> {
  const { last } = numbersOn(axis, totals);
  const [first, end] = await Promise.all([
    since === undefined ? 1 : findFirstSince(db, totals.id, axis, last, since),
    until === undefined ? last + 1 : findFirstSince(db, totals.id, axis, last, until),
  ]);
  return { first, last: end - 1 };
}

interface Numbers {
  /** The number of the last message. */
  last: number;
  /** The number of the last removed message: above it none is missing. */
  lastRemoved: number;
  /** How many messages have a number below it. */
  leftBelow: number;
}

function numbersOn(axis: Axis, totals: InboxTotals): Numbers {
  const all = numbersOf(totals.messageCount, totals.removedCount, totals.lastRemovedSeq);
  const inbound = numbersOf(totals.inboundCount, totals.removedInboundCount, totals.lastRemovedInboundSeq);
  if (axis === "all") return all;
  if (axis === "inbound") return inbound;
  return {
    last: all.last - inbound.last,
    lastRemoved: all.lastRemoved - inbound.lastRemoved,
    leftBelow: all.leftBelow - inbound.leftBelow,
  };
}

function numbersOf(last: number, removed: number, lastRemoved: number): Numbers {
  return { last, lastRemoved, leftBelow: lastRemoved - removed };
}

/** A page of the messages of one thread, the newest first. It is empty if the inbox has no such thread. */
export async function pageOfThread(
  db: Db,
  threadId: string,
  { reach, inboxId, limit, offset, after }: MessagesQuery,
): Promise<MessagesPage> {
  const thread = await findThread(db, reach, threadId);
  if (thread?.inboxId !== inboxId) return { messages: [], total: 0, next: undefined };
  const total = thread.messageCount;
  if (after !== undefined) {
    const found = await listThreadMessagesBefore(db, threadId, after, limit + 1);
    const messages = await listedPage(db, found.slice(0, limit));
    return { messages, total, next: found.length > messages.length ? messages.at(-1)?.position : undefined };
  }
  const left = Math.max(0, total - offset);
  const page = { threadId, total, limit: Math.min(limit, left), offset: Math.max(0, left - limit) };
  const messages = await listedPage(db, (await listThreadMessages(db, page)).reverse());
  return { messages, total, next: left > messages.length ? messages.at(-1)?.position : undefined };
}

/**
 * The messages of a list with their bodies: as many as fit into the byte limit of a page, with long bodies cut. A page without long bodies,
 * as most are, is returned unchanged.
 */
export async function listedPage(db: Db, found: readonly ListedMessage[]): Promise<readonly ShownMessage[]> {
  if (found.every((message) => message.longBodies === null)) return found;
  const page = found.slice(0, rowsOfPage(found.map(listedBytes)));
  const long = page.flatMap(({ id, longBodies }) => (longBodies === null ? [] : [id]));
  const bodiesOf = new Map((await listListedBodies(db, long)).map((bodies) => [bodies.id, bodies]));
  return page.flatMap((message): ShownMessage[] => {
    if (message.longBodies === null) return [message];
    const bodies = bodiesOf.get(message.id);
    // The message has no bodies any more, because its inbox was deleted meanwhile.
    if (bodies === undefined) return [];
    const isCut = message.longBodies.some((bytes) => bytes > longestListedBody);
    return [{ ...message, ...bodies, truncated: message.truncated || isCut }];
  });
}

function listedBytes(message: ListedMessage): number {
  if (message.longBodies === null) return utf8Length(message.bodyText) + utf8Length(message.bodyHtml ?? "");
  const [text, html] = message.longBodies;
  return Math.min(text, longestListedBody) + Math.min(html, longestListedBody);
}
