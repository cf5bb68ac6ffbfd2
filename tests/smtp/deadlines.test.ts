import { describe, expect, test } from "bun:test";
import { failureOf } from "../support/failure.ts";
import { type TestListener, testListener } from "../support/mail-door.ts";
import { greeted, inData, type RawSmtp, rawSmtp } from "../support/raw-smtp.ts";
import { until } from "../support/until.ts";
import { startWorld } from "../support/world.ts";

const start = (reply: string): string => reply.split(" ").slice(0, 2).join(" ");

/** Sends one octet of `text` after another, over and over, until the connection ends. */
async function trickle(client: RawSmtp, text: string): Promise<void> {
  const timer = setInterval(() => client.send(text), 5);
  await client.closed;
  clearInterval(timer);
}

describe("a slow client is closed at the deadline, also if it sends single octets:", () => {
  test("one that never speaks", async () => {
    await using smtp = await testListener({ limits: { firstCommandMs: 40 } });
    const client = await rawSmtp(smtp.port);
    expect((await client.replies(2)).map(start)).toEqual(["220 inbox.localhost", "421 4.4.2"]);
    await client.closed;
  });

  test("one that never ends its first command", async () => {
    await using smtp = await testListener({ limits: { firstCommandMs: 60 } });
    const client = await rawSmtp(smtp.port);
    await trickle(client, "E");
    expect((await client.replies(2)).map(start)).toEqual(["220 inbox.localhost", "421 4.4.2"]);
  });

  test("one that never ends a later command", async () => {
    await using smtp = await testListener({ limits: { idleMs: 60 } });
    const client = await greeted(smtp.port);
    await trickle(client, "N");
    expect(start(await client.reply())).toBe("421 4.4.2");
  });

  test.each([
    ["nothing", ""],
    ["half a hello", "\x16\x03\x01\x02\x00\x01"],
  ])("one that says STARTTLS and then %s", async (_what, hello) => {
    await using smtp = await testListener({ limits: { firstCommandMs: 60 } });
    const client = await greeted(smtp.port);
    expect(start(await client.ask("STARTTLS"))).toBe("220 2.0.0");
    client.send(hello);
    await client.closed;
    // No plain text inside the handshake.
    expect(String(await failureOf(client.reply()))).toContain("ended");
    await until(() => smtp.listener.sessions === 0);
  });

  test("one whose mail is slower than the least rate", async () => {
    await using smtp = await testListener({ limits: { dataGraceMs: 20, rateWindowMs: 60, minBytesPerSecond: 10_000 } });
    const client = await inData(smtp.port);
    await trickle(client, "x");
    expect(start(await client.reply())).toBe("421 4.4.2");
    expect([smtp.mails, smtp.listener.heldBytes, smtp.refused]).toEqual([[], 0, ["timeout"]]);
  });

  test("one whose mail takes too long, although it is fast enough", async () => {
    await using smtp = await testListener({ maxBytes: 1e9, limits: { transactionMs: 100, rateWindowMs: 20 } });
    const client = await inData(smtp.port);
    await trickle(client, `${"x".repeat(500)}\r\n`);
    expect(start(await client.reply())).toBe("421 4.4.2");
    expect(smtp.mails).toEqual([]);
  });

  test("one that keeps a mail open with commands", async () => {
    await using smtp = await testListener({ limits: { transactionMs: 60 } });
    const client = await greeted(smtp.port);
    await client.ask("MAIL FROM:<>");
    await trickle(client, "NOOP\r\n");
    expect(smtp.refused).toEqual(["timeout"]);
  });

  test("one that sends commands and never reads replies is read only up to a limit", async () => {
    await using smtp = await testListener({ limits: { idleMs: 200 } });
    const client = await greeted(smtp.port);
    client.socket.pause();
    const asks = Buffer.from("HELP\r\n".repeat(10_000));
    let sent = 0;
    let isFull = false;
    while (!isFull && sent < 200_000_000) {
      if (!client.socket.write(asks)) {
        const drained = Promise.withResolvers<boolean>();
        client.socket.once("drain", () => drained.resolve(true));
        client.socket.once("close", () => drained.resolve(false));
        const timer = setTimeout(() => drained.resolve(false), 300);
        isFull = !(await drained.promise);
        clearTimeout(timer);
      }
      sent += asks.length;
    }
    expect(sent).toBeLessThan(200_000_000);
    await until(() => smtp.refused.includes("timeout"));
    client.destroy();
    await until(() => smtp.listener.sessions === 0);
  });

  test("the time of the door does not count as the client's", async () => {
    await using smtp = await testListener({
      limits: { idleMs: 40, transactionMs: 40, rateWindowMs: 20, dataGraceMs: 0 },
    });
    const stored = Promise.withResolvers<{ kind: "stored" }>();
    smtp.door.accept = () => stored.promise;
    const client = await inData(smtp.port);
    client.send("x\r\n.\r\n");
    setTimeout(() => stored.resolve({ kind: "stored" }), 120);
    expect(start(await client.reply())).toBe("250 2.0.0");
  });
});

