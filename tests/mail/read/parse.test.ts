import { afterAll, describe, expect, test } from "bun:test";
import type { ParsedAttachment, ParsedMail } from "../../../src/domain/message.ts";
import { mailParser } from "../../../src/mail/read/parse.ts";

const parser = mailParser({ mailDomain: "inbox.localhost" });
afterAll(() => parser.close());

/** The bytes of a text, with one byte for each character. */
function mail(...lines: string[]): Uint8Array {
  return new Uint8Array(Buffer.from(lines.join("\r\n"), "latin1"));
}

function parse(...lines: string[]): Promise<ParsedMail> {
  return parser.parse(mail(...lines));
}

/** The only part of a multipart/mixed beside its text. */
async function attached(...part: string[]): Promise<ParsedAttachment | undefined> {
  const head = ["From: a@b.example", "Content-Type: multipart/mixed; boundary=b", "", "--b", "", "see file", "--b"];
  const parsed = await parse(...head, ...part, "--b--", "");
  expect(parsed.bodyText).toBe("see file");
  expect(parsed.attachments.length).toBe(1);
  return parsed.attachments[0];
}

const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString();

describe("an ordinary mail", () => {
  test("has its sender, recipients and subject", async () => {
    const parsed = await parse(
      "Message-ID: <Abc@Example.COM>",
      "In-Reply-To: <one@x.example>",
      "References: <zero@x.example>",
      "\t<one@x.example>",
      "From: =?utf-8?Q?J=C3=BCrgen?= Doe <jane@example.com>",
      "Reply-To: Desk <desk@example.com>",
      'To: "Ada, the bot" <ada@inbox.localhost>, bob@example.com',
      "Cc: team: c@example.com, d@example.com;",
      "Subject: =?utf-8?B?R3LDvMOfZQ==?= from",
      " here",
      "",
      "Hello",
      "",
      "Jane",
      "",
    );
    expect(parsed).toEqual({
      messageId: "Abc@Example.COM",
      inReplyTo: ["one@x.example"],
      references: ["zero@x.example", "one@x.example"],
      from: { address: "jane@example.com", name: "Jürgen Doe" },
      replyTo: "desk@example.com",
      to: [{ address: "ada@inbox.localhost", name: "Ada, the bot" }, { address: "bob@example.com" }],
      cc: [{ address: "c@example.com" }, { address: "d@example.com" }],
      subject: "Grüße from here",
      bodyText: "Hello\n\nJane",
      bodyHtml: undefined,
      attachments: [],
      signs: {},
      complete: true,
    });
  });

  test("with only HTML gets a text", async () => {
    const parsed = await parse("Content-Type: text/html; charset=utf-8", "", "<p>Hello <b>Ada</b></p>", "");
    expect(parsed.bodyHtml).toBe("<p>Hello <b>Ada</b></p>");
    expect(parsed.bodyText).toBe("Hello Ada");
  });

  test("with a blank text alternative too", async () => {
    const parsed = await parse(
      "Content-Type: multipart/alternative; boundary=b",
      "",
      "--b",
      "",
      " ",
      "--b",
      "Content-Type: text/html",
      "",
      "<p>Hello</p>",
      "--b--",
    );
    expect(parsed.bodyText).toBe("Hello");
  });

  test("in another charset is read in it", async () => {
    const parsed = await parse(
      "Content-Type: text/plain; charset=koi8-r",
      "Content-Transfer-Encoding: 8bit",
      "",
      "\xf0\xd2\xc9",
    );
    expect(parsed.bodyText).toBe("При");
  });

  test("with only headers is whole", async () => {
    expect(await parse("Subject: hi", "", "")).toMatchObject({ subject: "hi", bodyText: "", complete: true });
    expect(await parse("Subject: hi")).toMatchObject({ subject: "hi", bodyText: "", complete: true });
  });

  test("without anything is a mail all the same", async () => {
    const parsed = await parser.parse(new Uint8Array());
    expect(parsed).toMatchObject({
      from: undefined,
      to: [],
      subject: "",
      bodyText: "",
      attachments: [],
      signs: {},
      complete: true,
    });
    expect(parsed.messageId).toEndWith("@inbox.localhost");
  });
});

