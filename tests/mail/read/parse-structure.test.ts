import { describe, expect, test } from "bun:test";
import { parseMail } from "../../../src/mail/read/parse.ts";
import { filesOf, readMail } from "../../support/read-mail.ts";

/** The parts of a mail, with their ranges and types. */

const mixed = "Content-Type: multipart/mixed; boundary=q\n\n";
const alternative = "Content-Type: multipart/alternative; boundary=q\n\n";

type Read = { text: string; files?: [name: string, content: string][]; html?: string };
type Row = [what: string, mail: string, read: Read];

async function expectRead(mail: string, { text, files = [], html }: Read): Promise<void> {
  const parsed = await readMail(mail);
  expect({ text: parsed.bodyText, files: filesOf(parsed), html: parsed.bodyHtml }).toEqual({ text, files, html });
  expect(parsed.complete).toBe(true);
}

const csv = "--q\nContent-Type: text/csv\nContent-Disposition: attachment; filename=t.csv\n\na\nb\n--q--\n";
const binary = "--q\nContent-Type: application/x\nContent-Transfer-Encoding: binary\n\n\0\r\x80\n\n\n--q--\n";

describe("a file has the bytes that its sender wrote", () => {
  test.each<Row>([
    ["alone beside a text", `${mixed}--q\n\nhi\n${csv}`, { text: "hi", files: [["t.csv", "a\r\nb"]] }],
    [
      "behind a part without a body",
      `${mixed}--q\n\nhi\n--q\nContent-Type: application/x\n\n${csv}`,
      {
        text: "hi",
        files: [
          ["attachment-1.bin", ""],
          ["t.csv", "a\r\nb"],
        ],
      },
    ],
    [
      "behind a part whose headers a delimiter ends",
      `${mixed}--q\n\nhi\n--q\nContent-Type: application/x\n${csv}`,
      {
        text: "hi",
        files: [
          ["attachment-1.bin", ""],
          ["t.csv", "a\r\nb"],
        ],
      },
    ],
    ["behind a part without anything", `${mixed}--q\n\nhi\n--q\n${csv}`, { text: "hi", files: [["t.csv", "a\r\nb"]] }],
    [
      "of any bytes",
      `${mixed}--q\n\nhi\n--q\nContent-Type: application/x\n${binary}`,
      {
        text: "hi",
        files: [
          ["attachment-1.bin", ""],
          ["attachment-2.bin", "\0\r\x80\r\n\r\n"],
        ],
      },
    ],
    [
      "of text that a comment stands beside",
      `${mixed}--q\n\nhi\n--q\nContent-Type: text/csv (of sums)\n\na\n\n--q--\n`,
      { text: "hi", files: [["attachment-1.csv", "a\r\n"]] },
    ],
    [
      "of a calendar, whose line ends a reader may not touch",
      `${mixed}--q\n\nhi\n--q\nContent-Type: text/calendar; method=request\n\nBEGIN:VCALENDAR\nEND:VCALENDAR\n\n--q--\n`,
      { text: "hi", files: [["attachment-1.ics", "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n"]] },
    ],
    [
      "in uuencode",
      `${mixed}--q\n\nhi\n--q\nContent-Type: image/x\nContent-Transfer-Encoding: x-uuencode\n\nbegin 644 cat.txt\n#0V%T\n\`\nend\n--q--\n`,
      { text: "hi", files: [["attachment-1.bin", "Cat"]] },
    ],
    [
      "as the mail itself",
      "Content-Type: text/csv\nContent-Disposition: attachment; filename=t.csv\n\na\nb\n",
      { text: "", files: [["t.csv", "a\r\nb\r\n"]] },
    ],
  ])("%s", (_what, mail, read) => expectRead(mail, read));
});

