import { describe, expect, test } from "bun:test";
import { inUtf8, readMail } from "../../support/read-mail.ts";

/** The letters of bodies and fields, and the lines of bodies. */

async function textOf(mail: string): Promise<string> {
  return (await readMail(mail)).bodyText;
}

const typed = (charset: string, body: string) => `Content-Type: text/plain; charset=${charset}\n\n${body}\n`;

describe("a body's charset", () => {
  test.each([
    ["none, in windows-1252", "\nGr\xfc\xdfe \x93du\x94\n", "Grüße “du”"],
    ["none, in UTF-8", `\n${inUtf8("Grüße 報告")}\n`, "Grüße 報告"],
    ["none, in ISO-2022-JP", "\n\x1b$B$3$s\x1b(B hi\n", "こん hi"],
    ["us-ascii, in UTF-8", typed("us-ascii", inUtf8("Grüße")), "Grüße"],
    ["us-ascii, in windows-1252", typed("us-ascii", "Gr\xfc\xdfe"), "Grüße"],
    ["us-ascii, in ISO-2022-JP", typed("us-ascii", "\x1b$B$3$s\x1b(B"), "こん"],
    ["one that nobody knows, in UTF-8", typed("x-unheard", inUtf8("Grüße")), "Grüße"],
    ["one that nobody knows, in windows-1252", typed("x-unheard", "Gr\xfc\xdfe"), "Grüße"],
    ["iso-8859-1, in UTF-8", typed("iso-8859-1", inUtf8("Grüße")), "Grüße"],
    ["windows-1252, in UTF-8 without letters but with signs", typed("windows-1252", inUtf8("“10 €”")), "“10 €”"],
    ["iso-8859-1, with two bytes that could be UTF-8", typed("iso-8859-1", "\xc2\xa9"), "Â©"],
    ["windows-1252, with a word in capitals before dots", typed("windows-1252", "TERMIN\xc9\x85"), "TERMINÉ…"],
    ["none, in UTF-8 with surrogates", "\nhi \xed\xa0\x80\n", "hi \ufffd\ufffd\ufffd"],
    ["koi8-r", typed("koi8-r", "\xf0\xd2\xc9"), "При"],
    ["koi8-r, in UTF-8", typed("koi8-r", inUtf8("Привет")), "Привет"],
    ["gb2312", typed("gb2312", "\xc4\xe3\xba\xc3"), "你好"],
    ["gb2312, in UTF-8", typed("gb2312", inUtf8("你好你好")), "你好你好"],
    ["shift_jis", typed("shift_jis", "\x82\xa0\x82\xa2"), "あい"],
    ["shift_jis, in UTF-8", typed("shift_jis", inUtf8("あい")), "あい"],
    ["cp932, as Windows calls it", typed("cp932", "\x82\xa0"), "あ"],
    ["big5", typed("big5", "\xa7\x41\xa6\x6e"), "你好"],
    ["euc-kr", typed("ks_c_5601-1987", "\xb0\xa1"), "가"],
    ["iso-8859-15", typed("ISO_8859-15", "10 \xa4"), "10 €"],
    ["windows-1251, spelled otherwise", typed("cp1251", "\xcf\xf0\xe8"), "При"],
    ["cp850", typed("cp850", "Gr\x81\xe1e"), "Grüße"],
    ["ibm437", typed("ibm437", "Gr\x81\xe1e \xe3"), "Grüße π"],
    ["utf-7", typed("utf-7", "Gr+APwA3w-e 1 +- 1 = 2"), "Grüße 1 + 1 = 2"],
    ["utf-7, in UTF-8", typed("utf-7", inUtf8("Grüße Grüße")), "Grüße Grüße"],
    ["hz-gb-2312", typed("hz-gb-2312", "~{<:Ky2;~} a~~b"), "己所不 a~b"],
    ["iso-2022-kr", typed("iso-2022-kr", "\x1b$)C\x0e0!\x0f a"), "가 a"],
    ["utf-16", typed("utf-16", "\0H\0i"), "Hi"],
    ["utf-16, from a Windows", typed("utf-16", "H\0i\0"), "Hi"],
    ["utf-16, in ASCII", typed("utf-16", "Hi"), "Hi"],
    ["iso-8859-1, behind a mark of UTF-8", typed("iso-8859-1", `\xef\xbb\xbf${inUtf8("©")}`), "©"],
    ["utf-8, behind a mark of UTF-16", typed("utf-8", "\xff\xfeH\0i\0"), "Hi"],
    [
      "none, in UTF-8 with one bad byte",
      `\n${inUtf8("Grüße für Käthe, schöne")}\xff\n`,
      "Grüße für Käthe, schöne\ufffd",
    ],
    ["none, in UTF-8 that is cut", `\n${inUtf8("報告書 報告書 報告")}\xe6\x9b\n`, "報告書 報告書 報告\ufffd"],
    [
      "iso-8859-1, in UTF-8 with one bad byte",
      typed("iso-8859-1", `${inUtf8("Привет, Ада")}\xff`),
      "Привет, Ада\ufffd",
    ],
    ["none, where a fifth is no UTF-8", `\n${inUtf8("Grüße")}\xff\n`, "GrÃ¼ÃŸeÿ"],
    ["utf-32, with a mark", typed("utf-32", "\xff\xfe\0\0H\0\0\0\0\xf6\x01\0"), "H😀"],
    ["none, in UTF-32 from a Windows", "\n\xff\xfe\0\0H\0\0\0i\0\0\0", "Hi"],
    ["none, in UTF-32", "\n\0\0\xfe\xff\0\0\0H\0\x01\xf6\x00", "H😀"],
    ["utf-32le", typed("UTF-32LE", "H\0\0\0\0\xf6\x01\0"), "H😀"],
    ["utf-32be, with half a pair and no letter", typed("utf-32be", "\0\0\xd8\0\0\x11\0\0\0\0\0H"), "\ufffd\ufffdH"],
    ["utf-32 without a mark", typed("utf-32", "\0\0\0H\0\0\0i"), "Hi"],
    ["in quotes", typed('"koi8-r"', "\xf0\xd2\xc9"), "При"],
    ["in base64", `Content-Type: text/plain; charset=koi8-r\nContent-Transfer-Encoding: base64\n\n8NLJ\n`, "При"],
  ])("%s", async (_what, mail, text) => expect(await textOf(mail)).toBe(text));

  test.each([
    ["by its own word", '<meta charset="koi8-r"><p>\xf0\xd2\xc9</p>', "При"],
    [
      "by its older word",
      '<META http-equiv=Content-Type content="text/html; charset=koi8-r"><p>\xf0\xd2\xc9</p>',
      "При",
    ],
    ["by its bytes, whatever it says", `<meta charset="koi8-r"><p>${inUtf8("При")}</p>`, "При"],
    ["by windows-1252 where it says nothing", "<p>Gr\xfc\xdfe</p>", "Grüße"],
  ])("of HTML without one: %s", async (_what, html, text) => {
    expect(await textOf(`Content-Type: text/html\n\n${html}\n`)).toBe(text);
  });
});

