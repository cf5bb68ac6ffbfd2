import { describe, expect, test } from "bun:test";
import { testListener } from "../support/mail-door.ts";
import { greeted, inData, rawSmtp } from "../support/raw-smtp.ts";
import { until } from "../support/until.ts";
import { watchesClock } from "../support/watches-clock.ts";

const text = (raw: Uint8Array | undefined): string => Buffer.from(raw ?? []).toString("latin1");
const start = (reply: string): string => reply.split(" ").slice(0, 2).join(" ");

describe("a session", () => {
  test("is greeted at once", watchesClock, async () => {
    await using smtp = await testListener();
    const waits: number[] = [];
    for (let i = 0; i < 5; i++) {
      const startedAtMs = performance.now();
      const client = await rawSmtp(smtp.port);
      expect(await client.reply()).toBe("220 inbox.localhost ESMTP");
      waits.push(performance.now() - startedAtMs);
      client.destroy();
    }
    expect(Math.min(...waits)).toBeLessThan(20);
  });

  test("offers the extensions that the service has, and no others", async () => {
    await using smtp = await testListener({ maxBytes: 5000 });
    const client = await rawSmtp(smtp.port);
    await client.reply();
    const [, ...offers] = (await client.ask("EHLO client.example")).split("\n");
    expect(offers.map((line) => line.slice(4)).sort()).toEqual([
      "8BITMIME",
      "ENHANCEDSTATUSCODES",
      "PIPELINING",
      "SIZE 5000",
      "SMTPUTF8",
      "STARTTLS",
    ]);
  });

  test("each command has its reply, with an enhanced code", async () => {
    await using smtp = await testListener({ maxBytes: 5000 });
    const client = await rawSmtp(smtp.port);
    await client.reply();
    const rows: [command: string, reply: string][] = [
      ["MAIL FROM:<a@b.example>", "503 5.5.1"],
      ["EHLO", "501 Error:"], // RFC 2034 §4: none in an answer to EHLO
      ["HELO client.example", "250 inbox.localhost"],
      ["RCPT TO:<ada@inbox.localhost>", "503 5.5.1"],
      ["DATA", "503 5.5.1"],
      ["NOOP", "250 2.0.0"],
      ["HELP", "214 2.0.0"],
      ["VRFY ada", "252 2.5.0"],
      ["VRFY", "501 5.5.4"],
      ["STARTTLS now", "501 5.5.4"],
      ["AUTH PLAIN AGEAYg==", "500 5.5.2"],
      ["XCLIENT NAME=a", "500 5.5.2"],
      ["TOO_MANY_RECIPIENTS", "500 5.5.2"],
      ["LHLO x", "500 5.5.2"],
      ["", "500 5.5.2"],
      ["MAIL FROM:<a@b.example> SIZE=5001", "552 5.3.4"],
      ["MAIL FROM:a@b.example", "501 5.5.4"],
      ["MAIL FROM:<a@b.example> SIZE=5000 BODY=8BITMIME SMTPUTF8", "250 2.1.0"],
      ["MAIL FROM:<a@b.example>", "503 5.5.1"],
      ["DATA", "554 5.5.1"],
      ["RCPT TO:<nobody@inbox.localhost>", "550 5.1.1"],
      ["RCPT TO:<victim@x.example>", "550 5.7.1"],
      ["RCPT TO:<ada>", "550 5.1.3"],
      ["RCPT TO:<Ada+tag@INBOX.localhost>", "250 2.1.5"],
      ["RSET", "250 2.0.0"],
      ["DATA", "503 5.5.1"],
      ["MAIL FROM:<>", "250 2.1.0"],
      ["RCPT TO:<ada@inbox.localhost>", "250 2.1.5"],
      ["DATA now", "501 5.5.4"],
      ["DATA", "354 End"],
      ["Subject: hi\r\n\r\n.", "250 2.0.0"],
      ["DATA", "503 5.5.1"],
      ["QUIT", "221 2.0.0"],
    ];
    const replies: [string, string][] = [];
    for (const [command] of rows) replies.push([command, start(await client.ask(command))]);
    expect(replies).toEqual(rows);
    await client.closed;
    expect(smtp.mails.map(({ envelope }) => envelope.from)).toEqual([""]);
  });

  test("that speaks HTTP, or sends ten unknown commands, is ended", async () => {
    await using smtp = await testListener();
    const browser = await rawSmtp(smtp.port);
    await browser.reply();
    expect(start(await browser.ask("GET / HTTP/1.1"))).toBe("421 4.7.0");
    await browser.closed;
    const guesser = await rawSmtp(smtp.port);
    await guesser.reply();
    const replies: string[] = [];
    for (let i = 0; i < 10; i++) replies.push(start(await guesser.ask(`X${i}`)));
    expect(replies).toEqual([...Array<string>(9).fill("500 5.5.2"), "421 4.7.0"]);
    await guesser.closed;
  });

  test("that ends inside a command does not run that command", async () => {
    await using smtp = await testListener();
    const asked: string[] = [];
    smtp.door.recipient = async (address) => {
      asked.push(address);
      return { kind: "accept", inboxId: "inb_1" };
    };
    const client = await greeted(smtp.port);
    client.socket.end("MAIL FROM:<>\r\nRCPT TO:<ada@inbox.localhost>\r\nRCPT TO:<ada@inbox.localhost>");
    await client.closed;
    await until(() => smtp.listener.sessions === 0);
    expect(asked).toHaveLength(1);
  });

  test("with a command line without end is ended", async () => {
    await using smtp = await testListener();
    const client = await greeted(smtp.port);
    client.send("x".repeat(3000));
    expect(start(await client.reply())).toBe("421 4.7.0");
    await client.closed;
  });
});