describe("headers that are not as they should be", () => {
  test.each([
    ["raw ISO-8859-1 bytes", "Subject: Fr\xf6sche", "Frösche"],
    ["raw UTF-8", "Subject: Fr\xc3\xb6sche", "Frösche"],
    ["raw bytes inside an encoded word", "Subject: =?iso-8859-1?Q?Fr\xf6sche?=", "Frösche"],
    ["a line break inside an encoded word", "Subject: =?utf-8?Q?Hi=0D=0ABcc:_eve?=", "Hi Bcc: eve"],
    ["NUL inside an encoded word", "Subject: =?utf-8?Q?a=00b?=", "a\ufffdb"],
    ["a charset that nobody knows", "Subject: =?x-unheard?Q?hello?=", "hello"],
    ["the first of two counts", "Subject: one\r\nSubject: two", "one"],
  ])("Subject, %s", async (_what, header, subject) => expect((await parse(header, "", "")).subject).toBe(subject));

  test.each([
    ["several", "From: a@x.example, b@x.example", { address: "a@x.example" }],
    ["a group", "From: Us: a@x.example, b@x.example;", { address: "a@x.example" }],
    ["an empty group", "From: undisclosed-recipients:;", undefined],
    ["a name alone", "From: Jane Doe", undefined],
    ["nothing", "From:", undefined],
    [
      "another mailer's raw bytes in the name",
      "From: J\xfcrgen <a@x.example>",
      { address: "a@x.example", name: "Jürgen" },
    ],
    [
      "control characters in the name",
      "From: =?utf-8?Q?a=0Ab?= <a@x.example>",
      { address: "a@x.example", name: "a b" },
    ],
    ["an address no one could write to", `From: ${"a".repeat(600)}@x.example`, undefined],
  ])("From, %s", async (_what, header, from) => expect((await parse(header, "", "")).from).toEqual(from));

  test("a mail without Message-ID always gets the same one", async () => {
    const [first, again, other] = await Promise.all([
      parse("Subject: a", "", "b"),
      parse("Subject: a", "", "b"),
      parse("Subject: a", "", "c"),
    ]);
    expect(again.messageId).toBe(first.messageId);
    expect(other.messageId).not.toBe(first.messageId);
  });

  test("a type without its semicolon is understood", async () => {
    const parsed = await parse('Content-Type: multipart/mixed\r\n\tboundary="b"', "", "--b", "", "Hello", "--b--");
    expect(parsed.bodyText).toBe("Hello");
  });

  test("a type that is none is text (RFC 2045 §5.2)", async () => {
    expect(await parse("Content-Type: text", "", "Hello")).toMatchObject({ bodyText: "Hello", attachments: [] });
  });

  test.each([
    ["without boundary", "Content-Type: multipart/mixed"],
    ["whose delimiter never comes", "Content-Type: multipart/mixed; boundary=zzz"],
  ])("a multipart %s is shown as text", async (_what, header) => {
    expect((await parse(header, "", "--b", "", "Hello", "--b--")).bodyText).toContain("Hello");
  });
});