describe("fields", () => {
  test.each([
    ["raw bytes in the body's charset", typed("koi8-r", "hi").replace(/^/, "Subject: \xf0\xd2\xc9\n"), "При"],
    [
      "raw bytes in the charset of a part",
      "Subject: \xf0\xd2\xc9\nContent-Type: multipart/mixed; boundary=q\n\n--q\nContent-Type: text/plain; charset=koi8-r\n\nhi\n--q--\n",
      "При",
    ],
    ["raw bytes beside an encoded word", "Subject: \xf0\xd2\xc9 =?koi8-r?B?8NLJ?=\n\nhi\n", "При При"],
    ["raw bytes without any charset", "Subject: Gr\xfc\xdfe\n\nhi\n", "Grüße"],
    [
      "raw bytes where the charset says nothing",
      typed("us-ascii", "hi").replace(/^/, "Subject: Gr\xfc\xdfe\n"),
      "Grüße",
    ],
    ["raw UTF-8 beside another charset", typed("koi8-r", "hi").replace(/^/, `Subject: ${inUtf8("Grüße")}\n`), "Grüße"],
    ["raw ISO-2022-JP", "Subject: \x1b$B$3$s\x1b(B\n\nhi\n", "こん"],
    ["a letter cut in two, padded", "Subject: =?utf-8?B?R3LD?=\n =?utf-8?B?vMOfZQ==?=\n\nhi\n", "Grüße"],
    ["a letter cut in two, padded at once", "Subject: =?utf-8?B?4g==?= =?utf-8?B?gqw=?=\n\nhi\n", "€"],
    ["a letter cut between Q and B", "Subject: =?utf-8?Q?=C3?= =?UTF-8?B?vA==?=\n\nhi\n", "ü"],
    [
      "words of their own escapes",
      "Subject: =?iso-2022-jp?B?GyRCJDMbKEI=?= =?iso-2022-jp?B?GyRCJHMbKEI=?=\n\nhi\n",
      "こん",
    ],
    ["UTF-7", "Subject: =?utf-7?Q?Gr+APwA3w-e?=\n\nhi\n", "Grüße"],
    ["a language behind the charset", "Subject: =?utf-8*de?Q?Gr=C3=BC=C3=9Fe?=\n\nhi\n", "Grüße"],
    ["words called ASCII that are UTF-8", "Subject: =?us-ascii?Q?Gr=C3=BC=C3=9Fe?=\n\nhi\n", "Grüße"],
    ["text between words", "Subject: =?utf-8?Q?a?= b =?utf-8?Q?c?=\n\nhi\n", "a b c"],
    ["spaces within a word", "Subject: =?utf-8?Q?a b?=\n\nhi\n", "a b"],
    ["a word that never ends", "Subject: =?utf-8?Q?a\n\nhi\n", "=?utf-8?Q?a"],
  ])("Subject: %s", async (_what, mail, subject) => expect((await readMail(mail)).subject).toBe(subject));
});

