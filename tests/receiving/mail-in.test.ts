import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { greeted, inData } from "../support/raw-smtp.ts";
import { countEvents, storedAttachments, storedBytes, storedMessages } from "../support/stored.ts";
import { untilAnswered } from "../support/until.ts";
import { deliver, type WorldInbox } from "../support/world.ts";
import { oneWorldOn, worldsOn } from "../support/world-on.ts";

for (const engine of enginesHere()) {
  describe(`mail received by SMTP (${engine})`, () => {
    const world = oneWorldOn(engine, { env: { OPERATOR_INBOX: "operator", INBOXES_PER_DAY: "0" } });
    const db = () => world().service.deps.db.api;
    const messages = (inbox: WorldInbox) => storedMessages(db(), inbox.id);
    const deliver = (raw: string | Uint8Array, ...to: string[]) => world().deliver(raw, to);

    test("of 50 senders at the same time is stored once each, without a loss", async () => {
      const inboxes = await Promise.all(Array.from({ length: 5 }, () => world().inbox()));
      const sent = Array.from({ length: 200 }, (_, index) => `m${index}@many.example`);
      const lines = sent.entries();
      const session = async () => {
        const client = await greeted(world().smtpPort);
        for (const [index, messageId] of lines) {
          await client.ask("MAIL FROM:<jane@example.com>");
          await client.ask(`RCPT TO:<${inboxes[index % inboxes.length]?.address}>`);
          await client.ask("DATA");
          client.send(`${mailOf({ messageId, text: `Text of ${messageId}` })}\r\n.\r\n`);
          expect(await client.reply()).toStartWith("250 2.0.0");
        }
        await client.ask("QUIT");
        await client.closed;
      };
      await Promise.all(Array.from({ length: 50 }, session));
      const stored = (await Promise.all(inboxes.map(messages))).flat();
      expect(stored.map(({ rfcMessageId }) => rfcMessageId).toSorted()).toEqual(sent.toSorted());
      for (const { bodyText, rfcMessageId } of stored) expect(bodyText).toBe(`Text of ${rfcMessageId}`);
      for (const inbox of inboxes) expect(await countEvents(db(), "message.received", inbox.id)).toBe(40);
    }, 30_000);

    test("is stored with its attachments and its thread, and a copy changes nothing", async () => {
      const ada = await world().inbox();
      const file = crypto.getRandomValues(Buffer.alloc(50_000));
      const raw = mailOf({
        messageId: "a@b.example",
        headers: ["MIME-Version: 1.0", "Content-Type: multipart/mixed; boundary=b"],
        text: `--b\r\n\r\nHello\r\n.\r\n..\r\n--b\r\nContent-Type: application/pdf; name=file.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n${file
          .toString("base64")
          .replace(/.{76}/g, "$&\r\n")}\r\n--b--\r\n`,
      });
      expect(await deliver(raw, ada.address)).toStartWith("250 2.0.0");
      expect(await deliver(raw, ada.address)).toStartWith("250 2.0.0");
      expect(await deliver(mailOf({ messageId: "c@b.example", inReplyTo: "a@b.example" }), ada.address)).toStartWith(
        "250",
      );
      const [first, reply, ...more] = await messages(ada);
      expect(more).toEqual([]);
      expect(first).toMatchObject({ rfcMessageId: "a@b.example", bodyText: "Hello\n.\n..", attachmentCount: 1 });
      expect(reply?.threadId).toBe(first?.threadId);
      expect((await storedBytes(db(), first?.sourceId ?? "")).equals(Buffer.from(raw))).toBe(true);
      const [attachment] = await storedAttachments(db(), first?.id ?? "");
      expect(attachment).toMatchObject({ filename: "file.pdf", contentType: "application/pdf", sizeBytes: 50_000 });
      expect((await storedBytes(db(), first?.sourceId ?? "", attachment?.part)).equals(file)).toBe(true);
    });

    describe("an address", () => {
      const rows: [string, (user: string) => string, string][] = [
        ["as it is", (user) => `${user}@inbox.localhost`, "250 2.1.5"],
        ["in capitals", (user) => `${user.toUpperCase()}@INBOX.LOCALHOST`, "250 2.1.5"],
        ["with a tag", (user) => `${user}+tag@inbox.localhost`, "250 2.1.5"],
        ["in quotes", (user) => `"${user}"@inbox.localhost`, "250 2.1.5"],
        ["that nobody has", (user) => `no${user}@inbox.localhost`, "550 5.1.1"],
        ["of another domain", (user) => `${user}@example.com`, "550 5.7.1"],
        ["of a subdomain", (user) => `${user}@sub.inbox.localhost`, "550 5.7.1"],
        ["routed by percent", (user) => `${user}%example.com@inbox.localhost`, "550 5.1.1"],
        ["routed by bang", (user) => `example.com!${user}@inbox.localhost`, "550 5.1.1"],
      ];
      test.each(rows)("%s", async (_, addressOf, code) => {
        const { address } = await world().inbox();
        const client = await greeted(world().smtpPort);
        await client.ask("MAIL FROM:<jane@example.com>");
        expect(await client.ask(`RCPT TO:<${addressOf(address.split("@")[0] ?? "")}>`)).toStartWith(code);
        client.destroy();
      });

      test("mail to postmaster and abuse goes to the operator's inbox", async () => {
        const operator = await world().inbox("operator");
        for (const address of ["postmaster@inbox.localhost", "Abuse@inbox.localhost", "postmaster"])
          expect(await deliver(mailOf({ messageId: address }), address)).toStartWith("250");
        expect((await messages(operator)).map(({ toAddr }) => toAddr)).toEqual([
          "postmaster@inbox.localhost",
          "Abuse@inbox.localhost",
          "postmaster",
        ]);
      });

      test("of an inbox that was just created is accepted at once, although it was refused before", async () => {
        expect(await deliver(mailOf(), "later@inbox.localhost")).toStartWith("550 5.1.1");
        const later = await world().inbox("later");
        expect(await deliver(mailOf(), later.address)).toStartWith("250");
      });

      test("of a deleted inbox is refused at once, also right after it was used", async () => {
        const brief = await world().inbox();
        expect(await deliver(mailOf(), brief.address)).toStartWith("250");
        const client = await inData(world().smtpPort, brief.address);
        await world().api(`/v1/inboxes/${brief.id}`, { method: "DELETE" });
        client.send("Subject: late\r\n\r\n.\r\n");
        expect(await client.reply()).toStartWith("550 5.1.1");
        client.destroy();
        expect(await deliver(mailOf(), brief.address)).toStartWith("550 5.1.1");
      });

      test("is stored for the inboxes that RCPT found, unless they have been deleted", async () => {
        const [stays, goes] = [await world().inbox(), await world().inbox()];
        const client = await greeted(world().smtpPort);
        await client.ask("MAIL FROM:<jane@example.com>");
        for (const { address } of [goes, stays]) expect(await client.ask(`RCPT TO:<${address}>`)).toStartWith("250");
        await client.ask("DATA");
        await world().api(`/v1/inboxes/${goes.id}`, { method: "DELETE" });
        client.send(`${mailOf()}\r\n.\r\n`);
        expect(await client.reply()).toStartWith("250 2.0.0");
        client.destroy();
        expect((await messages(stays)).map(({ toAddr }) => toAddr)).toEqual([stays.address]);
        expect(await messages(goes)).toEqual([]);
      });

      test("is never stored for another inbox that got the name after RCPT", async () => {
        const before = await world().inbox("handed-on");
        const client = await inData(world().smtpPort, before.address);
        await world().api(`/v1/inboxes/${before.id}`, { method: "DELETE" });
        // RCPT caches the inbox of a name until it is notified, and a deleted name stays reserved for far longer.
        const isForgotten = async () => !(await deliver(mailOf(), before.address)).includes("any more");
        await untilAnswered(async () => (await isForgotten()) || undefined);
        await query(db(), sql`update addresses set held_until = '2000-01-01' where username = 'handed-on'`);
        const after = await world().inbox("handed-on");
        client.send("Subject: for the one before\r\n\r\n.\r\n");
        expect(await client.reply()).toStartWith("550 5.1.1");
        client.destroy();
        expect(await messages(after)).toEqual([]);
        expect(await deliver(mailOf(), after.address)).toStartWith("250");
        expect(await messages(after)).toHaveLength(1);
      });
    });

    test("one mail to a hundred inboxes is a hundred messages", async () => {
      const inboxes = await Promise.all(Array.from({ length: 100 }, () => world().inbox()));
      expect(await deliver(mailOf(), ...inboxes.map(({ address }) => address))).toStartWith("250");
      for (const inbox of inboxes) expect(await messages(inbox)).toHaveLength(1);
      expect(await deliver(mailOf(), ...inboxes.map(({ address }) => address), "postmaster")).toStartWith("452 4.5.3");
    }, 30_000);

    test("a mail of the maximum size is stored completely, and one octet more is refused", async () => {
      const inbox = await world().inbox();
      const limit = 26_214_400;
      const head =
        "Subject: large\r\nMIME-Version: 1.0\r\nContent-Type: application/zip; name=a.zip\r\nContent-Transfer-Encoding: base64\r\n\r\n";
      const noise = Buffer.from(crypto.getRandomValues(new Uint8Array(57 * 1000))).toString("base64");
      const lines = `${noise.match(/.{76}/g)?.join("\r\n")}\r\n`;
      const whole = head + lines.repeat(Math.ceil(limit / lines.length));
      const large = `${whole.slice(0, limit - 2)}\r\n`;
      expect(await deliver(large, inbox.address)).toStartWith("250");
      expect(await deliver(`${large}x`, inbox.address)).toStartWith("552 5.3.4");
      const [message, ...more] = await messages(inbox);
      expect(more).toEqual([]);
      expect(message).toMatchObject({ subject: "large", sizeBytes: limit, attachmentCount: 1 });
      expect((await storedBytes(db(), message?.sourceId ?? "")).equals(Buffer.from(large))).toBe(true);
    }, 60_000);

    describe("a false end of a mail (SMTP smuggling)", () => {
      const inbound = [
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
      const second =
        "MAIL FROM:<mallory@example.com>\r\nRCPT TO:<TO>\r\nDATA\r\nSubject: smuggled\r\n\r\nGotcha\r\n.\r\nQUIT\r\n";

      test.each(inbound)("%j never makes two mails of one, however it is split", async (sequence) => {
        const inbox = await world().inbox();
        const before = "Subject: carrier\r\n\r\nText";
        const rest = `${second.replace("TO", inbox.address)}`;
        for (let split = 0; split <= sequence.length; split += 1) {
          const client = await inData(world().smtpPort, inbox.address);
          client.socket.setNoDelay(true);
          client.send(before + sequence.slice(0, split));
          await new Promise((resolve) => setImmediate(resolve));
          client.send(sequence.slice(split) + rest);
          // There is one reply: for one mail, or a refusal that ends the session.
          const reply = await client.reply();
          expect(reply).toMatch(/^(250 2\.0\.0|550 5\.6\.0)/);
          client.destroy();
        }
        for (const { subject } of await messages(inbox)) expect(subject).toBe("carrier");
      });
    });
  });

  describe(`a service after a restart (${engine})`, () => {
    const start = worldsOn(engine);

    test("has all mail that it acknowledged, and recognizes a copy", async () => {
      await using world = await start();
      const ada = await world.inbox("ada");
      const raw = mailOf({ messageId: "a@b.example" });
      expect(await world.deliver(raw, ada.address)).toStartWith("250");
      await world.restart();
      expect(await world.deliver(raw, ada.address)).toStartWith("250");
      expect(
        await world.deliver(mailOf({ messageId: "c@b.example", inReplyTo: "a@b.example" }), ada.address),
      ).toStartWith("250");
      const stored = await storedMessages(world.service.deps.db.api, ada.id);
      expect(stored.map(({ rfcMessageId, seq }) => [rfcMessageId, seq])).toEqual([
        ["a@b.example", 1],
        ["c@b.example", 2],
      ]);
      expect(new Set(stored.map(({ threadId }) => threadId)).size).toBe(1);
    }, 30_000);

    if (engine === "postgres") {
      test("next to another one: a mail delivered to both is stored once, and an inbox deleted at one is refused at both", async () => {
        await using world = await start();
        await using other = await world.another();
        const ada = await world.inbox("ada");
        const raw = mailOf({ messageId: "a@b.example" });
        const replies = await Promise.all(
          Array.from({ length: 20 }, (_, index) => deliver([world, other][index % 2]?.smtpPort ?? 0, raw, ada.address)),
        );
        for (const reply of replies) expect(reply).toStartWith("250");
        expect(await storedMessages(world.service.deps.db.api, ada.id)).toHaveLength(1);
        await world.api(`/v1/inboxes/${ada.id}`, { method: "DELETE" });
        for (const { smtpPort } of [world, other])
          expect(await deliver(smtpPort, raw, ada.address)).toStartWith("550 5.1.1");
      });
    }
  });
}