describe("attachments", () => {
  test("keep their bytes in every encoding", async () => {
    const base64 = await attached(
      "Content-Type: application/pdf; name=x.pdf",
      "Content-Transfer-Encoding: base64",
      "",
      "AAEC/w==",
    );
    expect(base64?.bytes).toEqual(new Uint8Array([0, 1, 2, 255]));
    const eightBit = await attached(
      "Content-Type: text/csv; name=x.csv",
      "Content-Transfer-Encoding: 8bit",
      "",
      "a,\xff",
      "1,2",
      "",
    );
    expect(eightBit?.bytes).toEqual(mail("a,\xff", "1,2", ""));
    const printable = await attached(
      "Content-Type: text/csv; name=x.csv",
      "Content-Transfer-Encoding: quoted-printable",
      "",
      "a=3D=FF,=",
      "b  ",
      "c",
    );
    expect(printable?.bytes).toEqual(mail("a=\xff,b", "c"));
  });

  test("of text without a line break at the end have none", async () => {
    const file = await attached("Content-Disposition: attachment; filename=notes.txt", "", "hello");
    expect(text(file?.bytes)).toBe("hello");
    expect(file).toMatchObject({ filename: "notes.txt", contentType: "text/plain", inline: false });
  });

  test("padded line by line are read to the end", async () => {
    const file = await attached(
      "Content-Type: application/x-a",
      "Content-Transfer-Encoding: base64",
      "",
      "YQ==",
      "YmM=",
      "ZGVm",
    );
    expect(text(file?.bytes)).toBe("abcdef");
  });

  test("that are mails are kept whole", async () => {
    const inner = ["Subject: inner", "Content-Type: multipart/mixed; boundary=c", "", "--c", "", "inside", "--c--"];
    const file = await attached("Content-Type: message/rfc822", "", ...inner);
    expect(file).toMatchObject({ filename: "attachment-1.eml", contentType: "message/rfc822", bytes: mail(...inner) });
  });

  test("with a Content-ID are inline", async () => {
    const file = await attached(
      "Content-Type: image/png",
      "Content-ID: <logo@x>",
      "Content-Transfer-Encoding: base64",
      "",
      "AAEC",
    );
    expect(file).toMatchObject({ filename: "attachment-1.png", contentId: "logo@x", inline: true });
  });

  test("of text that a mailer calls inline are files when they have a name", async () => {
    const file = await attached(
      "Content-Type: text/plain; charset=us-ascii",
      "Content-Disposition: inline;",
      ' filename="log.txt"',
      "",
      "line",
    );
    expect(file).toMatchObject({ filename: "log.txt", contentType: "text/plain", inline: true });
    expect(text(file?.bytes)).toBe("line");
  });

  test.each([
    ["raw ISO-8859-1", 'Content-Disposition: attachment; filename="Fr\xf6sche.txt"', "Frösche.txt"],
    ["RFC 2231", "Content-Disposition: attachment; filename*=utf-8''Fr%C3%B6sche.txt", "Frösche.txt"],
    [
      "RFC 2231 in pieces",
      "Content-Disposition: attachment; filename*0*=utf-8''Fr%C3; filename*1*=%B6sche.txt",
      "Frösche.txt",
    ],
    [
      "RFC 2047 where it is not allowed",
      'Content-Disposition: attachment; filename="=?utf-8?Q?Fr=C3=B6sche.txt?="',
      "Frösche.txt",
    ],
    ["a path", 'Content-Disposition: attachment; filename="../../etc/passwd"', "passwd"],
    ["a boundary in a name", 'Content-Disposition: attachment; filename="; boundary=c"', "; boundary=c"],
    ["parentheses", "Content-Disposition: attachment; filename=Invoice(1).pdf", "Invoice(1).pdf"],
    ["nothing", "Content-Disposition: attachment", "attachment-1.txt"],
  ])("are named by %s", async (_what, header, filename) =>
    expect((await attached(header, "", "x"))?.filename).toBe(filename),
  );

  test.each([
    ["IMAGE/PNG", "image/png"],
    ["nonsense/", "application/octet-stream"],
    ['"a b"/c', "application/octet-stream"],
  ])("of type %s are %s", async (given, contentType) => {
    expect(await attached(`Content-Type: ${given}`, "Content-Disposition: attachment", "", "x")).toMatchObject({
      contentType,
    });
  });

  test("with comments in their headers are read without these", async () => {
    const file = await attached(
      "Content-Type: application/pdf (a comment); name=x.pdf",
      "Content-Transfer-Encoding: (c) base64",
      "",
      "AAEC",
    );
    expect(file).toMatchObject({ filename: "x.pdf", bytes: new Uint8Array([0, 1, 2]) });
  });

  test("are distinguished even if their contents suggest otherwise", async () => {
    const parsed = await parse(
      "Content-Type: multipart/mixed; boundary=b",
      "",
      "--b",
      "Content-Type: application/x-a",
      "",
      "attachment body 1",
      "--b",
      "Content-Type: application/x-a (c)",
      "",
      "attachment body 0",
      "--b",
      "Content-Type: application/x-a",
      "",
      "third",
      "--b--",
    );
    expect(parsed.attachments.map(({ bytes }) => text(bytes).trim())).toEqual([
      "attachment body 1",
      "attachment body 0",
      "third",
    ]);
  });
});
