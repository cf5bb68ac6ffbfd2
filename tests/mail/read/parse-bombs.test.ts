import { afterAll, describe, expect, test } from "bun:test";
import type { ParsedMail } from "../../../src/domain/message.ts";
import { mailParser } from "../../../src/mail/read/parse.ts";
import { busiest } from "../../support/busy.ts";
import { watchesClock } from "../../support/watches-clock.ts";

/** Mail that is made to block the service. The event loop must go on, and the mail must be listed with its header. */

const faults: string[] = [];
const parser = mailParser({ mailDomain: "inbox.localhost", onFault: (fault) => faults.push(fault) });
afterAll(() => parser.close());

const head = "From: eve@x.example\r\nSubject: bomb\r\nMessage-ID: <bomb@x.example>\r\nReferences: <a@x> <b@x>\r\n";
const mixed = `${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n`;
const besideText = `${mixed}--b\r\n\r\nhi\r\n--b\r\nContent-Type: text/html\r\n\r\n`;
const typeBomb = `--b\r\nContent-Type: a/b${",".repeat(16_000)}y\u2028x\r\n\r\nhi\r\n`;
const megabytes = 3;

/** A beginning at which a pattern matches, a long run of what it matches, and an end at which it may fail. */
function bomb(before: string, piece: string, after = "", bytes = megabytes * 1024 * 1024): Uint8Array {
  const run = Buffer.from(piece);
  return Buffer.concat([Buffer.from(before), Buffer.alloc(bytes - (bytes % run.length), run), Buffer.from(after)]);
}

/** The bound leaves room for other programs on the machine. */
const mostBusyMs = 200;

async function parseWatched(raw: Uint8Array): Promise<{ mail: ParsedMail; busyMs: number; tookMs: number }> {
  const startMs = performance.now();
  const { result, busyMs } = await busiest(() => parser.parse(raw));
  return { mail: result, busyMs, tookMs: performance.now() - startMs };
}

