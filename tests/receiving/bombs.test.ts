import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { busiest } from "../support/busy.ts";
import { rawSmtp } from "../support/raw-smtp.ts";
import { watchesClock } from "../support/watches-clock.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

/** Mail by SMTP that is made to block the service. No other mail may be delayed. */

let world: World;
let inbox: WorldInbox;
beforeAll(async () => {
  world = await startWorld();
  inbox = await world.inbox();
}, 30_000);
afterAll(() => world[Symbol.asyncDispose]());

const head = "From: eve@x.example\r\nSubject: bomb\r\n";
const mixed = `${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n`;
const besideText = `${mixed}--b\r\n\r\nhi\r\n--b\r\nContent-Type: text/html\r\n\r\n`;
const KB = 1024;
const MB = 1024 * KB;

/** Text for a slow pattern: a beginning that matches, much that matches in many ways, and an end that does not match. */
function bomb(bytes: number, before: string, run: string, end: string): Buffer {
  const piece = Buffer.from(run);
  return Buffer.concat([Buffer.from(before), Buffer.alloc(bytes - (bytes % piece.length), piece), Buffer.from(end)]);
}

const bombs: readonly [what: string, raw: () => Buffer][] = [
  ["a link that never ends, beside text", () => bomb(24 * MB, `${besideText}<a href=x>`, "b", " c\r\n--b--\r\n")],
  ["the same on the main thread", () => bomb(47 * KB, `${besideText}<a href=x>`, "b", " c\r\n--b--\r\n")],
  ["a link of links that never ends", () => bomb(47 * KB, `${besideText}<a `, "href=x ", "\r\n--b--\r\n")],
  [
    "types without their semicolon",
    () => bomb(245 * KB, mixed, `--b\r\nContent-Type: a/b${",".repeat(16_000)}y\u2028x\r\n\r\nhi\r\n`, "--b--\r\n"),
  ],
  ["headers of a way without end", () => bomb(24 * MB, "", "X-Received: x\r\n", `${head}\r\nhi\r\n`)],
  ["groups within groups", () => bomb(30 * KB, "To: ", "a:", `c@d\r\n${head}\r\nhi\r\n`)],
  ["padded base64", () => bomb(24 * MB, `${head}Content-Transfer-Encoding: base64\r\n\r\n`, "AA==", "\r\n")],
  ["line feeds", () => bomb(24 * MB, `${head}\r\n`, "\n", "x\r\n")],
  ["HTML that nests", () => bomb(47 * KB, `${head}Content-Type: text/html\r\n\r\n`, "<ul><li>x", "\r\n")],
];

describe("a bomb is accepted and delays no other mail:", () => {
  // Processor time also grows while other processes on the machine are busy.
  test.each(bombs)("%s", { ...watchesClock, timeout: 30_000 }, async (_, raw) => {
    const client = await rawSmtp(world.smtpPort);
    await client.reply();
    for (const command of ["EHLO x.example", "MAIL FROM:<eve@x.example>", `RCPT TO:<${inbox.address}>`, "DATA"]) {
      expect(await client.ask(command)).toMatch(/^[23]/);
    }
    const octets = Buffer.concat([raw(), Buffer.from(".\r\n")]);
    const { result, busyMs } = await busiest(() => {
      client.send(octets);
      return client.reply();
    });
    client.destroy();
    expect(result).toStartWith("250");
    expect(busyMs).toBeLessThan(200);
  });
});
