import { describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import type { AcceptDecision } from "../../src/smtp/door.ts";
import { testListener } from "../support/mail-door.ts";
import { greeted, inData, type RawSmtp } from "../support/raw-smtp.ts";
import { until } from "../support/until.ts";

const start = (reply: string): string => reply.split(" ").slice(0, 2).join(" ");
const letter = "From: a@b.example\r\nSubject: half\r\n\r\nx\r\n.\r\n";

/** Sends the last octets and closes its side, as `nc -N` does. */
const halfClose = ({ socket }: RawSmtp, octets: string): Socket => socket.end(octets);

describe("a client that has closed its side and still reads", () => {
  const said: [what: string, behind: string, replies: string[]][] = [
    ["nothing", "", ["250 2.0.0"]],
    ["QUIT", "QUIT\r\n", ["250 2.0.0", "221 2.0.0"]],
    [
      "commands",
      "NOOP\r\nMAIL FROM:<>\r\nRCPT TO:<ada@inbox.localhost>\r\n",
      ["250 2.0.0", "250 2.0.0", "250 2.1.0", "250 2.1.5"],
    ],
    [
      "a mail",
      "MAIL FROM:<>\r\nRCPT TO:<ada@inbox.localhost>\r\nDATA\r\nhalf",
      ["250 2.0.0", "250 2.1.0", "250 2.1.5", "354 End"],
    ],
  ];
  test.each(said)("behind a mail and %s has each answer, then the end", async (_what, behind, replies) => {
    await using smtp = await testListener();
    const stored = Promise.withResolvers<AcceptDecision>();
    smtp.door.accept = async (mail) => {
      smtp.mails.push(mail);
      return stored.promise;
    };
    const client = await inData(smtp.port);
    halfClose(client, `${letter}${behind}`);
    await until(() => smtp.mails.length === 1);
    // Time for the end of its input to arrive.
    setTimeout(() => stored.resolve({ kind: "stored" }), 50);
    expect((await client.replies(replies.length)).map(start)).toEqual(replies);
    await client.closed;
    await until(() => smtp.listener.sessions === 0);
    expect([smtp.mails.length, smtp.listener.heldBytes, smtp.faults]).toEqual([1, 0, []]);
  });

  test("gets its reply over TLS too", async () => {
    await using smtp = await testListener();
    smtp.door.accept = () => new Promise((resolve) => setTimeout(() => resolve({ kind: "stored" }), 50));
    const client = await greeted(smtp.port);
    await client.ask("STARTTLS");
    await client.secure();
    await client.ask("EHLO client.example");
    for (const command of ["MAIL FROM:<>", "RCPT TO:<ada@inbox.localhost>", "DATA"]) await client.ask(command);
    halfClose(client, `${letter}QUIT\r\n`);
    expect((await client.replies(2)).map(start)).toEqual(["250 2.0.0", "221 2.0.0"]);
    await client.closed;
    await until(() => smtp.listener.sessions === 0);
  });
});

describe("a client that has closed its side and awaits no reply is closed", () => {
  const rows: [where: string, begin: (port: number) => Promise<RawSmtp>, octets: string][] = [
    ["before a command", greeted, ""],
    ["in a command", greeted, "MAIL FR"],
    ["in a mail", inData, "Subject: half\r\n\r\nx\r\n."],
    ["in a handshake", afterStartTls, "\x16\x03\x01"],
    ["before a handshake", afterStartTls, ""],
  ];
  test.each(rows)("%s", async (_where, begin, octets) => {
    await using smtp = await testListener({ limits: { firstCommandMs: 100 } });
    const client = await begin(smtp.port);
    halfClose(client, octets);
    await client.closed;
    await until(() => smtp.listener.sessions === 0);
    expect([smtp.mails, smtp.listener.heldBytes]).toEqual([[], 0]);
  });

  test("also if the door never answers", async () => {
    await using smtp = await testListener({ limits: { acceptMs: 50 } });
    smtp.door.accept = () => new Promise(() => undefined);
    const client = await inData(smtp.port);
    halfClose(client, letter);
    expect(start(await client.reply())).toBe("451 4.3.0");
    await client.closed;
    await until(() => smtp.listener.sessions === 0);
    expect(smtp.listener.heldBytes).toBe(0);
  });

  test("also if its mail waits for memory", async () => {
    const limits = { memoryBytes: 100_000, memoryFreeBytes: 10_000, memoryWaitMs: 50 };
    await using smtp = await testListener({ maxBytes: 200_000, limits });
    const mail = `${"x".repeat(998)}\r\n`.repeat(150);
    const oldest = await inData(smtp.port);
    oldest.send(mail);
    await until(() => smtp.listener.heldBytes > 140_000);
    const client = await inData(smtp.port);
    halfClose(client, `${mail}.\r\n`);
    expect(start(await client.reply())).toBe("452 4.3.1");
    await client.closed;
    await until(() => smtp.listener.sessions === 1);
  });
});

async function afterStartTls(port: number): Promise<RawSmtp> {
  const client = await greeted(port);
  await client.ask("STARTTLS");
  return client;
}
