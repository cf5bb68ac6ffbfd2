import { afterAll, describe, expect, test } from "bun:test";
import type { ParsedMail } from "../../src/domain/message.ts";
import { mailParser } from "../../src/mail/parse.ts";

/** Mail made to hold the service up. Whatever it is, the loop goes on and the mail is listed by what its head says. */

const faults: string[] = [];
const parser = mailParser({ mailDomain: "inbox.localhost", onFault: (fault) => faults.push(fault) });
afterAll(() => parser.close());

const head = "From: eve@x.example\r\nSubject: bomb\r\nMessage-ID: <bomb@x.example>\r\nReferences: <a@x> <b@x>\r\n";
const mixed = `${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n`;
const megabytes = 3;

function bomb(before: string, piece: string, after = "", bytes = megabytes * 1024 * 1024): Uint8Array {
  return Buffer.concat([Buffer.from(before), Buffer.alloc(bytes - (bytes % piece.length), piece), Buffer.from(after)]);
}

/** Parses, and says how long the loop stood still at most. */
const mostLagMs = 5_000;

async function parseWatched(raw: Uint8Array): Promise<{ mail: ParsedMail; lagMs: number; tookMs: number }> {
  const startMs = performance.now();
  let lagMs = 0;
  let lastMs = startMs;
  const watch = setInterval(() => {
    lagMs = Math.max(lagMs, performance.now() - lastMs - 5);
    lastMs = performance.now();
  }, 5);
  const mail = await parser.parse(raw);
  clearInterval(watch);
  return { mail, lagMs: Math.max(lagMs, performance.now() - lastMs - 5), tookMs: performance.now() - startMs };
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
    ["groups, small enough for the main thread", bomb("To: ", "a:", `c@d\r\n${head}\r\nhi`, 30 * 1024)],
  ])(
    "%s",
    async (_what, raw) => {
      const { mail, lagMs, tookMs } = await parseWatched(raw);
      expect(mail).toMatchObject({ subject: "bomb", messageId: "bomb@x.example", from: { address: "eve@x.example" } });
      expect(mail.references).toEqual(["a@x", "b@x"]);
      // 250 ms on a machine of its own; the tests share one. What is guarded against took minutes.
      expect(lagMs).toBeLessThan(mostLagMs);
      expect(tookMs).toBeLessThan(20_000);
      expect(faults).toEqual([]);
    },
    15_000,
  );

  test("depth ends the reading, and what came before is there", async () => {
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

describe("big mail that means no harm is read whole", () => {
  test("a large attachment", async () => {
    const bytes = Uint8Array.from({ length: 6 * 1024 * 1024 }, (_, index) => (index * 31) % 251);
    const lines = Buffer.from(bytes).toString("base64").replace(/.{76}/g, "$&\r\n");
    const raw = Buffer.from(
      `${mixed}--b\r\n\r\nsee file\r\n--b\r\nContent-Type: application/pdf; name=x.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n${lines}\r\n--b--\r\n`,
    );
    const before = Buffer.from(raw);
    const { mail, lagMs } = await parseWatched(raw);
    expect(mail).toMatchObject({ bodyText: "see file", complete: true });
    expect(Buffer.compare(mail.attachments[0]?.bytes ?? new Uint8Array(), bytes)).toBe(0);
    expect(lagMs).toBeLessThan(mostLagMs);
    // The Worker got a copy: the caller still has to store the source.
    expect(raw.equals(before)).toBe(true);
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

describe("where the Worker is of no help", () => {
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
      complete: false,
    });
  });

  test("small mail needs none", async () => {
    const alone = mailParser({
      mailDomain: "inbox.localhost",
      workerUrl: new URL("./no-such-worker.ts", import.meta.url),
    });
    const big = await alone.parse(bomb(`${head}\r\n`, "x", "", 300 * 1024));
    const small = await alone.parse(Buffer.from(`${head}\r\nhello`));
    alone.close();
    expect(big).toMatchObject({ subject: "bomb", complete: false });
    expect(small).toMatchObject({ subject: "bomb", bodyText: "hello", complete: true });
  });
});