describe("headers end at a line that cannot be a field", () => {
  test.each<Row>([
    ["at an empty line", "From: a@x\nSubject: s\n\nHi\n", { text: "Hi" }],
    ["at a line that is none", "From: a@x\nSubject: s\nHi\n", { text: "Hi" }],
    ["at a line whose colon stands behind a space", "From: a@x\nHi there: you\n", { text: "Hi there: you" }],
    ["at an address of the web", "From: a@x\nhttps://x.example/\n", { text: "https://x.example/" }],
    ["at a last line that begins with a colon", "From: a@x\n: hi\n", { text: ": hi" }],
    ["not at a colon without a name", "From: a@x\n: lost\n:\nSubject: s\n\nHi\n", { text: "Hi" }],
    ["not at a colon before the empty line", "From: a@x\n: lost\n\nHi\n", { text: "Hi" }],
    ["at a line of letters beyond ASCII", "From: a@x\n\xc3\xbc: hi\n", { text: "ü: hi" }],
    ["at a line of one space", "From: a@x\nSubject: s\n \nHi\n", { text: "Hi" }],
    ["at a line of a tab, before an indented text", "From: a@x\n\t\n  Hi\n\nyou\n", { text: "  Hi\n\nyou" }],
    ["not where a field follows a blank line", "From: a@x\n \nSubject: s\n\nHi\n", { text: "Hi" }],
    ["not where a folded field has a blank line", "From: a@x\nX-A: b\n \n\tc\nX-D: e\n\nHi\n", { text: "Hi" }],
    ["not where a blank line goes before the empty one", "From: a@x\n \n\nHi\n", { text: "Hi" }],
    ["at once, where there are none", "Hello you\nthere\n".replace(/^/, "\n"), { text: "Hello you\nthere" }],
    [
      "not at parameters that lost the space of their fold",
      `${mixed}--q\n\nhi\n--q\nContent-Type: application/x;\nname=a.bin\n\nxy\n--q--\n`,
      { text: "hi", files: [["a.bin", "xy"]] },
    ],
    [
      "not at parameters in a line of their own",
      `${mixed}--q\nContent-Type: text/plain\ncharset="koi8-r"\n\n\xf0\xd2\xc9\n--q--\n`,
      { text: "При" },
    ],
    [
      "not at a line break within quotes",
      `${mixed}--q\n\nhi\n--q\nContent-Disposition: attachment; filename="a\nb.bin"\n\nxy\n--q--\n`,
      { text: "hi", files: [["a b.bin", "xy"]] },
    ],
    ["in a part too", `${mixed}--q\nContent-Type: text/plain\nHi\n\nyou\n--q--\n`, { text: "Hi\n\nyou" }],
    ["in a part without any", `${mixed}--q\nHi\nyou\n--q--\n`, { text: "Hi\nyou" }],
    [
      "in a file",
      `${mixed}--q\n\nhi\n--q\nContent-Type: application/x\n<xml/>\n--q--\n`,
      { text: "hi", files: [["attachment-1.bin", "<xml/>"]] },
    ],
  ])("%s", (_what, mail, read) => expectRead(mail, read));

  test.each([
    ["a line that is none", "Subject: s\nquite Delivered-To: b@x\nDate: today\nFrom: a@x.example\n\nHi\n"],
    [
      "the rest of a field whose fold lost its space",
      "Received: by x\nwith y; now\nSubject: s\nFrom: a@x.example\n\nHi\n",
    ],
  ])("nor do they end before the sender is named, at %s", async (_what, mail) => {
    const parsed = await readMail(mail);
    expect(parsed).toMatchObject({ subject: "s", from: { address: "a@x.example" }, bodyText: "Hi" });
  });

  test("a mail without headers is all text", async () => {
    const { bodyText, from, subject } = await parseMail(Buffer.from("Dear Ada:\r\nhello\r\n"), {
      mailDomain: "x.example",
    });
    expect({ bodyText, from, subject }).toEqual({ bodyText: "Dear Ada:\nhello", from: undefined, subject: "" });
  });

  test.each([
    ["a byte order mark", "\xef\xbb\xbfFrom: a@x\nSubject: s\n\nHi\n"],
    ["the line of a mailbox file", "From a@x Thu Jan  1 00:00:00 1970\nFrom: a@x\nSubject: s\n\nHi\n"],
    ["a space", "From: a@x\n Subject\nSubject: s\n\nHi\n"],
  ])("and begin behind %s", async (_what, mail) => {
    expect(await readMail(mail)).toMatchObject({ subject: "s", bodyText: "Hi" });
  });
});

test("a field behind a colon without a name counts", async () => {
  const { subject, from } = await readMail("From: a@x.example\n: lost\nSubject: s\n\nHi\n");
  expect([subject, from?.address]).toEqual(["s", "a@x.example"]);
});

