import { describe, expect, test } from "bun:test";
import type { QuotedMessage } from "../../../src/domain/quote.ts";
import {
  type Content,
  type Replied,
  type RepliedThread,
  replyContent,
} from "../../../src/domain/send/reply-content.ts";
import type { SendRequest } from "../../../src/domain/send/send.ts";

const attribution = "On Tue, 3 Mar 2026 at 14:05 UTC, Jane Doe <jane@example.com> wrote:";

const replied: Replied = {
  id: "msg-2",
  seq: 2,
  fromAddr: "jane@example.com",
  fromName: "Jane Doe",
  createdAt: new Date("2026-03-03T14:05:00Z"),
  direction: "inbound",
  toAddr: "ada@mail.test",
  toAddrs: ["ada@mail.test"],
  cc: [],
  replyTo: null,
  replyTos: null,
  envelopeFrom: "jane@example.com",
  bodyText: "See you at noon",
  bodyHtml: "<p>See you at noon</p>",
  rfcMessageId: "2@example.com",
  wireName: null,
};

function named(rfcMessageId: string, wireName: string | null = null) {
  return { rfcMessageId, wireName };
}

const thread: RepliedThread = {
  subject: "Lunch",
  messageIds: [named("1@example.com"), named("2@example.com")],
  replied,
  quoted: replied,
};

interface Asked extends Partial<Pick<SendRequest, "subject" | "includeQuote">> {
  html?: string;
}

function content(of: RepliedThread | undefined, { html, subject, includeQuote = true }: Asked = {}, isRenamed = false) {
  const request: SendRequest = {
    account: { id: "account", keyId: "key", plan: "free" },
    inboxId: "inbox",
    idempotencyKey: "key",
    recipients: [{ address: "jane@example.com", name: undefined, type: "to" }],
    subject,
    body: "Gladly",
    bodyHtml: html,
    threadId: of && "thread",
    includeQuote,
    replyTo: undefined,
    readUpToMessageId: undefined,
    autoSubmitted: undefined,
    ignoreLoop: undefined,
  };
  const quotes: QuotedMessage[] = [];
  const withHtmlQuote = (own: string, previous: QuotedMessage) => {
    quotes.push(previous);
    return `${own}<blockquote>${previous.bodyHtml}</blockquote>`;
  };
  const rfcMessageId = "own@mail.test";
  const says = replyContent({ request, text: "Gladly", html, rfcMessageId }, of, { withHtmlQuote, isRenamed });
  return { says, quotes };
}

const unquoted = { bodyText: "Gladly", bodyHtml: undefined };
const ofThread = { subject: "Re: Lunch", inReplyTo: "2@example.com", references: ["1@example.com", "2@example.com"] };
const quotedText = `Gladly\n\n${attribution}\n> See you at noon`;
const quotedHtml = "<b>Gladly</b><blockquote><p>See you at noon</p></blockquote>";

describe("what a mail says", () => {
  const rows: [string, RepliedThread | undefined, Asked, Content][] = [
    [
      "a first mail answers nothing",
      undefined,
      { subject: "Lunch" },
      { ...unquoted, subject: "Lunch", inReplyTo: undefined, references: [] },
    ],
    ["a reply in text quotes text", thread, {}, { ...ofThread, bodyText: quotedText, bodyHtml: undefined }],
    [
      "a reply in HTML quotes both",
      thread,
      { html: "<b>Gladly</b>" },
      { ...ofThread, bodyText: quotedText, bodyHtml: quotedHtml },
    ],
    [
      "includeQuote false leaves the quote out, not what it answers",
      thread,
      { html: "<b>Gladly</b>", includeQuote: false },
      { ...ofThread, bodyText: "Gladly", bodyHtml: "<b>Gladly</b>" },
    ],
    [
      "its own subject stays as it is",
      thread,
      { subject: "Dinner" },
      { ...ofThread, subject: "Dinner", bodyText: quotedText, bodyHtml: undefined },
    ],
    [
      "a subject that is an answer's already gets no second Re:",
      { ...thread, subject: "RE: Lunch" },
      { includeQuote: false },
      { ...ofThread, ...unquoted, subject: "RE: Lunch" },
    ],
    [
      "where the last message failed the one before is answered, and both are named",
      { ...thread, messageIds: [...thread.messageIds, named("failed@mail.test")] },
      {},
      {
        ...ofThread,
        references: ["1@example.com", "failed@mail.test", "2@example.com"],
        bodyText: quotedText,
        bodyHtml: undefined,
      },
    ],
    [
      "where no reader has a part in the last message it is answered, and an earlier one is quoted",
      { ...thread, replied: { ...replied, rfcMessageId: "3@example.com", bodyText: "Only for you" } },
      {},
      {
        ...ofThread,
        inReplyTo: "3@example.com",
        references: ["1@example.com", "2@example.com", "3@example.com"],
        bodyText: quotedText,
        bodyHtml: undefined,
      },
    ],
    [
      "where none may be quoted there is no quote",
      { ...thread, quoted: undefined },
      { html: "<b>Gladly</b>" },
      { ...ofThread, bodyText: "Gladly", bodyHtml: "<b>Gladly</b>" },
    ],
    [
      "where all have failed nothing is quoted",
      { ...thread, replied: undefined, quoted: undefined, messageIds: [named("failed@mail.test")] },
      { html: "<b>Gladly</b>" },
      {
        subject: "Re: Lunch",
        inReplyTo: undefined,
        references: ["failed@mail.test"],
        bodyText: "Gladly",
        bodyHtml: "<b>Gladly</b>",
      },
    ],
  ];
  test.each(rows)("%s", (_, of, asked, says) => {
    expect(content(of, asked).says).toEqual(says);
  });
});

describe("the HTML of a quote is made of", () => {
  const rows: [string, Partial<Replied>, Partial<QuotedMessage>][] = [
    ["the HTML of the message", {}, { bodyHtml: "<p>See you at noon</p>", bodyText: "See you at noon" }],
    ["its text where it has none", { bodyHtml: null }, { bodyHtml: undefined, bodyText: "See you at noon" }],
    ["its writer", {}, { from: { address: "jane@example.com", name: "Jane Doe" } }],
    ["a writer without a name", { fromName: null }, { from: { address: "jane@example.com" } }],
    ["nobody where it has no sender", { fromAddr: "", fromName: "Jane" }, { from: undefined }],
  ];
  test.each(rows)("%s", (_, facts, quote) => {
    const { quotes } = content({ ...thread, quoted: { ...replied, ...facts } }, { html: "<b>Gladly</b>" });
    expect(quotes).toHaveLength(1);
    expect(quotes[0]).toMatchObject(quote);
  });

  test("nothing where the caller wrote text alone", () => {
    expect(content(thread).quotes).toEqual([]);
  });
});