describe("a sender's name with at most one invalid byte in ten is UTF-8", () => {
  test.each([
    [
      "raw",
      `From: ${inUtf8("Käthe Müßiggänger-Grünbär")}\xff <a@x.example>\n\nhi\n`,
      "Käthe Müßiggänger-Grünbär\ufffd",
    ],
    [
      "beside the charset of a part",
      `From: ${inUtf8("Käthe Müßiggänger-Grünbär")}\xff <a@x.example>\nContent-Type: text/plain; charset=gb2312\n\nhi\n`,
      "Käthe Müßiggänger-Grünbär\ufffd",
    ],
    ["in an encoded word", "From: =?utf-8?Q?K=C3=A4the_=FF?= <a@x.example>\n\nhi\n", "Käthe \ufffd"],
  ])("%s", async (_what, mail, name) => expect((await readMail(mail)).from?.name).toBe(name));

  test("and so is a subject", async () => {
    const { subject } = await readMail(`Subject: ${inUtf8("Über die schönen Grüße für Käthe")}\xe4\n\nhi\n`);
    expect(subject).toBe("Über die schönen Grüße für Käthe\ufffd");
  });
});

describe("a text that is given out as base64", () => {
  const base64 = (body: string) =>
    `Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n${body}\n`;
  test.each([
    ["and is words", "Hello Ada, this is no base64.\n\nBye", "Hello Ada, this is no base64.\n\nBye"],
    ["and is one word", "Thanks", "Thanks"],
    ["and is letters beyond ASCII", inUtf8("报告。"), "报告。"],
    ["and is base64", "SGVsbG8gQWRh", "Hello Ada"],
    ["and is base64 without padding", "SGVsbG8", "Hello"],
    [
      "and is base64 with spaces at its folds",
      "SGVsbG8gQWRhLCBIZWxsbyBBZGEsIEhlbGxv \n IEFkYQ==",
      "Hello Ada, Hello Ada, Hello Ada",
    ],
    ["and is base64 above a list's words", "SGVsbG8=\n-- \nYou are on a list, and here is its address", "Hello"],
    ["and is nothing", "", ""],
  ])("%s", async (_what, body, text) => expect(await textOf(base64(body))).toBe(text));
});

