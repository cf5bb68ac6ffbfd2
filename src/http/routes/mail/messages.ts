import { type Static, Type } from "@sinclair/typebox";
import type { Reach } from "../../../domain/access/access.ts";
import { cursorAt, cursorAtRow } from "../../../domain/cursor.ts";
import { notFound, Refusal } from "../../../domain/errors.ts";
import { isId } from "../../../domain/ids.ts";
import { plainQuestion } from "../../../domain/search.ts";
import {
  earliest,
  latest,
  readQuestion,
  type SearchCondition,
  type SearchField,
  type SearchQuestion,
} from "../../../domain/search-question.ts";
import { type RemovingDeps, removeMessage } from "../../../flows/account/remove-messages.ts";
import type { Deps } from "../../../flows/deps.ts";
import type { AttachmentLinks } from "../../../flows/read/attachment-links.ts";
import { findMessageOrDraft, type ShownAlone } from "../../../flows/read/draft-as-message.ts";
import { messageHistory } from "../../../flows/read/message-history.ts";
import {
  type MessagesPage,
  type MessagesQuery,
  pageBetween,
  pageMessages,
  pageOfThread,
} from "../../../flows/read/page-messages.ts";
import { searchAccount, searchPage } from "../../../flows/read/search-messages.ts";
import { outgoingMailOf } from "../../../flows/send/outgoing-mail.ts";
import { composedMail } from "../../../flows/send/ready-mail.ts";
import { composeMail, mailSize } from "../../../mail/write/compose.ts";
import { attachmentDisposition } from "../../../standards/content-disposition.ts";
import { parseInstant } from "../../../standards/instant.ts";
import {
  findInboxTotals,
  findMessage,
  type InboxTotals,
  type StoredMessage,
} from "../../../store/mail/message-pages.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath, nextCursor, nothing, oneOf, pageQuery, text, totalCount } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import {
  cursorParameter,
  cursorRow,
  cursorSeq,
  includedWords,
  includeParameter,
  instantParameter,
  questionParameter,
  wordsParameter,
  wrongParameter,
} from "../../shell/parameters.ts";
import { inboxPath } from "../account/inboxes.ts";
import { MessageHistory, toEntry } from "./history-shape.ts";
import { ListedMessage, Message, messageIncludes, toListedMessages, toMessage } from "./message-shape.ts";
import { answerFrom, lengthAlone, type StoredBytesDeps, storedBytes, untrustedHeaders } from "./stored-bytes.ts";

export interface ReadingDeps extends Deps {
  links: AttachmentLinks;
}

const direction = Type.Optional(
  oneOf(["inbound", "outbound"], { description: "Only mail that came in, or only mail that went out" }),
);

const MessagesParameters = Type.Object({
  ...pageQuery(),
  direction,
  q: Type.Optional(
    questionParameter(
      'Searches subject, addresses and text. All words must match; `"a phrase"`, `or`, `-not`. Also `from:`, `to:`, `subject:`, `has:attachment`, `is:unread` (messages of unread threads), `before:` and `after:` with a day or an instant; a value with blanks stands in quotes',
      'invoice from:"Jane Doe" has:attachment after:2026-03-01 -draft',
    ),
  ),
  from: Type.Optional(wordsParameter("As `q`, but only in the sender's address and name", examples.sender)),
  to: Type.Optional(wordsParameter("As `q`, but only in the recipients' addresses", examples.address)),
  subject: Type.Optional(wordsParameter("As `q`, but only in the subject", "invoice")),
  has_attachment: Type.Optional(
    Type.Boolean({ description: "Only messages with attachments (`true`) or without (`false`)" }),
  ),
  since: Type.Optional(instantParameter("Not older than this")),
  until: Type.Optional(instantParameter("Older than this")),
  thread_id: alsoNamed(
    "threadId",
    Type.Optional(text({ description: "Only messages of this thread", examples: [examples.threadId] })),
  ),
  cursor: Type.Optional(cursorParameter()),
  include: Type.Optional(includeParameter(messageIncludes)),
});

const SearchParameters = Type.Object({
  limit: MessagesParameters.properties.limit,
  q: MessagesParameters.properties.q,
  inbox_id: alsoNamed(
    "inboxId",
    Type.Optional(text({ description: "Only messages of this inbox", examples: [examples.inboxId] })),
  ),
  direction,
  cursor: Type.Optional(cursorParameter()),
  include: Type.Optional(includeParameter(messageIncludes)),
});