describe("a mail", () => {
  test("arrives as it was sent, with its envelope", async () => {
    await using smtp = await testListener();
    const client = await greeted(smtp.port);
    client.send(
      "MAIL FROM:<jane@example.com>\r\nRCPT TO:<ada+x@inbox.localhost>\r\nRCPT TO:<ADA+X@inbox.localhost>\r\n",
    );
    client.send("RCPT TO:<no@inbox.localhost>\r\nRCPT TO:<n1@Inbox.Localhost>\r\nDATA\r\n");
    const replies = await client.replies(6);
    expect(replies.map((reply) => reply.slice(0, 3))).toEqual(["250", "250", "250", "550", "250", "354"]);
    client.send("Subject: hi\r\n\r\n..stuffed\r\nbare\nLF \xe9\r\n.\r\nQUIT\r\n");
    expect((await client.replies(2)).map(start)).toEqual(["250 2.0.0", "221 2.0.0"]);
    const [mail, ...more] = smtp.mails;
    expect(more).toEqual([]);
    expect({ ...mail, raw: Buffer.from(mail?.raw ?? []).toString() }).toEqual({
      envelope: {
        from: "jane@example.com",
        recipients: [
          { toAddr: "ada+x@inbox.localhost", inboxId: "inbox of ada+x@inbox.localhost" },
          { toAddr: "n1@Inbox.Localhost", inboxId: "inbox of n1@Inbox.Localhost" },
        ],
        client: {
          address: "127.0.0.1",
          network: "127.0.0.1",
          heloName: "client.example",
          secure: false,
          isProxy: false,
        },
      },
      raw: "Subject: hi\r\n\r\n.stuffed\r\nbare\nLF \xe9\r\n",
    });
  });

  test("is answered 250 only when the door has stored it, and pipelined commands wait", async () => {
    await using smtp = await testListener();
    const stored = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    smtp.door.accept = async () => {
      asked.resolve();
      await stored.promise;
      return { kind: "stored" };
    };
    const client = await inData(smtp.port);
    let answered = false;
    const reply = client.reply().then((line) => {
      answered = true;
      return line;
    });
    client.send("x\r\n.\r\nNOOP\r\nQUIT\r\n");
    await asked.promise;
    // A round trip of another session gives this one time for a wrong reply.
    await (await greeted(smtp.port)).ask("NOOP");
    expect(answered).toBe(false);
    stored.resolve();
    expect([start(await reply), ...(await client.replies(2)).map(start)]).toEqual([
      "250 2.0.0",
      "250 2.0.0",
      "221 2.0.0",
    ]);
  });

  test("whose client leaves before its end never reaches the door", async () => {
    await using smtp = await testListener();
    const endings: [string, (client: Awaited<ReturnType<typeof inData>>) => void][] = [
      ["cut", (client) => client.destroy()],
      ["closed", (client) => void client.socket.end()],
      ["closed before the last LF", (client) => void client.socket.end("\r\n.\r")],
    ];
    for (const [, leave] of endings) {
      const client = await inData(smtp.port);
      client.send("Subject: half\r\n\r\nhalf a mail");
      leave(client);
      await client.closed;
    }
    const whole = await inData(smtp.port);
    expect(start(await whole.ask("Subject: whole\r\n\r\n."))).toBe("250 2.0.0");
    expect(smtp.mails.map((mail) => text(mail.raw))).toEqual(["Subject: whole\r\n\r\n"]);
    whole.destroy();
    await whole.closed;
    expect(smtp.listener.heldBytes).toBe(0);
  });

  const sizes: [what: string, bytes: number, reply: string, kept: number][] = [
    ["at the limit", 5000, "250 2.0.0", 1],
    ["one byte over", 5001, "552 5.3.4", 0],
    ["far over", 9000, "552 5.3.4", 0],
  ];
  test.each(sizes)("%s", async (_what, bytes, reply, kept) => {
    await using smtp = await testListener({ maxBytes: 5000, limits: { overrunBytes: 5000 } });
    const client = await inData(smtp.port);
    client.send(`${"x".repeat(bytes - 2)}\r\n.\r\n`);
    expect(start(await client.reply())).toBe(reply);
    expect([smtp.mails.length, smtp.listener.heldBytes]).toEqual([kept, 0]);
    expect(smtp.accepted).toEqual(kept === 1 ? [bytes] : []);
    expect(start(await client.ask("NOOP"))).toBe("250 2.0.0");
  });

  test("without end is cut off a little past the limit", async () => {
    await using smtp = await testListener({ maxBytes: 5000, limits: { overrunBytes: 100_000 } });
    const client = await inData(smtp.port);
    const line = Buffer.from(`${"x".repeat(998)}\r\n`.repeat(20));
    let sent = 0;
    const pump = (): void => {
      while (sent < 50_000_000 && client.socket.writable && client.socket.write(line)) sent += line.length;
    };
    client.socket.on("drain", pump);
    pump();
    await client.closed;
    expect(sent).toBeLessThan(50_000_000);
    expect([smtp.refused, smtp.mails, smtp.listener.heldBytes]).toEqual([["endless"], [], 0]);
  });

  test("with over a hundred Received headers is refused as a loop", async () => {
    await using smtp = await testListener();
    const client = await inData(smtp.port);
    client.send(`${"Received: by a.example\r\n".repeat(101)}\r\n.\r\n`);
    expect(start(await client.reply())).toBe("554 5.4.6");
    client.send("MAIL FROM:<>\r\nRCPT TO:<ada@inbox.localhost>\r\nDATA\r\n");
    await client.replies(3);
    client.send(`${"Received: by a.example\r\n".repeat(100)}\r\n.\r\n`);
    expect(start(await client.reply())).toBe("250 2.0.0");
  });

  test("gets 452 for each recipient over a hundred", async () => {
    await using smtp = await testListener();
    const client = await greeted(smtp.port);
    await client.ask("MAIL FROM:<jane@example.com>");
    client.send(Array.from({ length: 102 }, (_, i) => `RCPT TO:<n${i}@inbox.localhost>\r\n`).join(""));
    const replies = (await client.replies(102)).map(start);
    expect(replies.filter((reply) => reply === "250 2.1.5")).toHaveLength(100);
    expect(replies.slice(100)).toEqual(["452 4.5.3", "452 4.5.3"]);
    expect(start(await client.ask("RCPT TO:<N5@inbox.localhost>"))).toBe("250 2.1.5");
    await client.ask("DATA");
    await client.ask("x\r\n.");
    expect(smtp.mails[0]?.envelope.recipients).toHaveLength(100);
  });

  test("gets 452 for a second return path", async () => {
    await using smtp = await testListener();
    const client = await greeted(smtp.port);
    smtp.door.recipient = async (address) =>
      /^n/i.test(address)
        ? { kind: "accept", inboxId: address }
        : { kind: "return_path", messageId: address.charAt(0).toLowerCase() };
    await client.ask("MAIL FROM:<>");
    const replies: string[] = [];
    for (const name of ["a", "b", "A", "n1", "c"]) replies.push(await client.ask(`RCPT TO:<${name}@inbox.localhost>`));
    expect(replies.map(start)).toEqual(["250 2.1.5", "452 4.5.3", "250 2.1.5", "250 2.1.5", "452 4.5.3"]);
    await client.ask("DATA");
    await client.ask("x\r\n.");
    expect(smtp.mails[0]?.envelope.recipients).toEqual([
      { toAddr: "a@inbox.localhost", messageId: "a" },
      { toAddr: "n1@inbox.localhost", inboxId: "n1@inbox.localhost" },
    ]);
    await client.ask("MAIL FROM:<>");
    expect(start(await client.ask("RCPT TO:<b@inbox.localhost>"))).toBe("250 2.1.5");
  });

  test.each([
    ["first", ["apart", "n1", "path", "APART"], ["250 2.1.5", "452 4.5.3", "452 4.5.3", "250 2.1.5"]],
    ["second", ["n1", "apart", "n2"], ["250 2.1.5", "452 4.5.3", "250 2.1.5"]],
    ["behind a return path", ["path", "apart", "n1"], ["250 2.1.5", "452 4.5.3", "250 2.1.5"]],
  ] as const)("that has a mail of its own is alone in it, also when it comes %s", async (_, names, replies) => {
    await using smtp = await testListener();
    const client = await greeted(smtp.port);
    smtp.door.recipient = async (address) =>
      address.startsWith("path")
        ? { kind: "return_path", messageId: "m" }
        : { kind: "accept", inboxId: address, isApart: /^apart/i.test(address) };
    await client.ask("MAIL FROM:<>");
    const told: string[] = [];
    for (const name of names) told.push(start(await client.ask(`RCPT TO:<${name}@inbox.localhost>`)));
    expect(told).toEqual([...replies]);
  });
});