describe("delimiters", () => {
  const file = "--q\nContent-Type: application/x\n\nxy\n";
  test.each<Row>([
    [
      "with words behind them",
      `${mixed}--q first\n\nhi\n--q -- last\n${file.slice(4)}--q-- end\n`,
      {
        text: "hi",
        files: [["attachment-1.bin", "xy"]],
      },
    ],
    [
      "with white space behind them",
      `${mixed}--q \t\n\nhi\n${file}--q-- \n`,
      {
        text: "hi",
        files: [["attachment-1.bin", "xy"]],
      },
    ],
    ["that only begin like one", `${mixed}--q\n\nhi\n--quoted\n--q2--\n--q--\n`, { text: "hi\n--quoted\n--q2--" }],
    [
      "of dashes alone are no line that begins with dashes",
      'Content-Type: multipart/mixed; boundary="---"\n\n-----\n\nhi\n----- Original message -----\nyou\n-------\n',
      { text: "hi\n----- Original message -----\nyou" },
    ],
    ["that close what never began", `${mixed}Hi\n\nyou\n--q--\n`, { text: "Hi\n\nyou" }],
    ["that close before all", `${mixed}--q--\nHi\nyou\n`, { text: "Hi\nyou" }],
    [
      "that close before all, within another",
      `Content-Type: multipart/mixed; boundary=o\n\n--o\n${mixed}--q--\nHi\n--o--\n`,
      {
        text: "Hi",
      },
    ],
    ["that never come", `${mixed}Hi\n\nyou\n`, { text: "Hi\n\nyou" }],
    ["that are not closed", `${mixed}--q\n\nhi\n${file}`, { text: "hi", files: [["attachment-1.bin", "xy\r\n"]] }],
    [
      "of an outer multipart close the inner",
      `Content-Type: multipart/mixed; boundary=o\n\n--o\n${mixed}--q\n\nhi\n--o\n${file.slice(4)}--o--\n`,
      {
        text: "hi",
        files: [["attachment-1.bin", "xy"]],
      },
    ],
    [
      "that look like a field",
      'Content-Type: multipart/mixed; boundary="a:b"\n\n--a:b\nX-A: b\n--a:b\n\nhi\n--a:b--\n',
      { text: "hi" },
    ],
    [
      "named in pieces",
      "Content-Type: multipart/mixed; boundary*0=ab; boundary*1=cd\n\n--abcd\n\nhi\n--abcd--\n",
      { text: "hi" },
    ],
    [
      "named behind a comment",
      'Content-Type: multipart/mixed (a; boundary="x"); boundary="q"\n\n--q\n\nhi\n--q--\n',
      { text: "hi" },
    ],
    [
      "named behind a bracket that never closes",
      "Content-Type: multipart/mixed (a; boundary=q\n\n--q\n\nhi\n--q--\n",
      { text: "hi" },
    ],
    [
      "with a space at their name's end",
      'Content-Type: multipart/mixed; boundary="q "\n\n--q\n\nhi\n--q--\n',
      { text: "hi" },
    ],
  ])("%s", (_what, mail, read) => expectRead(mail, read));
});