const MessagePage = named(
  "MessagePage",
  Type.Object(
    {
      data: Type.Array(ListedMessage, { description: "Messages, newest first" }),
      total: totalCount("How many messages there are in all; for a search, 1,000 means 1,000 or more"),
      nextCursor: nextCursor(),
      searched: Type.Optional(
        oneOf(["head", "off"], {
          description:
            "Only if words of the search are not indexed of all messages (`searchWords` of the inbox): which words are. `head`: of some messages only those of the subject and the addresses; `off`: of some none",
        }),
      ),
    },
    { description: "A page of messages, and how many there are in all" },
  ),
);

/** An inbox with its totals. Throws `not_found` also for an inbox beyond the reach. */
export async function ownedTotals(deps: Deps, reach: Reach, id: string): Promise<InboxTotals> {
  const totals = isId("inb", id) ? await findInboxTotals(deps.db.api, reach, id) : undefined;
  if (totals === undefined) throw notFound("inbox");
  return totals;
}

export interface MessagesDeps extends ReadingDeps, StoredBytesDeps, Pick<RemovingDeps, "removed"> {}

export function messages(deps: MessagesDeps) {
  const ofMessage = {
    path: idPath("message"),
    whenRefused: whetherThere((reach, id) => ownedMessage(deps, reach, id)),
  };
  return api("/v1", "Messages")
    .get(
      "/messages",
      async ({ account, query }) => {
        const page =
          query.inbox_id === undefined
            ? await pageOfAccount(deps, account.reach, query)
            : await pageOfInbox(deps, account.reach, query.inbox_id, query);
        return shownPage(deps, account.id, page, query);
      },
      operation({
        summary: "Search messages",
        access: "read",
        description:
          "The messages of all inboxes that the caller reaches, newest first, each with its `inboxId`. `cursor` continues after a page and neither skips nor repeats a message while mail arrives. The `total` is exact below 1,000; 1,000 means 1,000 or more. Bodies are cut as in the list of an inbox.",
        query: SearchParameters,
        refuses: ["not_found"],
        answers: { 200: MessagePage },
      }),
    )
    .get(
      "/messages/:id",
      async ({ account, params }) => {
        const message = await messageOrDraft(deps, account.reach, params.id);
        const shown = await toMessage(deps, account.id, message);
        if (shown === undefined) throw notFound("message");
        return shown;
      },
      operation({
        summary: "Get message",
        access: "read",
        description:
          "One message, with newly signed URLs of its attachments, and with its codes, links, and text without quotes. These are extracted at each request; no link is ever fetched.",
        ...ofMessage,
        answers: { 200: Message },
      }),
    )
    .delete(
      "/messages/:id",
      async ({ account, actor, params, set }) => {
        await removeMessage(deps, { ...account.reach, actor }, params.id);
        set.status = 204;
      },
      operation({
        summary: "Delete message",
        access: "full",
        description:
          "Removes it for good: its text, files and raw mail, its words from the search, and its events, of which those that are not delivered yet are not delivered any more. Its thread is made anew from the messages that are left; an empty thread goes too. A repeated copy of the mail is not stored again, and its idempotency key answers 404 `message` until it expires. Mail that is not sent yet cannot be deleted: cancel it first.",
        ...ofMessage,
        refuses: ["send_in_progress"],
        answers: { 204: nothing("Deleted") },
      }),
    )
    .get(
      "/messages/:id/raw",
      async ({ account, params, request }) =>
        rawAnswer(deps, await ownedMessage(deps, account.reach, params.id), request.method === "HEAD"),
      operation({
        summary: "Download raw message",
        access: "read",
        description:
          "The mail itself. For inbound mail the received bytes. For outbound mail the bytes for the relay, without the DKIM signature, which is added when the mail is sent.",
        ...ofMessage,
        answers: {
          200: Type.String({
            description: "The mail",
            contentMediaType: "message/rfc822",
            examples: ["Subject: Your order\r\n\r\nWhere is it?\r\n"],
          }),
        },
      }),
    )
    .get(
      "/messages/:id/history",
      async ({ account, params }) => {
        const { entries, truncated } = await messageHistory(deps, account, params.id);
        return { data: entries.map(toEntry), truncated };
      },
      operation({
        summary: "Get message history",
        access: "read",
        description:
          "What became of a message: its arrival, or each attempt to send it; reports about it; who marked its thread; and what your webhook endpoints answered to its events. It is made from what the service has stored, so what was removed with its retention is missing. `told`, and the names in `read` and `unread`, need full access to the whole account.",
        ...ofMessage,
        answers: { 200: MessageHistory },
      }),
    )
    .get(
      "/inboxes/:id/messages",
      async ({ account, params, query }) =>
        shownPage(deps, account.id, await pageOfInbox(deps, account.reach, params.id, query), query),
      operation({
        summary: "List messages",
        access: "read",
        description:
          "Newest first. A page costs the same at any `offset`. `cursor` continues after a page and neither skips nor repeats a message while mail arrives. A page ends early at about 8 MiB of bodies. A body over 256 KiB is cut (`truncated`), and at most 50 attachments of a message are shown; the single message has everything. All filters apply together. The `total` of a search is exact below 1,000; 1,000 means 1,000 or more.",
        path: inboxPath,
        query: MessagesParameters,
        whenRefused: whetherThere((reach, id) => ownedTotals(deps, reach, id)),
        answers: {
          200: MessagePage,
        },
      }),
    );
}