describe("nothing is relayed", () => {
  const forms = [
    "victim@x.example",
    "victim%x.example@inbox.localhost",
    "x.example!victim@inbox.localhost",
    "x.example!victim",
    "@inbox.localhost:victim@x.example",
    "@inbox.localhost,@a.example:victim@x.example",
    '"victim@x.example"',
    '"victim@x.example"@inbox.localhost',
    '"victim%x.example"@inbox.localhost',
    "victim@x.example@inbox.localhost",
    "victim@[192.0.2.1]",
    "victim@[IPv6:2001:db8::1]",
    "victim@x.example.",
    "ada@inbox.localhost.x.example",
    "ada@xinbox.localhost",
    "victim%x.example",
    "ada@",
    "@x.example",
    "victim@x.example,ada@inbox.localhost",
    "ada@inbox.localhost\u200b",
  ];
  test.each(forms)("%s", async (form) => {
    await using smtp = await testListener();
    const client = await greeted(smtp.port);
    await client.ask("MAIL FROM:<jane@example.com>");
    expect(await client.ask(`RCPT TO:<${form}>`)).toMatch(/^55[0-9] 5\.|^501 5\./);
    expect(start(await client.ask("DATA"))).toBe("554 5.5.1");
  });

  test("ten refused recipients end the session", async () => {
    await using smtp = await testListener();
    const client = await greeted(smtp.port);
    await client.ask("MAIL FROM:<jane@example.com>");
    const replies: string[] = [];
    for (let i = 0; i < 10; i++) replies.push(start(await client.ask(`RCPT TO:<no${i}@inbox.localhost>`)));
    expect(replies).toEqual([...Array<string>(9).fill("550 5.1.1"), "421 4.7.0"]);
    await client.closed;
  });
});

