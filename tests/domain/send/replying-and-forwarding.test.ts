import { describe, expect, test } from "bun:test";
import { Refusal } from "../../../src/domain/errors.ts";
import { forwardSubject } from "../../../src/domain/quote.ts";
import {
  type AskedAttachment,
  attachmentFaults,
  givenMediaType,
  inheritedMediaType,
} from "../../../src/domain/send/attachment-words.ts";
import { type AskedBodies, resolveBodies } from "../../../src/domain/send/body-format.ts";
import { type AskedTogether, faultsOfCombination } from "../../../src/domain/send/combinations.ts";
import {
  type ForwardedMessage,
  forwardedAttachments,
  nameOfForwardedMail,
  withForwardedText,
} from "../../../src/domain/send/forward.ts";
import {
  type AnsweredMessage,
  type Replying,
  replyRecipients,
} from "../../../src/domain/send/recipients/reply-recipients.ts";
import { withForwardedHtml } from "../../../src/mail/html/quote-html.ts";
import { sevenBitCheck } from "../../../src/mail/write/seven-bit.ts";

function reasonOf(ask: () => unknown): string | undefined {
  try {
    ask();
  } catch (error) {
    return error instanceof Refusal ? error.reason : String(error);
  }
  return undefined;
}

const ada = "ada@inbox.localhost";
const bob = "bob@x.example";
const inbound: AnsweredMessage = {
  direction: "inbound",
  fromAddr: bob,
  replyTo: [],
  isFromNobody: false,
  to: ["Ada+tag@inbox.localhost", "cy@x.example"],
  cc: ["BOB@x.example", "di@x.example", ada, "no address"],
};
const one: Replying = {
  mailDomain: "inbox.localhost",
  ownAddresses: [ada],
  replyAll: false,
  callersCc: [],
  callersBcc: [],
  max: 5,
};
const all = { ...one, replyAll: true };

describe("who is answered", () => {
  const rows: readonly [what: string, answered: AnsweredMessage, replying: Replying, who: string[] | string][] = [
    ["the sender", inbound, one, [`to ${bob}`]],
    ["where he wants answers", { ...inbound, replyTo: ["list@x.example"] }, one, ["to list@x.example"]],
    [
      "at all addresses where he wants answers",
      { ...inbound, replyTo: ["list@x.example", "me@x.example", "Ada@inbox.localhost", "no address"] },
      one,
      ["to list@x.example", "to me@x.example"],
    ],
    ["the same as before", { ...inbound, direction: "outbound", to: ["cy@x.example"] }, one, ["to cy@x.example"]],
    ["all but ourselves", inbound, all, [`to ${bob}`, "to cy@x.example", "cc di@x.example"]],
    [
      "all and the caller's own, but not ourselves",
      inbound,
      {
        ...all,
        callersCc: [{ address: ada, name: undefined, type: "cc" }],
        callersBcc: [{ address: "ed@x.example", name: undefined, type: "bcc" }],
      },
      [`to ${bob}`, "to cy@x.example", "cc di@x.example", "bcc ed@x.example"],
    ],
    [
      "the others, where we wrote it ourselves",
      { ...inbound, fromAddr: ada },
      all,
      ["to cy@x.example", "cc BOB@x.example", "cc di@x.example"],
    ],
    ["nobody without From", { ...inbound, fromAddr: "" }, one, "no_recipient"],
    ["nobody where we wrote to ourselves", { ...inbound, fromAddr: "ADA+x@inbox.localhost" }, one, "no_recipient"],
    ["nobody behind a report", { ...inbound, isFromNobody: true }, all, "no_recipient"],
    ["not too many", inbound, { ...all, max: 2 }, "validation_error"],
  ];
  test.each(rows)("%s", (_, answered, replying, who) => {
    if (typeof who === "string") expect(reasonOf(() => replyRecipients(answered, replying))).toBe(who);
    else expect(replyRecipients(answered, replying).map(({ type, address }) => `${type} ${address}`)).toEqual(who);
  });
});

const original: ForwardedMessage = {
  from: { address: bob, name: "Bob" },
  at: new Date("2026-03-03T14:05:00Z"),
  subject: "Lunch\r\nTo: x",
  to: [ada],
  cc: [],
  bodyText: "See you",
  bodyHtml: '<p onclick="x">See <img src="cid:a@b" width="9"><img src="http://t"></p>',
};
const head = `---------- Forwarded message ----------
From: Bob <bob@x.example>
Date: Tue, 3 Mar 2026 at 14:05 UTC
Subject: Lunch To: x
To: ada@inbox.localhost`;