describe("connections are limited", () => {
  test("for one address, until one of them ends", async () => {
    await using smtp = await testListener({ limits: { maxConnectionsPerAddress: 2 } });
    const [first, second] = [await greeted(smtp.port), await greeted(smtp.port)];
    const third = await rawSmtp(smtp.port);
    expect(start(await third.reply())).toBe("421 4.7.0");
    await third.closed;
    expect([smtp.listener.sessions, smtp.refused]).toEqual([2, ["connections_per_address"]]);
    expect(start(await second.ask("NOOP"))).toBe("250 2.0.0");
    first.destroy();
    await until(() => smtp.listener.sessions === 1);
    expect(start(await (await greeted(smtp.port)).ask("NOOP"))).toBe("250 2.0.0");
  });

  test("not for the address of a balancer in the settings", async () => {
    await using capped = await startWorld({ database: "embedded", env: { SMTP_MAX_CONNECTIONS_PER_ADDRESS: "1" } });
    await using trusting = await startWorld({
      database: "embedded",
      env: { SMTP_MAX_CONNECTIONS_PER_ADDRESS: "1", TRUSTED_PROXIES: "192.0.2.1,127.0.0.1" },
    });
    const greetings = await Promise.all(
      [capped, trusting].map(async ({ smtpPort }) => {
        const clients = [await rawSmtp(smtpPort), await rawSmtp(smtpPort)];
        const replies = await Promise.all(clients.map((client) => client.reply()));
        for (const client of clients) client.destroy();
        return replies.map((reply) => reply.slice(0, 3));
      }),
    );
    expect(greetings).toEqual([
      ["220", "421"],
      ["220", "220"],
    ]);
  });

  test("in all", async () => {
    await using smtp = await testListener({ limits: { maxConnections: 1 } });
    await greeted(smtp.port);
    const second = await rawSmtp(smtp.port);
    expect(start(await second.reply())).toBe("421 4.3.2");
    await second.closed;
  });

  test("and leave nothing behind", async () => {
    await using smtp = await testListener();
    for (const leave of ["QUIT\r\n", "", "STARTTLS\r\nno TLS at all\r\n"]) {
      const client = await greeted(smtp.port);
      if (leave === "") client.destroy();
      else client.send(leave);
      if (leave.startsWith("STARTTLS")) {
        await client.reply();
        client.send("again no TLS\r\n");
      }
      await client.closed;
      client.destroy();
    }
    await until(() => smtp.listener.sessions === 0);
  });
});