type Parameters = Pick<Static<typeof MessagesParameters>, "limit" | "direction" | "cursor"> &
  Partial<Static<typeof MessagesParameters>>;

interface Page extends Pick<MessagesPage, "messages" | "total" | "searched"> {
  nextCursor: string | null;
}

async function shownPage(
  deps: MessagesDeps,
  accountId: string,
  { messages, total, nextCursor, searched }: Page,
  { include }: Pick<Parameters, "include">,
) {
  const data = await toListedMessages(deps, accountId, { messages, include: includedWords(include) });
  return { data, total, nextCursor, ...(searched !== undefined && { searched }) };
}

async function pageOfInbox(deps: MessagesDeps, reach: Reach, inboxId: string, query: Parameters): Promise<Page> {
  const question = questionOf(inboxId, query);
  const after = positionAfter(query, question);
  if (after instanceof Refusal) {
    await ownedTotals(deps, reach, inboxId);
    throw after;
  }
  const { conditions, ...filters } = filtersOf(query);
  const { next, ...page } = await askedPage(deps, { ...filters, reach, inboxId, after }, conditions);
  return { ...page, nextCursor: next === undefined ? null : cursorAt(next, question) };
}

async function pageOfAccount(deps: MessagesDeps, reach: Reach, query: Parameters): Promise<Page> {
  const question = questionOf(reach.accountId, query);
  const after =
    query.cursor === undefined ? undefined : cursorRow(query.cursor, question, "instant", "search messages");
  if (after instanceof Refusal) throw after;
  const { conditions, direction, ...filters } = filtersOf(query);
  const asked = { ...filters, conditions: withDirection(conditions, direction), after };
  const { next, ...page } = await searchAccount({ ...deps, db: deps.db.api }, reach, asked);
  return { ...page, nextCursor: next === undefined ? null : cursorAtRow(next, question) };
}

function withDirection(conditions: readonly SearchCondition[], direction: Parameters["direction"]): SearchCondition[] {
  return direction === undefined ? [...conditions] : [...conditions, { kind: "direction", is: direction }];
}

async function rawAnswer(deps: MessagesDeps, message: StoredMessage, isHead: boolean): Promise<Response> {
  const headers = {
    "content-type": "message/rfc822",
    "content-disposition": attachmentDisposition(`${message.id}.eml`),
    ...untrustedHeaders,
  };
  const { sourceId, sizeBytes } = message;
  if (sourceId === null || message.direction === "outbound") return composedAnswer(deps, message, isHead, headers);
  if (isHead) return new Response(lengthAlone(sizeBytes), { headers });
  const whole = { first: 0, last: sizeBytes - 1 };
  return new Response(await storedBytes(deps, deps.db.api, { sourceId, part: 0, sizeBytes }, whole), { headers });
}