describe("a forward", () => {
  test("has the caller's text before the message", () => {
    expect(withForwardedText("Look\n", original)).toBe(`Look\n\n${head}\n\nSee you`);
    expect(withForwardedText("", original)).toBe(`${head}\n\nSee you`);
  });

  test("cuts a text over 1 MiB", () => {
    const text = withForwardedText("", { ...original, bodyText: "ü".repeat(600_000) });
    expect(text).toEndWith("ü\n[...]");
    expect(Buffer.byteLength(text)).toBeLessThan(1024 * 1024 + 300);
  });

  test("shows of the HTML what is harmless, and pictures that go along", () => {
    const html = withForwardedHtml({ text: "a < b", html: undefined }, original, new Set(["a@b"]));
    expect(html).toStartWith("<div>a &lt; b</div>\n<div><br>---------- Forwarded message");
    expect(html).toContain("<b>From:</b> Bob &lt;bob@x.example&gt;<br>");
    expect(html).toContain('<p>See <img src="cid:a@b" alt width="9" /><span></span></p>'.replace(" alt ", ' alt="" '));
    expect(withForwardedHtml({ text: "", html: "<p>a</p>" }, original, new Set())).not.toContain("<img");
  });

  test.each([
    ["Lunch", "Fwd: Lunch"],
    ["FW: Lunch", "FW: Lunch"],
    ["Fwd: Lunch", "Fwd: Lunch"],
    ["", "Fwd:"],
  ])("of %p is called %p", (subject, expected) => {
    expect(forwardSubject(subject)).toBe(expected);
  });

  test.each([
    ["Offer 1/2", "Offer 1-2.eml"],
    ["", "message.eml"],
    ["a\u202eb\r\n", "ab.eml"],
  ])("as an attachment, of %p, is the file %p", (subject, name) => {
    expect(nameOfForwardedMail(subject)).toBe(name);
  });

  test("takes attachments along, without a Content-ID that is taken or can't be named", () => {
    const picture = { filename: "a.png", contentType: "image/png", inline: true };
    const ids = (contentIds: string[]) =>
      forwardedAttachments(
        contentIds.map((contentId) => ({ ...picture, contentId })),
        ["own"],
      ).map(({ contentId, inline }) => `${contentId} ${inline}`);
    expect(ids(["a", "own", "a", "b c"])).toEqual(["a true", "undefined false", "undefined false", "undefined false"]);
  });

  const sources: readonly [what: string, pieces: string[], holds: boolean][] = [
    ["lines", ["a\r", "\nb\r\n"], true],
    ["a last line without an end", ["a\r\nb"], true],
    ["a bare LF", ["a\n"], false],
    ["a bare CR", ["a\rb"], false],
    ["a CR at the end", ["a\r"], false],
    ["NUL", ["\0"], false],
    ["8 bits", ["é"], false],
    ["998 octets", [`${"a".repeat(998)}\r\n`], true],
    ["999 octets", ["a".repeat(500), "a".repeat(499)], false],
  ];
  test.each(sources)("goes as it is, or does not, with %s", (_, pieces, holds) => {
    const check = sevenBitCheck();
    for (const piece of pieces) check.see(Buffer.from(piece));
    expect(check.holds()).toBe(holds);
  });
});

describe("attachments", () => {
  const rows: readonly [what: string, asked: AskedAttachment, fields: string[]][] = [
    ["content with a name", { content: "aGk=", filename: "a" }, []],
    ["an upload alone", { uploadId: "upl" }, []],
    ["no source", { filename: "a" }, [""]],
    ["two sources", { content: "", uploadId: "upl", filename: "a" }, [""]],
    ["content without a name", { content: "" }, ["/filename"]],
    ["a message without a name", { messageId: "msg" }, ["/filename"]],
    ["base64 without padding", { content: "aGk", filename: "a" }, ["/content"]],
    ["base64 in lines", { content: "aG\nk", filename: "a" }, ["/content"]],
    ["a type with parameters", { uploadId: "u", contentType: "text/plain; charset=x" }, ["/contentType"]],
    ["inline without Content-ID", { uploadId: "u", inline: true }, ["/contentId"]],
    ["a Content-ID with a line break", { uploadId: "u", contentId: "a\r\nb" }, ["/contentId"]],
  ];
  test.each(rows)("%s", (_, asked, fields) => {
    const pointers = attachmentFaults([asked]).map((fault) => ("pointer" in fault ? fault.pointer : ""));
    expect(pointers).toEqual(fields.map((field) => `#/attachments/0${field}`));
  });

  test("have different Content-IDs", () => {
    expect(
      attachmentFaults([
        { uploadId: "u", contentId: "a" },
        { uploadId: "u", contentId: "a" },
      ]),
    ).toHaveLength(1);
  });

  test("are of types that may be carried", () => {
    expect(["Image/PNG", "message/rfc822", "message/partial", "multipart/mixed", "png"].map(givenMediaType)).toEqual([
      "image/png",
      "message/rfc822",
      undefined,
      undefined,
      undefined,
    ]);
    expect(inheritedMediaType("multipart/mixed", "a")).toBe("application/octet-stream");
    expect(inheritedMediaType(undefined, "a.JPEG")).toBe("image/jpeg");
    expect(inheritedMediaType(undefined, "a.ics")).toBe("text/calendar");
    expect(inheritedMediaType(undefined, "a")).toBe("application/octet-stream");
  });
});