describe("the bytes of all mails are bounded", () => {
  const limits = { memoryBytes: 300_000, memoryFreeBytes: 10_000 };
  const mail = `${"x".repeat(998)}\r\n`.repeat(200);

  test("many large mails at once are all stored, and never all in memory", async () => {
    await using smtp = await testListener({ maxBytes: 250_000, limits });
    let most = 0;
    smtp.door.accept = async (inbound) => {
      most = Math.max(most, smtp.listener.heldBytes);
      smtp.mails.push(inbound);
      return { kind: "stored" };
    };
    const clients = await Promise.all(Array.from({ length: 12 }, () => inData(smtp.port)));
    for (const client of clients) client.send(`${mail}.\r\n`);
    const replies = await Promise.all(clients.map(async (client) => start(await client.reply())));
    expect(replies).toEqual(Array<string>(12).fill("250 2.0.0"));
    expect(smtp.mails.every((inbound) => inbound.raw.length === mail.length)).toBe(true);
    // Each may have read one chunk past the limit before it had to wait.
    expect(most).toBeLessThan(limits.memoryBytes + mail.length + 12 * 65_536);
    expect(smtp.listener.heldBytes).toBe(0);
  });

  test("a small mail passes while large mails wait, and one that waits too long gets 452", async () => {
    await using smtp = await testListener({ maxBytes: 400_000, limits: { ...limits, memoryWaitMs: 50 } });
    const oldest = await inData(smtp.port);
    oldest.send(mail);
    await until(() => smtp.listener.heldBytes >= mail.length - 4);
    const waits = await inData(smtp.port);
    waits.send(`${mail}.\r\n`);
    const letter = await inData(smtp.port);
    expect(start(await letter.ask("Subject: hi\r\n\r\n."))).toBe("250 2.0.0");
    expect(start(await waits.reply())).toBe("452 4.3.1");
    oldest.send(".\r\n");
    expect(start(await oldest.reply())).toBe("250 2.0.0");
    waits.send("MAIL FROM:<>\r\nRCPT TO:<ada@inbox.localhost>\r\nDATA\r\n");
    await waits.replies(3);
    waits.send(`${mail}.\r\n`);
    expect(start(await waits.reply())).toBe("250 2.0.0");
    expect(smtp.listener.heldBytes).toBe(0);
  });

  describe("a client that takes memory and stops", () => {
    const hoard = `${"x".repeat(998)}\r\n`.repeat(220);

    async function holders(smtp: TestListener, addresses: readonly string[], octets = hoard): Promise<RawSmtp[]> {
      const clients = await Promise.all(addresses.map((address) => inData(smtp.port, undefined, address)));
      for (const client of clients) client.send(octets);
      return clients;
    }

    async function sent(smtp: TestListener, localAddress: string): Promise<string> {
      const client = await inData(smtp.port, undefined, localAddress);
      client.send(`${mail}.\r\n`);
      return start(await client.reply());
    }

    test("does not block clients of another address", async () => {
      await using smtp = await testListener({ maxBytes: 2_500_000, limits: { ...limits, memoryBytes: 8_000_000 } });
      await holders(smtp, Array<string>(8).fill("127.0.0.1"), hoard.repeat(10));
      await until(() => smtp.listener.heldBytes > 4_000_000);
      expect(await sent(smtp, "127.0.0.2")).toBe("250 2.0.0");
    });

    const attacks: [whence: string, from: string[], honest: string][] = [
      ["the same address", ["127.0.0.1", "127.0.0.1", "127.0.0.1"], "127.0.0.1"],
      ["several addresses", ["127.0.0.1", "127.0.0.3", "127.0.0.4", "127.0.0.5"], "127.0.0.2"],
    ];
    test.each(attacks)("from %s gives them back once somebody has waited for a turn", async (_whence, from, honest) => {
      await using smtp = await testListener({ maxBytes: 250_000, limits: { ...limits, memoryTurnMs: 200 } });
      const [first] = await holders(smtp, from);
      await until(() => smtp.listener.heldBytes > 220_000);
      expect(await sent(smtp, honest)).toBe("250 2.0.0");
      // A client that had to give its memory back gets its reply when it goes on.
      first?.send(".\r\n");
      expect(start((await first?.reply()) ?? "")).toBe("452 4.3.1");
    });

    test("behind a balancer gives it back too", async () => {
      const balancer = { uncountedAddresses: ["127.0.0.1"], memoryTurnMs: 200 };
      await using smtp = await testListener({ maxBytes: 250_000, limits: { ...limits, ...balancer } });
      await holders(smtp, ["127.0.0.1", "127.0.0.1", "127.0.0.1"]);
      await until(() => smtp.listener.heldBytes > 220_000);
      expect(await sent(smtp, "127.0.0.1")).toBe("250 2.0.0");
    });
  });
});
