import type { Db } from "../../database/db.ts";
import { rowsOfPage } from "../../domain/page-budget.ts";
import { utf8Length } from "../../standards/text.ts";
import { listListedBodies, longestListedBody } from "../../store/mail/bodies.ts";
import {
  type Axis,
  findFirstSince,
  findMessagesPage,
  type InboxTotals,
  type ListedMessage,
  listMessagesBetween,
  listThreadMessages,
  listThreadMessagesBefore,
  type ShownMessage,
} from "../../store/mail/message-pages.ts";
import { findThread } from "../../store/mail/thread-pages.ts";

/** The messages of an inbox to show, the newest first. */
export interface MessagesQuery {
  accountId: string;
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
}

/**
 * A page of an inbox. A high offset costs nothing, because the messages of an inbox are numbered without gaps: a page is a range of
 * numbers, and the total is the last number. Undefined if the account has no such inbox.
 */
export async function pageMessages(db: Db, asked: MessagesQuery): Promise<MessagesPage | undefined> {
  const { accountId, inboxId, direction, limit, offset, after } = asked;
  const axis = direction ?? "all";
  const page = await findMessagesPage(db, { accountId, inboxId, axis, limit, offset, before: after });
  if (page === undefined) return undefined;
  const messages = await listedPage(db, page.messages);
  return { messages, total: page.total, next: numberAbove(1, messages) };
}

/**
 * A page of the messages between two instants. Messages are numbered in the order of time, so the numbers of the first and the last one
 * between the instants bound the page.
 */
export async function pageBetween(db: Db, totals: InboxTotals, asked: MessagesQuery): Promise<MessagesPage> {
  const axis: Axis = asked.direction ?? "all";
  const { first, last } = await rangeOf(db, totals, axis, asked);
  const top = asked.after === undefined ? last - asked.offset : Math.min(last, asked.after - 1);
  const bottom = Math.max(first, top - asked.limit + 1);
  const found = bottom > top ? [] : await listMessagesBetween(db, totals.id, axis, bottom, top);
  const messages = await listedPage(db, found);
  const total = Math.max(0, last - first + 1);
  return { messages, total, next: numberAbove(first, messages) };
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
  const count = countOn(axis, totals);
  const [first, end] = await Promise.all([
    since === undefined ? 1 : findFirstSince(db, totals.id, axis, count, since),
    until === undefined ? count + 1 : findFirstSince(db, totals.id, axis, count, until),
  ]);
  return { first, last: end - 1 };
}

function countOn(axis: Axis, { messageCount, inboundCount }: InboxTotals): number {
  if (axis === "all") return messageCount;
  return axis === "inbound" ? inboundCount : messageCount - inboundCount;
}

/** A page of the messages of one thread, the newest first. It is empty if the inbox has no such thread. */
export async function pageOfThread(
  db: Db,
  threadId: string,
  { accountId, inboxId, limit, offset, after }: MessagesQuery,
): Promise<MessagesPage> {
  const thread = await findThread(db, accountId, threadId);
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