describe("the role of a part", () => {
  test.each<Row>([
    [
      "text, by a type of two halves the other way round",
      "Content-Type: plain/text; charset=utf-8\n\nHi\n",
      { text: "Hi" },
    ],
    ["HTML, by such a type", "Content-Type: html/text\n\n<p>Hi</p>\n", { text: "Hi", html: "<p>Hi</p>" }],
    [
      "text of a kind that nobody knows is text",
      `${mixed}--q\nContent-Type: text/x-note\n\nhi\n--q--\n`,
      { text: "hi" },
    ],
    ...["markdown", "enriched", "richtext", "x-diff"].map(
      (subtype): Row => [`text/${subtype} is text`, `Content-Type: text/${subtype}\n\n*hi*\n`, { text: "*hi*" }],
    ),
    [
      "such text with a name is a file",
      `${mixed}--q\n\nhi\n--q\nContent-Type: text/x-diff; name=a.diff\n\n-a\n--q--\n`,
      {
        text: "hi",
        files: [["a.diff", "-a"]],
      },
    ],
    [
      "text of another kind gives way to plain text",
      `${alternative}--q\nContent-Type: text/markdown\n\n*hi*\n--q\n\nhi\n--q--\n`,
      {
        text: "hi",
      },
    ],
    [
      "and stands where nothing plain is",
      `${alternative}--q\nContent-Type: text/markdown\n\n*hi*\n--q\nContent-Type: text/html\n\n<i>hi</i>\n--q--\n`,
      {
        text: "*hi*",
        html: "<i>hi</i>",
      },
    ],
    ...["text/x-amp-html", "text/watch-html"].map(
      (type): Row => [
        `${type} is an alternative, no file`,
        `${alternative}--q\n\nhi\n--q\nContent-Type: ${type}\n\n<p>moves</p>\n--q\nContent-Type: text/html\n\n<p>hi</p>\n--q--\n`,
        { text: "hi", html: "<p>hi</p>" },
      ],
    ),
    [
      "a calendar in an alternative is a file",
      `${alternative}--q\n\nhi\n--q\nContent-Type: text/calendar\n\nx\n--q--\n`,
      {
        text: "hi",
        files: [["attachment-1.ics", "x"]],
      },
    ],
    [
      "a blank file name names no file",
      `${mixed}--q\n\nhi\n--q\nContent-Type: text/plain; name=" "\nContent-Disposition: inline; filename=""\n\nyou\n--q--\n`,
      {
        text: "hi\n\nyou",
      },
    ],
    [
      "HTML beside plain text says its part in both",
      `${mixed}--q\n\nhi\n--q\nContent-Type: text/html\n\n<p>you <b>two</b></p>\n--q--\n`,
      {
        text: "hi\n\nyou two",
        html: "<div>hi</div>\n<p>you <b>two</b></p>",
      },
    ],
    [
      "a file alone is no text",
      "Content-Type: application/pdf\nContent-Transfer-Encoding: base64\n\naGk=\n",
      {
        text: "",
        files: [["attachment-1.pdf", "hi"]],
      },
    ],
    [
      "a part of a digest is a mail",
      "Content-Type: multipart/digest; boundary=q\n\n--q\n\nSubject: a\n\nhi\n--q--\n",
      {
        text: "",
        files: [["attachment-1.eml", "Subject: a\r\n\r\nhi"]],
      },
    ],
  ])("%s", (_what, mail, read) => expectRead(mail, read));

  test.each([
    ["a path of Windows", 'filename="C:\\TEMP\\x.png"', "x.png"],
    ["a path of Windows as it should be quoted", 'filename="C:\\\\TEMP\\\\x.png"', "x.png"],
    ["quotes within quotes", 'filename="a \\"b\\".png"', 'a "b".png'],
    ["a share", 'filename="\\\\host\\share\\x.png"', "x.png"],
    ["dots with a space between", 'filename=". ."', "attachment-1.png"],
    ["a line break", "filename*=utf-8''a%0D%0Ab.png", "a b.png"],
    ["a fold", 'filename="a\n\tb.png"', "a b.png"],
    [
      "nothing but space, so that the type's name counts",
      'filename=" "; x=y\nContent-Type: image/png; name=n.png',
      "n.png",
    ],
    ["words behind a closed quote", 'filename="x.png" junk', "x.png"],
    ["pieces out of order, in an old charset", "filename*1=.png; filename*0*=iso-8859-1''Fr%F6sche", "Frösche.png"],
    ["raw bytes in the charset of the mail", 'filename="\xf0\xd2\xc9.png"', "При.png"],
    ["the letter à at the end, whose last byte looks like a space", "filename=voil\xc3\xa0", "voilà"],
    ["an encoded word", 'filename="=?utf-8?Q?Fr=C3=B6sche,_2.png?="', "Frösche, 2.png"],
  ])("a file's name: %s", async (_what, parameter, name) => {
    const type = parameter.includes("Content-Type") ? "" : "Content-Type: image/png\n";
    const file = `--q\n${type}Content-Disposition: attachment; ${parameter}\n\nx\n--q--\n`;
    const { attachments } = await readMail(`${mixed}--q\nContent-Type: text/plain; charset=koi8-r\n\nhi\n${file}`);
    expect(attachments.map(({ filename }) => filename)).toEqual([name]);
  });
});

describe("a cut mail is marked as incomplete", () => {
  test.each([
    ["in its text", `\n${"x".repeat(2 * 1024 * 1024 + 1)}\n`],
    ["in its HTML", `Content-Type: text/html\n\n<p>${"x".repeat(2 * 1024 * 1024)}\n`],
    ["in the text of its HTML", `Content-Type: text/html\n\n${`<a href="${"x".repeat(30)}">y</a>`.repeat(50_000)}\n`],
    ["in a field", `Subject: ${"x".repeat(70_000)}\n\nhi\n`],
    ["in what its type says", `Content-Type: text/plain; x=${"x".repeat(17_000)}\n\nhi\n`],
    ["in a name", `To: ${"x".repeat(1000)} <b@x>\n\nhi\n`],
    ["in its parts", `${mixed}${"--q\n\nhi\n".repeat(1001)}--q--\n`],
    ["in its depth", `${mixed}${`--q\n${mixed}`.repeat(40)}`],
  ])("%s", async (_what, mail) => expect((await readMail(mail)).complete).toBe(false));
});

test.each([
  ["without a boundary", "Content-Type: multipart/report; report-type=delivery-status\n\nwords"],
  ["without a part", "Content-Type: multipart/report; report-type=delivery-status; boundary=q\n\nwords"],
])("a report %s is read as the text that it holds, and is a report by its head", async (_, mail) => {
  const { bodyText, signs } = await readMail(mail);
  expect([bodyText, signs["report-type"]]).toEqual(["words", "delivery-status"]);
});