describe("a bomb is listed and holds nothing up", () => {
  test.each([
    ["delimiters", bomb(mixed, "--b\r\n")],
    ["lines like delimiters", bomb(mixed, "--x\n")],
    ["line feeds", bomb(`${head}\r\n`, "\n")],
    ["line feeds in a part", bomb(`${mixed}--b\r\n\r\n`, "\n")],
    ["soft line breaks", bomb(`${head}Content-Transfer-Encoding: quoted-printable\r\n\r\n`, "=\n")],
    ["20,000 parts", bomb(mixed, "--b\r\nContent-Type: a/b\r\n\r\nx\r\n", "", 20_000 * 28)],
    ["parts that only the parser sees", bomb(mixed.replace("mixed", "mixed (c)"), "--b\r\n\r\nx\r\n")],
    ["an endless header block", bomb(head, "a\n")],
    ["a comment that nests for ever", bomb(`${head}Content-Type: text/plain`, " (", "\r\n\r\nhi")],
    ["a list of addresses before its subject", bomb("To: ", "a@b.example, ", `c@d\r\n${head}\r\nhi`)],
    ["groups within groups", bomb("To: ", "a:", `c@d\r\n${head}\r\nhi`)],
    ["HTML lists within lists", bomb(`${head}Content-Type: text/html\r\n\r\n`, "<ul><li>x")],
    ["line feeds, small enough for the main thread", bomb(`${head}\r\n`, "\n", "", 250 * 1024)],
    ["delimiters, small enough for the main thread", bomb(mixed, "--b\n", "", 250 * 1024)],
    [
      "HTML, small enough for the main thread",
      bomb(`${head}Content-Type: text/html\r\n\r\n`, "<ul><li>x", "", 45 * 1024),
    ],
    ["a link that never ends, beside text", bomb(`${besideText}<a href=x>`, "b", " c\r\n--b--\r\n")],
    ["links that never end", bomb(`${besideText}<a `, "href=x ", "\r\n--b--\r\n")],
    ["tags that never end", bomb(besideText, "<a <li <p ", "\r\n--b--\r\n")],
    ["comments that never end", bomb(besideText, "<!-- ", "\r\n--b--\r\n")],
    ["spaces before a letter in HTML", bomb(`${besideText}<li>`, "\u00a0", "x\r\n--b--\r\n")],
    ["base64 that is padded at each byte", bomb(`${head}Content-Transfer-Encoding: base64\r\n\r\n`, "AA==")],
    ["a type without its semicolon", bomb(`${head}Content-Type: a/b`, ",", "y\u2028x\r\n\r\nhi")],
    ["a type of spaces", bomb(`${head}Content-Type: a/b`, " ", "y\u2028x\r\n\r\nhi")],
    ["an encoded word of spaces after its equals sign", bomb(`To: =?x?Q?=`, " ", `x?=\r\n${head}\r\nhi`)],
    ["encoded words in each other's place", bomb("To: ", "=?x?Q?", `\xff\r\n${head}\r\nhi`)],
    ["encoded words that join", bomb("To: ", "=?utf-8?B?AAAA?= ", `<a@b>\r\n${head}\r\nhi`)],
    ["a continued parameter of digits", bomb(`${head}Content-Type: text/plain; a*`, "1", "x=y\r\n\r\nhi")],
    ["an address of spaces", bomb("To: a", " ", `b@\r\n${head}\r\nhi`)],
    ["an address of at signs", bomb("To: <", "@", `\r\n${head}\r\nhi`)],
    ["ids in quotes that never close", bomb(`${head}In-Reply-To: `, '<"', "\r\n\r\nhi")],
    ["a name of white space", bomb(`To: "a`, "\u2003", `b" <c@d>\r\n${head}\r\nhi`)],
    ["flowed lines", bomb(`${head}Content-Type: text/plain; format=flowed\r\n\r\n`, "> \n", "x")],
    ["a link that never ends, on the main thread", bomb(`${besideText}<a href=x>`, "b", " c\r\n--b--", 47 * 1024)],
    ["links that never end, on the main thread", bomb(`${besideText}<a `, "href=x ", "\r\n--b--", 47 * 1024)],
    ["types without a semicolon, on the main thread", bomb(mixed, typeBomb, "--b--", 15 * typeBomb.length)],
    ["groups, small enough for the main thread", bomb("To: ", "a:", `c@d\r\n${head}\r\nhi`, 30 * 1024)],
  ])("%s", { ...watchesClock, timeout: 15_000 }, async (_what, raw) => {
    const { mail, busyMs, tookMs } = await parseWatched(raw);
    expect(mail).toMatchObject({ subject: "bomb", messageId: "bomb@x.example", from: { address: "eve@x.example" } });
    expect(mail.references).toEqual(["a@x", "b@x"]);
    expect(busyMs).toBeLessThan(mostBusyMs);
    expect(tookMs).toBeLessThan(20_000);
    expect(faults.splice(0)).toEqual([]);
  });

  test("the limit on depth ends the reading, and the parts before it are kept", async () => {
    const nested = Array.from(
      { length: 100 },
      (_, level) =>
        `Content-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\n\r\ntext ${level}\r\n--b${level}\r\n`,
    );
    const mail = await parser.parse(Buffer.from(head + nested.join("")));
    expect(mail.complete).toBe(false);
    expect(mail.bodyText).toContain("text 0");
    expect(mail.bodyText).not.toContain("text 40");
  });

  test("so does the thousandth part", async () => {
    const mail = await parser.parse(bomb(mixed, "--b\r\nContent-Type: a/b\r\n\r\nx\r\n", "", 2000 * 28));
    expect(mail.complete).toBe(false);
    expect(mail.attachments.length).toBe(999);
  });
});