async function composedAnswer(
  deps: MessagesDeps,
  message: StoredMessage,
  isHead: boolean,
  headers: Record<string, string>,
): Promise<Response> {
  const { api: db } = deps.db;
  const mail = await outgoingMailOf(db, message);
  if (mail.attachments.length === 0) return new Response(new Uint8Array(composeMail(mail)), { headers });
  const sizeBytes = mailSize(mail, undefined);
  if (isHead) return new Response(lengthAlone(sizeBytes), { headers });
  const wanted = { name: `${message.id}/composed`, sizeBytes, start: 0, end: sizeBytes };
  const body = await answerFrom(deps.answerFiles, wanted, async (write) => {
    for await (const piece of composedMail(db, mail)) await write(piece);
  });
  return new Response(body, { headers });
}

export async function ownedMessage(deps: Deps, reach: Reach, id: string): Promise<StoredMessage> {
  const message = isId("msg", id) ? await findMessage(deps.db.api, reach, id) : undefined;
  if (message === undefined) throw notFound("message");
  return message;
}

/** A message, or a draft whose sending was accepted, which is shown as the message that it will be. */
export async function messageOrDraft(deps: Deps, reach: Reach, id: string): Promise<ShownAlone> {
  const message = isId("msg", id) ? await findMessageOrDraft(deps, reach, id) : undefined;
  if (message === undefined) throw notFound("message");
  return message;
}

async function askedPage(
  deps: MessagesDeps,
  asked: MessagesQuery,
  conditions: readonly SearchCondition[],
): Promise<MessagesPage> {
  const { api: db } = deps.db;
  const { reach, inboxId, direction, threadId, since, until } = asked;
  const isBetween = since !== undefined || until !== undefined;
  const isSearch = conditions.length > 0;
  const isPlain = !isSearch && !isBetween && threadId === undefined;
  if (isPlain && isId("inb", inboxId)) {
    const page = await pageMessages(db, asked);
    if (page !== undefined) return page;
  }
  const totals = await ownedTotals(deps, reach, inboxId);
  // A thread with a further filter is a search too, because message numbers cannot find its pages.
  if (isSearch || (threadId !== undefined && (isBetween || direction !== undefined))) {
    const all = withDirection(conditions, direction);
    if (threadId !== undefined) all.push({ kind: "thread", id: threadId });
    return searchPage({ ...deps, db }, totals, all, asked);
  }
  return threadId === undefined ? pageBetween(db, totals, asked) : pageOfThread(db, threadId, asked);
}

interface Filters extends Omit<MessagesQuery, "reach" | "inboxId" | "after"> {
  conditions: readonly SearchCondition[];
}

/** The filters of a list: its parameters, and what its `q` says. */
function filtersOf(query: Parameters): Filters {
  const asked = questionIn(query.q);
  const since = query.since === undefined ? undefined : parseInstant(query.since);
  const until = query.until === undefined ? undefined : parseInstant(query.until);
  const words = (field: SearchField, text: string | undefined): SearchCondition[] => {
    const question = text === undefined ? undefined : plainQuestion(text);
    return question === undefined ? [] : [{ kind: "words", field, question }];
  };
  return {
    direction: query.direction,
    threadId: query.thread_id,
    since: latest(asked.since, since),
    until: earliest(asked.until, until),
    conditions: [
      ...asked.conditions,
      ...words("from", query.from),
      ...words("to", query.to),
      ...words("subject", query.subject),
      ...(query.has_attachment === undefined ? [] : [{ kind: "attachment" as const, is: query.has_attachment }]),
    ],
    limit: query.limit,
    offset: query.offset ?? 0,
  };
}

/** The parts of `q`, whose schema has refused one with a fault. */
function questionIn(text: string | undefined): SearchQuestion {
  const question = text === undefined ? undefined : readQuestion(text);
  return question === undefined || "fault" in question
    ? { conditions: [], since: undefined, until: undefined }
    : question;
}

/** All filters of a list, without its limit and offset. A cursor is valid only for the same filters. */
function questionOf(inboxId: string, query: Parameters): unknown {
  const { limit: _limit, offset: _offset, ...filters } = filtersOf(query);
  return [inboxId, filters];
}

function positionAfter({ cursor, offset = 0 }: Parameters, question: unknown): number | Refusal | undefined {
  if (cursor === undefined) return undefined;
  if (offset > 0) return wrongParameter("offset", "must be left out with `cursor`", "list messages");
  return cursorSeq(cursor, question, "list messages");
}