describe("a failure of the door is 451, so that the sender keeps the mail", () => {
  const failures: [what: string, fail: () => Promise<never>][] = [
    [
      "it throws",
      () => {
        throw new Error("database gone");
      },
    ],
    ["it rejects", () => Promise.reject(new Error("database gone"))],
    ["it never answers", () => new Promise<never>(() => undefined)],
    ["it answers what nobody knows", () => Promise.resolve({ kind: "mystery" } as never)],
    ["it says so", () => Promise.resolve({ kind: "unavailable" } as never)],
  ];
  test.each(failures)("at RCPT: %s", async (_what, fail) => {
    await using smtp = await testListener({ limits: { recipientMs: 30 } });
    const client = await greeted(smtp.port);
    await client.ask("MAIL FROM:<jane@example.com>");
    const works = smtp.door.recipient;
    smtp.door.recipient = fail;
    // Eleven: an outage is not the client's fault, and ends no session.
    for (let i = 0; i < 11; i++) expect(start(await client.ask("RCPT TO:<ada@inbox.localhost>"))).toBe("451 4.3.0");
    smtp.door.recipient = works;
    expect(start(await client.ask("RCPT TO:<ada@inbox.localhost>"))).toBe("250 2.1.5");
  });
  test.each(failures)("at the final dot: %s", async (_what, fail) => {
    await using smtp = await testListener({ limits: { acceptMs: 30 } });
    const works = smtp.door.accept;
    smtp.door.accept = fail;
    const client = await inData(smtp.port);
    expect(start(await client.ask("x\r\n."))).toBe("451 4.3.0");
    expect(smtp.accepted).toEqual([]);
    smtp.door.accept = works;
    client.send("MAIL FROM:<>\r\nRCPT TO:<ada@inbox.localhost>\r\nDATA\r\n");
    await client.replies(3);
    expect(start(await client.ask("x\r\n."))).toBe("250 2.0.0");
    expect([smtp.mails.length, smtp.listener.heldBytes]).toEqual([1, 0]);
  });

  test("a rejection by the door has its words, on one line", async () => {
    await using smtp = await testListener();
    smtp.door.accept = async () => ({ kind: "rejected", code: 554, enhancedCode: "5.6.0", message: "No\r\n250 Ok" });
    const client = await inData(smtp.port);
    expect(await client.ask("x\r\n.")).toBe("554 5.6.0 No  250 Ok");
    smtp.door.accept = async () => ({ kind: "gone" });
    client.send("MAIL FROM:<>\r\nRCPT TO:<ada@inbox.localhost>\r\nDATA\r\n");
    await client.replies(3);
    expect(start(await client.ask("x\r\n."))).toBe("550 5.1.1");
  });
});