describe("lines", () => {
  const encoded = (text: string) =>
    `Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n${Buffer.from(text).toString("base64")}\n`;

  test.each([
    ["in base64 end in LF", encoded("a\r\nb\r\n"), "a\nb"],
    ["of an old Macintosh too", encoded("a\rb\rc"), "a\nb\nc"],
    ["whose CR a relay doubled too", "\na\r\nb\r\n", "a\nb"],
    ["in uuencode too", 'Content-Transfer-Encoding: x-uuencode\n\nbegin 644 x\n&:&D-"G5P\n`\nend\n', "hi\nup"],
    ["keep their tabs and lose other controls", "\na\tb\0c\x07\x1b[1md\x0c\n\x0be\x7f\n", "a\tb\ufffdc[1md\ne\x7f"],
    ["that are made from HTML lose them too", "Content-Type: text/html\n\n<p>a\x07b&#8;c</p>\n", "abc"],
    ["keep an empty one at the end but for the mail's own", "\na\n\n", "a\n"],
  ])("%s", async (_what, mail, text) => expect(await textOf(mail)).toBe(text));

  test("of HTML end in LF too", async () => {
    const html = Buffer.from("<p>\r\na</p>\r\n").toString("base64");
    const mail = await readMail(`Content-Type: text/html\nContent-Transfer-Encoding: base64\n\n${html}\n`);
    expect(mail.bodyHtml).toBe("<p>\na</p>");
  });

  const flowed = (body: string, more = "") => `Content-Type: text/plain; format=flowed${more}\n\n${body}\n`;
  test.each([
    ["that flow are one", flowed("one \ntwo \nthree\nfour"), "one two three\nfour"],
    ["of a quote are one", flowed("> one \n> two\nyes"), "> one two\nyes"],
    [
      "of quotes in quotes are one each",
      flowed(">> one \n>> two \n> three \n> four\nyes"),
      ">> one two \n> three four\nyes",
    ],
    ["of a reply never join a quote", flowed("> one \nyes \nsir"), "> one \nyes sir"],
    ["of a quote never join what goes before", flowed("yes \n> one"), "yes \n> one"],
    ["of a quote without a space keep their look", flowed(">one \n>two"), ">one two"],
    ["lose the space they were stuffed with", flowed(" From me\n  >in\n > out"), "From me\n >in\n> out"],
    ["of a signature stand alone", flowed("bye \n-- \nme \nhere"), "bye \n-- \nme here"],
    ["of a signature in a quote too", flowed("> bye \n> -- \n> me"), "> bye \n> -- \n> me"],
    [
      "lose their space where that is said",
      flowed("\xe5\xa0\xb1 \n\xe5\x91\x8a", "; delsp=yes; charset=utf-8"),
      "報告",
    ],
    ["keep it where it is not", flowed("\xe5\xa0\xb1 \n\xe5\x91\x8a", "; DelSp=no; charset=utf-8"), "報 告"],
    ["stay as they are where nothing flows", "\n> one \n> two \n", "> one \n> two "],
  ])("%s", async (_what, mail, text) => expect(await textOf(mail)).toBe(text));
});

test("the text of an HTML-only mail has its visible words, and its HTML has everything", async () => {
  const html = '<div style="display:none">Preheader</div><p>Hello</p>';
  const { bodyText, bodyHtml } = await readMail(`Content-Type: text/html\n\n${html}\n`);
  expect({ bodyText, bodyHtml: bodyHtml?.trim() }).toEqual({ bodyText: "Hello", bodyHtml: html });
});