describe("a mail that a limit cuts is marked as incomplete", () => {
  const letters = "Lorem ipsum dolor sit amet\r\n";
  const inHtml = `${head}Content-Type: text/html\r\n\r\n`;

  test.each([
    ["a text", bomb(`${head}\r\n`, letters)],
    ["HTML", bomb(inHtml, `<!-- ${letters} -->`)],
    ["a field of the head", bomb(`${head}To: a@x.example`, ",\r\n a@x.example", "\r\n\r\nhi")],
  ])("%s", async (_what, raw) => {
    const mail = await parser.parse(raw);
    expect(mail).toMatchObject({ subject: "bomb", complete: false });
    expect(mail.bodyText.length).toBeLessThanOrEqual(2 * 1024 * 1024);
  });
});

describe("big mail that means no harm is read whole", () => {
  test("a large attachment", watchesClock, async () => {
    const bytes = Uint8Array.from({ length: 6 * 1024 * 1024 }, (_, index) => (index * 31) % 251);
    const lines = Buffer.from(bytes).toString("base64").replace(/.{76}/g, "$&\r\n");
    const raw = Buffer.from(
      `${mixed}--b\r\n\r\nsee file\r\n--b\r\nContent-Type: application/pdf; name=x.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n${lines}\r\n--b--\r\n`,
    );
    const before = Buffer.from(raw);
    const { mail, busyMs } = await parseWatched(raw);
    expect(mail).toMatchObject({ bodyText: "see file", complete: true });
    expect(Buffer.compare(mail.attachments[0]?.bytes ?? new Uint8Array(), bytes)).toBe(0);
    expect(busyMs).toBeLessThan(mostBusyMs);
    // The caller still has to store the source.
    expect(raw.equals(before)).toBe(true);
  });

  test("base64 that is padded at each byte", async () => {
    const coded = bomb(`${head}Content-Transfer-Encoding: base64\r\n\r\n`, "QQ==", "", 8 * 1024 * 1024);
    expect(await parser.parse(coded)).toMatchObject({ bodyText: "A".repeat(2 * 1024 * 1024), complete: true });
  });

  test("a long text", async () => {
    const line = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod t\r\n";
    const mail = await parser.parse(bomb(`${head}\r\n`, line, "", 2 * 1024 * 1024));
    expect(mail.complete).toBe(true);
    expect(mail.bodyText.length).toBeGreaterThan(2_000_000);
  });

  test("References of 100,000 ids keep the nearest", async () => {
    const ids = Array.from({ length: 100_000 }, (_, index) => `<${index}@x.example>`).join("\r\n ");
    const mail = await parser.parse(
      Buffer.from(`Subject: long\r\nReferences: ${ids}\r\nFrom: a@b.example\r\n\r\nhi\r\n`),
    );
    expect(mail).toMatchObject({ subject: "long", from: { address: "a@b.example" }, bodyText: "hi" });
    expect(mail.references.at(-1)).toBe("99999@x.example");
    expect(mail.references.length).toBeGreaterThan(1000);
  });
});

describe("without a working process", () => {
  test("a mail it gives up on is listed by its head", async () => {
    const hasty = mailParser({ mailDomain: "inbox.localhost", timeoutMs: 1 });
    const mail = await hasty.parse(bomb(`${head}To: ada@inbox.localhost\r\n\r\n`, "\n"));
    hasty.close();
    expect(mail).toEqual({
      messageId: "bomb@x.example",
      inReplyTo: [],
      references: ["a@x", "b@x"],
      from: { address: "eve@x.example" },
      replyTo: undefined,
      to: [{ address: "ada@inbox.localhost" }],
      cc: [],
      subject: "bomb",
      bodyText: "",
      bodyHtml: undefined,
      attachments: [],
      signs: {},
      complete: false,
    });
  });

  test("small mail needs none", async () => {
    const alone = mailParser({
      mailDomain: "inbox.localhost",
      command: ["/no/such/program"],
    });
    const big = await alone.parse(bomb(`${head}\r\n`, "x", "", 300 * 1024));
    const small = await alone.parse(Buffer.from(`${head}\r\nhello`));
    alone.close();
    expect(big).toMatchObject({ subject: "bomb", complete: false });
    expect(small).toMatchObject({ subject: "bomb", bodyText: "hello", complete: true });
  });
});