describe("nothing but CRLF . CRLF ends a mail (SMTP smuggling)", () => {
  const fakes = [
    "\n.\n",
    "\n.\r",
    "\r.\n",
    "\r.\r",
    "\n.\r\n",
    "\r.\r\n",
    "\r\n\0.\r\n",
    "\r\n.\r\r\n",
    "\r\r\n.\r\r\n",
  ];
  const smuggled = "MAIL FROM:<evil@x.example>\r\nRCPT TO:<n1@inbox.localhost>\r\nDATA\r\nsmuggled\r\n";

  test.each(fakes.map((fake) => [JSON.stringify(fake), fake]))("%s, in every split", async (_name, fake) => {
    await using smtp = await testListener();
    const wire = Buffer.from(`first${fake}${smuggled}.\r\n`, "latin1");
    const around = "first".length + fake.length + 2;
    const replies: string[] = [];
    for (let cut = 0; cut < around; cut++) {
      const client = await inData(smtp.port);
      client.send(wire.subarray(0, cut));
      // Once the first piece is read, all of it is in memory, except for octets that may begin the end.
      await until(() => smtp.listener.heldBytes >= cut - 3);
      client.send(wire.subarray(cut));
      const reply = start(await client.reply());
      expect(smtp.listener.heldBytes).toBe(0);
      if (reply === "250 2.0.0") expect(start(await client.ask("NOOP"))).toBe("250 2.0.0");
      else await client.closed;
      replies.push(reply);
      client.destroy();
    }
    const isPlain = fake === "\r\n\0.\r\n";
    expect(new Set(replies)).toEqual(new Set([isPlain ? "250 2.0.0" : "550 5.6.0"]));
    expect(smtp.mails.length).toBe(isPlain ? around : 0);
    for (const mail of smtp.mails) expect(text(mail.raw)).toBe(`first${fake}${smuggled}`);
  });
});