describe("bodies by format", () => {
  const rows: readonly [asked: Partial<AskedBodies>, text: string, html: string | undefined][] = [
    [{ body: "<p>a</p>" }, "text of <p>a</p>", "<p>a</p>"],
    [{ body: "a" }, "a", undefined],
    [{ body: "a", bodyHtml: "<b>a</b>" }, "a", "<b>a</b>"],
    [{ body: "<p>a</p>", bodyFormat: "text" }, "<p>a</p>", undefined],
    [{ body: "a", bodyFormat: "html" }, "text of a", "a"],
    [{ body: "*a*", bodyFormat: "markdown" }, "*a*", "made"],
    [{}, "", undefined],
  ];
  test.each(rows)("%p", (asked, text, html) => {
    const reading = { textOfHtml: (html: string) => `text of ${html}`, markdownHtml: "made" };
    const bodies = resolveBodies({ body: undefined, bodyHtml: undefined, bodyFormat: undefined, ...asked }, reading);
    expect(bodies).toEqual({ text, html });
  });
});

describe("fields together", () => {
  const mail = { to: "a", subject: "s", body: "b" };
  const rows: readonly [what: string, asked: AskedTogether, pointers: string[]][] = [
    ["a mail", mail, []],
    ["nothing", {}, ["#/to", "#/subject", "#/body"]],
    ["a reply", { replyToMessageId: "m", body: "b" }, []],
    ["a reply to all", { threadId: "t", replyAll: true, body: "b" }, []],
    ["a reply to all and to", { threadId: "t", replyAll: true, to: "a", body: "b" }, ["#/to"]],
    ["a reply to all of nothing", { replyAll: true, subject: "s", body: "b" }, ["#/replyAll"]],
    ["a forward", { forwardOf: "m", to: "a", threadId: "t" }, []],
    ["a forward to nobody", { forwardOf: "m", threadId: "t" }, ["#/to"]],
    ["a forward that answers", { forwardOf: "m", to: "a", replyToMessageId: "m" }, ["#/replyToMessageId"]],
    [
      "what only forwards have",
      { ...mail, forwardAs: "attachment", includeAttachments: false },
      ["#/forwardAs", "#/includeAttachments"],
    ],
    ["defaults of theirs", { ...mail, forwardAs: "inline", includeAttachments: true, replyAll: false }, []],
    ["HTML beside Markdown", { ...mail, bodyFormat: "markdown", bodyHtml: "h" }, ["#/bodyHtml"]],
    [
      "an unanswered reply, to what was read",
      { body: "b", to: bob, threadId: "t", readUpToMessageId: "m", ifUnanswered: true },
      [],
    ],
    ["an unanswered reply to nothing read", { body: "b", threadId: "t", ifUnanswered: true }, ["#/readUpToMessageId"]],
    [
      "an unanswered mail that is no reply",
      { ...mail, readUpToMessageId: "m", ifUnanswered: true },
      ["#/ifUnanswered"],
    ],
    ["an unanswered reply, as it is by default", { body: "b", threadId: "t", ifUnanswered: false }, []],
    ["HTML beside text", { ...mail, bodyFormat: "text", bodyHtml: "h" }, ["#/bodyHtml"]],
  ];
  test.each(rows)("%s", (_, asked, pointers) => {
    const faults = faultsOfCombination(asked);
    expect(faults.map((fault) => ("pointer" in fault ? fault.pointer : ""))).toEqual(pointers);
  });
});
