import { beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { arrayOf, query } from "../../../src/database/db.ts";
import type { ParsedMail } from "../../../src/domain/message.ts";
import type { Deps } from "../../../src/flows/deps.ts";
import { mailReceiver } from "../../../src/flows/receive/receive-email.ts";
import { parseMail } from "../../../src/mail/read/parse.ts";
import { envelopeTo } from "../../support/arrivals.ts";
import { enginesHere } from "../../support/engines.ts";
import { failureOf } from "../../support/failure.ts";
import { fairly } from "../../support/fair-time.ts";
import { type MailFields, mailOf } from "../../support/mail.ts";
import { mailingList, shuffled } from "../../support/mailing-list.ts";
import { countEvents, countRows, storedAttachments, storedBytes, storedMessages } from "../../support/stored.ts";
import { type SeenStatement, watchedDb } from "../../support/watched-db.ts";
import type { World, WorldInbox } from "../../support/world.ts";
import { oneWorldOn, worldsOn } from "../../support/world-on.ts";

for (const engine of enginesHere()) {
  describe(`mail that arrives (${engine})`, () => {
    const world = oneWorldOn(engine, { env: { INBOXES_PER_DAY: "0", WEBHOOK_URL: "http://127.0.0.1:65535/" } });
    const deps = () => world().service.deps;
    const db = () => deps().db.api;
    const receive = (mail: Mail, ...inboxes: WorldInbox[]) => receiverOf(deps())(mail, ...inboxes);
    const messages = (inbox: WorldInbox) => storedMessages(db(), inbox.id);
    /** In one batch and in this order: what is parsed here first may be done in any. */
    async function receiveTogether(mails: readonly Mail[], inbox: WorldInbox): Promise<void> {
      const together = mailReceiver(deps());
      const parsedMails = await Promise.all(
        mails.map(async (mail) => ({ mail: await parsed(mail), raw: rawOf(mail), ...arriving([inbox]) })),
      );
      await Promise.all(parsedMails.map(together));
    }
    const threadsOf = async (inbox: WorldInbox) => new Set((await messages(inbox)).map(({ threadId }) => threadId));

    describe("a conversation ends up in one thread", () => {
      const root = { messageId: "root@x.example", subject: "Root" };
      const middle = { messageId: "middle@x.example", inReplyTo: "root@x.example", references: ["root@x.example"] };
      const last = {
        messageId: "last@x.example",
        inReplyTo: "middle@x.example",
        references: ["root@x.example", "middle@x.example"],
      };
      const orders: [string, MailFields[]][] = [
        ["in order", [root, middle, last]],
        ["root, last, middle", [root, last, middle]],
        ["middle first", [middle, root, last]],
        ["middle, last, root", [middle, last, root]],
        ["last first", [last, root, middle]],
        ["backwards", [last, middle, root]],
      ];

      test.each(orders)("%s, one after the other", async (_, mails) => {
        const inbox = await world().inbox();
        for (const mail of mails) await receive(mail, inbox);
        expect(await messages(inbox)).toHaveLength(3);
        expect(await threadsOf(inbox)).toHaveProperty("size", 1);
      });

      test.each(orders)("%s, in one batch", async (_, mails) => {
        const inbox = await world().inbox();
        await receiveTogether(mails, inbox);
        expect(await messages(inbox)).toHaveLength(3);
        expect(await threadsOf(inbox)).toHaveProperty("size", 1);
      });

      test.each(orders)("%s, in three batches at once", async (_, mails) => {
        const inbox = await world().inbox();
        await Promise.all(mails.map((mail) => receive(mail, inbox)));
        expect(await messages(inbox)).toHaveLength(3);
        expect(await threadsOf(inbox)).toHaveProperty("size", 1);
      });

      test("two replies and what they answer, in one batch", async () => {
        const inbox = await world().inbox();
        const replies = ["reply@x.example", "other@x.example"].map((id) => ({
          messageId: id,
          inReplyTo: root.messageId,
        }));
        await receiveTogether([...replies, root], inbox);
        expect((await messages(inbox)).map(({ rfcMessageId }) => rfcMessageId)).toEqual([
          "root@x.example",
          "reply@x.example",
          "other@x.example",
        ]);
        expect(await threadsOf(inbox)).toHaveProperty("size", 1);
      });

      const waiting: [string, MailFields[]][] = [
        ["two replies to a mail that never came", [{ inReplyTo: "never@x.example" }, { inReplyTo: "never@x.example" }]],
        [
          "two far branches of a conversation that began before",
          [
            { inReplyTo: "a@x.example", references: ["began@x.example", "a@x.example"] },
            { inReplyTo: "b@x.example", references: ["began@x.example", "b@x.example"] },
          ],
        ],
        [
          "a mail and its copy by a list, with a line of the list's",
          [{}, { text: "Hello Ada\r\n-- \r\nThe list\r\n" }],
        ],
      ];
      const named = (mails: readonly MailFields[], isCopy: boolean): MailFields[] =>
        mails.map((mail, index) => ({ messageId: isCopy ? "twin@x.example" : `w${index}@x.example`, ...mail }));

      describe.each(waiting)("%s", (name, mails) => {
        const written = named(mails, name.startsWith("a mail and its copy"));
        test.each([
          ["in this order", written],
          ["in the other", written.toReversed()],
        ])("%s, one after the other, in one batch and in several at once", async (_, ordered) => {
          const ways = [
            async (inbox: WorldInbox) => {
              const receiver = receiverOf(deps());
              for (const mail of ordered) await receiver(mail, inbox);
            },
            (inbox: WorldInbox) => receiveTogether(ordered, inbox),
            (inbox: WorldInbox) => Promise.all(ordered.map((mail) => receive(mail, inbox))),
          ];
          for (const receiveAll of ways) {
            const inbox = await world().inbox();
            await receiveAll(inbox);
            expect(await messages(inbox)).toHaveLength(ordered.length);
            expect(await threadsOf(inbox)).toHaveProperty("size", 1);
          }
        });
      });

      test("a mail that found its thread, and what it names besides", async () => {
        const inbox = await world().inbox();
        const receiver = receiverOf(deps());
        await receiver({ messageId: "here@x.example" }, inbox);
        await receiver({ messageId: "w@x.example", references: ["besides@x.example", "here@x.example"] }, inbox);
        await receiver({ messageId: "besides@x.example" }, inbox);
        expect(await threadsOf(inbox)).toHaveProperty("size", 1);
      });

      describe("a list of 180 mails", () => {
        const { mails, conversations } = mailingList(2);
        test.each([
          ["in reverse", mails.toReversed()],
          ["shuffled", shuffled(mails, 2)],
        ])(
          "%s, a few at a time, makes hardly more threads than it has conversations",
          async (_, ordered) => {
            const inbox = await world().inbox();
            for (let at = 0; at < ordered.length; at += 8) await receiveTogether(ordered.slice(at, at + 8), inbox);
            expect(await messages(inbox)).toHaveLength(mails.length);
            expect(conversations).toBe(7);
            const threads = (await threadsOf(inbox)).size;
            expect(threads).toBeLessThanOrEqual(conversations + 5);
            expect(threads).toBeGreaterThanOrEqual(conversations);
          },
          30_000,
        );

        test("all at once, too", async () => {
          const inbox = await world().inbox();
          await receiveTogether(shuffled(mails, 3), inbox);
          expect(await messages(inbox)).toHaveLength(mails.length);
          expect((await threadsOf(inbox)).size).toBeLessThanOrEqual(conversations + 5);
        });
      });

      test("forty mails at once, with what they are counted as", async () => {
        const inbox = await world().inbox();
        const one = receiverOf(deps());
        const other = receiverOf(deps());
        const ids = Array.from({ length: 40 }, (_, index) => `m${index}@x.example`);
        const mails = ids
          .map((messageId, index) => ({ messageId, references: ids.slice(0, index) }))
          .toSorted((left, right) => (left.messageId < right.messageId ? 1 : -1));
        await Promise.all(mails.map((mail, index) => (index % 2 === 0 ? one : other)(mail, inbox)));
        const stored = await messages(inbox);
        expect(stored.map(({ seq }) => seq)).toEqual(mails.map((_, index) => index + 1));
        const [thread, ...others] = await query<{ messageCount: number; lastSeq: number }>(
          db(),
          sql`select message_count as "messageCount", last_seq as "lastSeq" from threads where inbox_id = ${inbox.id}`,
        );
        expect(others).toEqual([]);
        expect(thread).toEqual({ messageCount: 40, lastSeq: 40 });
        expect(await totalsOf(world(), inbox)).toEqual({ messages: 40, inbound: 40, threads: 1, unread: 1 });
      });
    });

    describe("an inbox that had a mail just now", () => {
      const first = { messageId: "first@x.example" };

      test("is not read again", async () => {
        const inbox = await world().inbox();
        const counted = countingReads(deps());
        const receiver = receiverOf(counted.deps);
        await receiver(first, inbox);
        expect(counted.reads).toBe(1);
        await receiver({ messageId: "second@x.example" }, inbox);
        expect(counted.reads).toBe(1);
        expect(await totalsOf(world(), inbox)).toEqual({ messages: 2, inbound: 2, threads: 2, unread: 2 });
      });

      test("takes the same mail once", async () => {
        const inbox = await world().inbox();
        const receiver = receiverOf(deps());
        for (const mail of [first, first]) expect(await receiver(mail, inbox)).toBe("stored");
        expect(await messages(inbox)).toHaveLength(1);
      });

      test("joins a mail with another under its id", async () => {
        const inbox = await world().inbox();
        const receiver = receiverOf(deps());
        await receiver(first, inbox);
        await receiver({ ...first, text: "By a list\r\n" }, inbox);
        expect(await messages(inbox)).toHaveLength(2);
        expect(await threadsOf(inbox)).toHaveProperty("size", 1);
      });

      test("joins a mail with the reply that came before it", async () => {
        const inbox = await world().inbox();
        const receiver = receiverOf(deps());
        await receiver({ messageId: "reply@x.example", inReplyTo: "late@x.example" }, inbox);
        await receiver({ messageId: "late@x.example" }, inbox);
        expect(await messages(inbox)).toHaveLength(2);
        expect(await threadsOf(inbox)).toHaveProperty("size", 1);
      });

      test("counts what another process stored meanwhile", async () => {
        const inbox = await world().inbox();
        const receivers = [receiverOf(deps()), receiverOf(deps())];
        for (let number = 0; number < 4; number++) {
          for (const receiver of receivers) await receiver({ messageId: `${crypto.randomUUID()}@x.example` }, inbox);
        }
        expect((await messages(inbox)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
        expect(await totalsOf(world(), inbox)).toEqual({ messages: 8, inbound: 8, threads: 8, unread: 8 });
      });

      test("takes no mail once it is deleted", async () => {
        const inbox = await world().inbox();
        const receiver = receiverOf(deps());
        await receiver(first, inbox);
        expect((await world().api(`/v1/inboxes/${inbox.id}`, { method: "DELETE" })).status).toBe(204);
        expect(await receiver({ messageId: "late@x.example" }, inbox)).toBe("gone");
      });

      test("has its events delivered from when a webhook is set", async () => {
        const inbox = await world().inbox();
        const receiver = receiverOf(deps());
        await query(db(), sql`update endpoints set disabled_at = now()`);
        try {
          await receiver(first, inbox);
        } finally {
          await query(db(), sql`update endpoints set disabled_at = null`);
        }
        expect(await countRows(db(), "outbox", inbox.id)).toBe(0);
        await receiver({ messageId: "second@x.example" }, inbox);
        expect(await countRows(db(), "outbox", inbox.id)).toBe(1);
      });
    });

    describe("the thread of a mail", () => {
      const before = [
        { messageId: "a@x.example", subject: "A" },
        { messageId: "b@x.example", subject: "B" },
      ];
      const rows: [string, MailFields, "a" | "b" | "its own"][] = [
        ["none named", { subject: "A" }, "its own"],
        ["In-Reply-To", { inReplyTo: "a@x.example" }, "a"],
        ["References alone", { references: ["a@x.example"] }, "a"],
        ["the nearest of References", { references: ["a@x.example", "b@x.example"] }, "b"],
        ["a nearer one that is not here", { references: ["a@x.example", "gone@x.example"] }, "a"],
        ["In-Reply-To over References", { inReplyTo: "a@x.example", references: ["b@x.example"] }, "a"],
        ["References where In-Reply-To is not here", { inReplyTo: "gone@x.example", references: ["b@x.example"] }, "b"],
        ["the domain in other letters", { inReplyTo: "a@X.Example" }, "a"],
        ["the local part in other letters is another id", { inReplyTo: "A@x.example" }, "its own"],
        ["folded in the midst", { headers: ["In-Reply-To: <a@x.\r\n example>"] }, "a"],
        ["without brackets", { headers: ["In-Reply-To: a@x.example"] }, "a"],
        ["its subject alone decides nothing", { subject: "Re: A" }, "its own"],
        ["itself", { messageId: "self@x.example", inReplyTo: "self@x.example" }, "its own"],
        ["itself before another", { messageId: "self@x.example", references: ["a@x.example", "self@x.example"] }, "a"],
      ];
      test.each(rows)("%s", async (_, mail, expected) => {
        const inbox = await world().inbox();
        for (const earlier of before) await receive(earlier, inbox);
        await receive({ messageId: "new@x.example", ...mail }, inbox);
        const [a, b, own] = (await messages(inbox)).map(({ threadId }) => threadId);
        expect(own).toBeDefined();
        if (expected === "its own") expect([a, b]).not.toContain(own);
        else expect(own).toBe(expected === "a" ? a : b);
      });

      test("two mails that answer each other are one conversation", async () => {
        const inbox = await world().inbox();
        await receive({ messageId: "egg@x.example", inReplyTo: "hen@x.example" }, inbox);
        await receive({ messageId: "hen@x.example", inReplyTo: "egg@x.example" }, inbox);
        await receive({ messageId: "chick@x.example", inReplyTo: "hen@x.example" }, inbox);
        expect(await threadsOf(inbox)).toHaveProperty("size", 1);
      });

      test("100,000 References take no time to speak of, and the parent among them counts", async () => {
        const inbox = await world().inbox();
        await receive({ messageId: "a@x.example" }, inbox);
        const references = Array.from({ length: 100_000 }, (_, index) => `i${index}`);
        const { fairMs } = await fairly(async () => {
          await receive({ messageId: "many@x.example", references: [...references, "a@x.example"] }, inbox);
          await receive({ messageId: "more@x.example", references: ["a@x.example", ...references] }, inbox);
        });
        expect(fairMs).toBeLessThan(3_000);
        expect(await messages(inbox)).toHaveLength(3);
      });

      test("never that of another inbox, known or awaited", async () => {
        const ada = await world().inbox();
        const bob = await world().inbox();
        await receive({ messageId: "a@x.example" }, ada);
        await receive({ messageId: "early@x.example", inReplyTo: "late@x.example" }, ada);
        await receive({ messageId: "b@x.example", inReplyTo: "a@x.example" }, bob);
        await receive({ messageId: "late@x.example" }, bob);
        expect(await threadsOf(ada)).toHaveProperty("size", 2);
        expect(await threadsOf(bob)).toHaveProperty("size", 2);
        expect((await threadsOf(ada)).intersection(await threadsOf(bob))).toHaveProperty("size", 0);
      });

      test("of one mail to two inboxes there are two, with their own counts", async () => {
        const ada = await world().inbox();
        const bob = await world().inbox();
        await receive({ messageId: "a@x.example" }, ada, bob);
        await receive({ messageId: "b@x.example", inReplyTo: "a@x.example" }, bob, ada);
        for (const inbox of [ada, bob]) {
          expect(await messages(inbox)).toHaveLength(2);
          expect(await totalsOf(world(), inbox)).toEqual({ messages: 2, inbound: 2, threads: 1, unread: 1 });
        }
        expect((await threadsOf(ada)).intersection(await threadsOf(bob))).toHaveProperty("size", 0);
      });
    });

    describe("the same mail again", () => {
      const mail = mailOf({ messageId: "a@x.example" });

      test("is stored once, with one event", async () => {
        const inbox = await world().inbox();
        expect(await receive(mail, inbox)).toBe("stored");
        expect(await receive(mail, inbox)).toBe("stored");
        expect(await messages(inbox)).toHaveLength(1);
        expect(await countEvents(db(), "message.received", inbox.id)).toBe(1);
        expect(await countRows(db(), "outbox", inbox.id)).toBe(1);
      });

      test("also when it comes twenty times at once, in one batch and in many", async () => {
        const inbox = await world().inbox();
        const one = receiverOf(deps());
        const receipts = await Promise.all(
          Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one(mail, inbox) : receive(mail, inbox))),
        );
        expect(new Set(receipts)).toEqual(new Set(["stored"]));
        expect(await messages(inbox)).toHaveLength(1);
        expect(await countEvents(db(), "message.received", inbox.id)).toBe(1);
        expect(await totalsOf(world(), inbox)).toEqual({ messages: 1, inbound: 1, threads: 1, unread: 1 });
      });

      test("by another way is the same mail", async () => {
        const inbox = await world().inbox();
        await receive(`Received: from a.example\r\n by b.example\r\n${mail}`, inbox);
        await receive(`Received: from c.example\r\n${mail}`, inbox);
        expect(await messages(inbox)).toHaveLength(1);
      });

      test("without a Message-ID is the same mail, too", async () => {
        const inbox = await world().inbox();
        await receive(`Received: from a.example\r\n${mailOf()}`, inbox);
        await receive(`Received: from b.example\r\n${mailOf()}`, inbox);
        await receive(mailOf({ text: "Another\r\n" }), inbox);
        expect((await messages(inbox)).map(({ bodyText }) => bodyText)).toEqual(["Hello Ada", "Another"]);
      });

      describe.each([
        [
          "reads alike and has neither Message-ID nor Date",
          "From: cron@x.example\r\nSubject: Alert\r\n\r\nDisk full\r\n",
        ],
        ["is nothing but headers of its way", "Received: 5 parcels\r\n"],
      ])("but not where it %s", (_, alert) => {
        test("it is stored each time, one after the other", async () => {
          const inbox = await world().inbox();
          const receiver = receiverOf(deps());
          for (let time = 0; time < 3; time += 1) expect(await receiver(alert, inbox)).toBe("stored");
          expect(await messages(inbox)).toHaveLength(3);
          expect(await countEvents(db(), "message.received", inbox.id)).toBe(3);
        });

        test("and twenty times at once, in one batch and in many", async () => {
          const inbox = await world().inbox();
          const one = receiverOf(deps());
          await Promise.all(
            Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one(alert, inbox) : receive(alert, inbox))),
          );
          expect(await messages(inbox)).toHaveLength(20);
        });
      });

      test.each([
        ["in what looks like its way alone", "Received: 5 parcels\r\n", "Received: 7 parcels, and a fine\r\n"],
        [
          "behind a bare CR",
          "Received: by a\rSubject: 5\r\nDate: today\r\n\r\n",
          "Received: by a\rSubject: 7\r\nDate: today\r\n\r\n",
        ],
      ])("with other content %s is another mail", async (_, five, seven) => {
        const inbox = await world().inbox();
        await receive(five, inbox);
        await receive(seven, inbox);
        expect(await messages(inbox)).toHaveLength(2);
      });

      test("with other content is another mail", async () => {
        const inbox = await world().inbox();
        await receive(mail, inbox);
        await receive(mailOf({ messageId: "a@x.example", text: "Another\r\n" }), inbox);
        expect(await messages(inbox)).toHaveLength(2);
      });

      test("to an inbox that has it and one that has not is stored where it was not", async () => {
        const ada = await world().inbox();
        const bob = await world().inbox();
        await receive(mail, ada);
        await receive(mail, ada, bob);
        expect(await messages(ada)).toHaveLength(1);
        const [bobs] = await messages(bob);
        expect((await storedBytes(db(), bobs?.sourceId ?? "")).toString()).toBe(mail);
      });

      test("a large one leaves no second copy of its bytes, and counts whom it is for", async () => {
        const ada = await world().inbox();
        const bob = await world().inbox();
        const gone = await world().inbox();
        await world().api(`/v1/inboxes/${gone.id}`, { method: "DELETE" });
        const large = mailOf({ messageId: "large@x.example", text: "0123456789abcdef\r\n".repeat(100_000) });
        const before = await countRows(db(), "source_chunks");
        expect(await receive(large, ada, gone)).toBe("stored");
        const chunks = (await countRows(db(), "source_chunks")) - before;
        expect(chunks).toBe(2);
        expect(await receive(large, ada)).toBe("stored");
        expect(await receive(large, gone)).toBe("gone");
        expect(await countRows(db(), "source_chunks")).toBe(before + chunks);
        expect(await receive(large, ada, bob)).toBe("stored");
        for (const inbox of [ada, bob]) {
          const [message, ...more] = await messages(inbox);
          expect(more).toEqual([]);
          expect((await storedBytes(db(), message?.sourceId ?? "")).equals(Buffer.from(large))).toBe(true);
          expect(await sharesOf(world(), message?.sourceId)).toBe(1);
        }
      });

      test("after seven days is another mail", async () => {
        const inbox = await world().inbox();
        await receive(mail, inbox);
        world().clock.pass(7 * 86_400_000 - 1);
        await receive(mail, inbox);
        expect(await messages(inbox)).toHaveLength(1);
        world().clock.pass(1);
        await receive(mail, inbox);
        expect(await messages(inbox)).toHaveLength(2);
      });
    });

    describe("one mail for several", () => {
      test("is one message in each inbox, with one source and one event each", async () => {
        const inboxes = await Promise.all([world().inbox(), world().inbox(), world().inbox()]);
        await receive({ messageId: "a@x.example" }, ...inboxes);
        const stored = (await Promise.all(inboxes.map(messages))).flat();
        expect(stored.map(({ toAddr }) => toAddr)).toEqual(inboxes.map(({ address }) => address));
        expect(new Set(stored.map(({ id }) => id)).size).toBe(3);
        expect(new Set(stored.map(({ sourceId }) => sourceId)).size).toBe(1);
        for (const inbox of inboxes) expect(await countEvents(db(), "message.received", inbox.id)).toBe(1);
        expect(await sharesOf(world(), stored[0]?.sourceId)).toBe(3);
      });

      test("two addresses of one inbox are one message, under the first of them", async () => {
        const ada = await world().inbox();
        const tagged = { ...ada, address: ada.address.replace("@", "+tag@") };
        await receive({ messageId: "a@x.example" }, tagged, ada);
        expect((await messages(ada)).map(({ toAddr }) => toAddr)).toEqual([tagged.address]);
      });
    });

    describe("one mail for very many", () => {
      const lines = Array.from({ length: 2_000 }, (_, index) => `Line ${index} of a text that is the same for all`);
      const part = (number: number) =>
        `--b\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename=${number}.csv\r\n\r\n${number},1\r\n`;
      const raw = mailOf({
        messageId: "large@x.example",
        references: Array.from({ length: 60 }, (_, index) => `r${index}@x.example`),
        headers: ["MIME-Version: 1.0", "Content-Type: multipart/mixed; boundary=b"],
        text: `--b\r\n\r\n${lines.join("\r\n")}\r\n${Array.from({ length: 40 }, (_, number) => part(number)).join("")}--b--\r\n`,
      });
      let inboxes: WorldInbox[] = [];
      beforeAll(async () => {
        inboxes = await Promise.all(Array.from({ length: 50 }, () => world().inbox()));
      });
      const stored = () =>
        query<{ id: string; inboxId: string; bodyText: string; sourceId: string }>(
          db(),
          sql`select id, inbox_id as "inboxId", body_text as "bodyText", source_id as "sourceId" from messages
              where inbox_id = any(${arrayOf(
                "text",
                inboxes.map(({ id }) => id),
              )})`,
        );

      test("goes to the database once and in small parts, and is whole in each inbox", async () => {
        const statements: SeenStatement[] = [];
        const mail = watchedDb(db(), (statement) => statements.push(statement));
        const receiver = receiverOf({ ...deps(), db: { ...deps().db, mail } });
        expect(await receiver(raw, ...inboxes)).toBe("stored");
        expect(Math.max(...statements.map(({ sizeBytes }) => sizeBytes))).toBeLessThan(1 << 19);
        expect(statements.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)).toBeLessThan(12 * raw.length);

        const messages = await stored();
        expect(new Set(messages.map(({ inboxId }) => inboxId))).toEqual(new Set(inboxes.map(({ id }) => id)));
        expect(new Set(messages.map(({ bodyText }) => bodyText))).toEqual(new Set([lines.join("\n")]));
        expect(messages).toHaveLength(50);
        expect(await sharesOf(world(), messages[0]?.sourceId)).toBe(50);
        expect(await totalsOf(world(), inboxes[49] ?? { id: "" })).toEqual({
          messages: 1,
          inbound: 1,
          threads: 1,
          unread: 1,
        });
        const [rows] = await query(
          db(),
          sql`select (select count(*) from attachments where source_id = ${messages[0]?.sourceId}) as attachments,
                (select count(*) from attachments where message_id = ${messages[49]?.id}) as "ofTheLast",
                (select count(*) from events e join messages m on m.id = e.message_id join outbox o on o.subject_id = e.id
                  where m.source_id = ${messages[0]?.sourceId}) as promised`,
        );
        expect(rows).toEqual({ attachments: 2_000, ofTheLast: 40, promised: 50 });
      }, 30_000);

      test("again is no second one; where it was not yet it is stored, with texts of its own", async () => {
        const late = await world().inbox();
        expect(await receive(raw, ...inboxes, late)).toBe("stored");
        expect(await stored()).toHaveLength(50);
        const [message, ...more] = await messages(late);
        expect(more).toEqual([]);
        expect(message?.bodyText).toBe(lines.join("\n"));
        expect(await sharesOf(world(), message?.sourceId)).toBe(1);
      }, 30_000);

      test("is in all of them or in none", async () => {
        const refused = { id: (await world().inbox()).id, address: "no\0address" };
        const other = raw.replace("large@", "other@");
        expect(String(await failureOf(receive(other, ...inboxes, refused)))).toContain("a value does not fit its type");
        expect(await stored()).toHaveLength(50);
      }, 30_000);
    });

    test("all that belongs to a mail is there: addresses, attachments, raw source, event, outbox", async () => {
      const inbox = await world().inbox();
      const raw = mailOf({
        messageId: "Mixed.Case@X.Example",
        from: "=?utf-8?Q?J=C3=BCrgen?= <Juergen@Example.com>",
        headers: [
          "Cc: bob@example.com, Team: c@example.com;",
          "Reply-To: desk@example.com",
          "MIME-Version: 1.0",
          "Content-Type: multipart/mixed; boundary=b",
        ],
        text: [
          "--b",
          "Content-Type: text/html; charset=utf-8",
          "",
          "<p>Hello <b>Ada</b></p>",
          "--b",
          "Content-Type: application/pdf; name=a.pdf",
          "Content-Transfer-Encoding: base64",
          "",
          Buffer.from("%PDF-1.4 \0 bytes").toString("base64"),
          "--b--",
          "",
        ].join("\r\n"),
      });
      await receive(raw, inbox);
      const [message] = await messages(inbox);
      expect(message).toMatchObject({
        rfcMessageId: "Mixed.Case@X.Example",
        fromAddr: "Juergen@Example.com",
        fromName: "Jürgen",
        toAddr: inbox.address,
        cc: ["bob@example.com", "c@example.com"],
        replyTo: "desk@example.com",
        bodyText: "Hello Ada",
        bodyHtml: "<p>Hello <b>Ada</b></p>",
        attachmentCount: 1,
        sizeBytes: raw.length,
        envelopeFrom: "jane@example.com",
        truncated: false,
      });
      const sourceId = message?.sourceId ?? "";
      expect((await storedBytes(db(), sourceId)).toString()).toBe(raw);
      const [attachment] = await storedAttachments(db(), message?.id ?? "");
      expect(attachment).toMatchObject({ filename: "a.pdf", contentType: "application/pdf", sizeBytes: 16, sourceId });
      expect((await storedBytes(db(), sourceId, attachment?.part)).toString()).toBe("%PDF-1.4 \0 bytes");
      const [event] = await query(
        db(),
        sql`select e.type, e.message_id, e.thread_id, e.occurred_at, o.kind
            from events e join outbox o on o.subject_id = e.id where e.inbox_id = ${inbox.id}`,
      );
      expect(event).toEqual({
        type: "message.received",
        message_id: message?.id,
        thread_id: message?.threadId,
        occurred_at: message?.createdAt,
        kind: "webhook",
      });
    });

    describe("what a database would refuse or a list could not hold", () => {
      test("a Message-ID of 10 kB is kept, and found again", async () => {
        const inbox = await world().inbox();
        const messageId = `${"i".repeat(10_000)}@x.example`;
        await receive({ messageId }, inbox);
        await receive({ messageId: "b@x.example", inReplyTo: messageId }, inbox);
        await receive({ messageId }, inbox);
        expect((await messages(inbox)).map((message) => message.rfcMessageId)).toEqual([messageId, "b@x.example"]);
        expect(await threadsOf(inbox)).toHaveProperty("size", 1);
      });

      test("NUL and lone surrogates become replacement characters", async () => {
        const inbox = await world().inbox();
        const text = Buffer.from(
          "Subject: a\0b\r\nMessage-ID: <a\0@x.example>\r\n\r\nNUL \0 and \xed\xa0\x80",
          "latin1",
        );
        await receive(text, inbox);
        const [message] = await messages(inbox);
        expect(message?.subject).toBe("a\ufffdb");
        expect(message?.bodyText).toStartWith("NUL \ufffd and \ufffd");
        expect(await storedBytes(db(), message?.sourceId ?? "")).toEqual(text);
      });

      test("a body of 3 Mi characters is cut at 2 Mi; the raw mail has it whole", async () => {
        const inbox = await world().inbox();
        const line = `${"0123456789abcdef".repeat(4)}\r\n`;
        const raw = mailOf({ messageId: "a@x.example", text: line.repeat((3 * 2 ** 20) / line.length) });
        await receive(raw, inbox);
        const [message] = await messages(inbox);
        expect(message?.bodyText).toHaveLength(2 * 2 ** 20);
        expect((await storedBytes(db(), message?.sourceId ?? "")).equals(Buffer.from(raw))).toBe(true);
      });

      test("a bad row does not refuse the mails that came with it", async () => {
        const inbox = await world().inbox();
        const receiver = receiverOf(deps());
        const bad = { ...(await parsed({ messageId: "bad@x.example" })), subject: "a\0b" };
        const settled = await Promise.allSettled([
          receiver({ messageId: "a@x.example" }, inbox),
          receiver(bad, inbox),
          receiver({ messageId: "b@x.example" }, inbox),
        ]);
        expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
        expect((await messages(inbox)).map(({ rfcMessageId }) => rfcMessageId)).toEqual(["a@x.example", "b@x.example"]);
        expect(await countEvents(db(), "message.received", inbox.id)).toBe(2);
      });
    });

    test("mail for an inbox that is gone is for nobody, and for the others all the same", async () => {
      const gone = await world().inbox();
      const ada = await world().inbox();
      expect((await world().api(`/v1/inboxes/${gone.id}`, { method: "DELETE" })).status).toBe(204);
      expect(await receive({ messageId: "a@x.example" }, gone)).toBe("gone");
      expect(await receive({ messageId: "b@x.example" }, gone, ada)).toBe("stored");
      expect(await messages(gone)).toEqual([]);
      expect(await messages(ada)).toHaveLength(1);
    });

    test("without a webhook there is an event, and nobody to tell it to", async () => {
      const quiet = await start();
      await using _ = quiet;
      const inbox = await quiet.inbox();
      await receiverOf(quiet.service.deps)({ messageId: "a@x.example" }, inbox);
      expect(await countEvents(quiet.service.deps.db.api, "message.received")).toBe(1);
      expect(await countRows(quiet.service.deps.db.api, "outbox")).toBe(0);
    });
    const start = worldsOn(engine);

    if (engine === "postgres") {
      describe("two processes on one database", () => {
        test("resolve a conversation that comes to both at once", async () => {
          await using other = await world().another();
          for (let round = 0; round < 10; round += 1) {
            const inbox = await world().inbox();
            const here = receiverOf(deps());
            const there = receiverOf(other.service.deps);
            const parent = { messageId: "parent@x.example" };
            const reply = { messageId: "reply@x.example", inReplyTo: "parent@x.example" };
            await (round % 2 === 0
              ? Promise.all([here(parent, inbox), there(reply, inbox)])
              : Promise.all([there(reply, inbox), here(parent, inbox)]));
            expect(await threadsOf(inbox)).toHaveProperty("size", 1);
          }
        });

        test("store a mail once that comes twenty times to both", async () => {
          await using other = await world().another();
          const inbox = await world().inbox();
          const mail = mailOf({ messageId: "a@x.example" });
          const receipts = await Promise.all(
            Array.from({ length: 20 }, (_, index) =>
              receiverOf(index % 2 === 0 ? deps() : other.service.deps)(mail, inbox),
            ),
          );
          expect(receipts).toEqual(Array(20).fill("stored"));
          expect(await messages(inbox)).toHaveLength(1);
          expect(await countEvents(db(), "message.received", inbox.id)).toBe(1);
        });

        test("with mails for many of the same inboxes wait for each other, and none dies of it", async () => {
          await using other = await world().another();
          const inboxes = await Promise.all(Array.from({ length: 8 }, () => world().inbox()));
          const here = receiverOf(deps());
          const there = receiverOf(other.service.deps);
          await Promise.all(
            Array.from({ length: 200 }, (_, index) => {
              const recipients = index % 2 === 0 ? inboxes : inboxes.toReversed();
              return (index % 3 === 0 ? here : there)({ messageId: `m${index}@x.example` }, ...recipients);
            }),
          );
          for (const inbox of inboxes) {
            expect((await messages(inbox)).map(({ seq }) => seq)).toEqual(Array.from({ length: 200 }, (_, n) => n + 1));
            expect(await totalsOf(world(), inbox)).toEqual({ messages: 200, inbound: 200, threads: 200, unread: 200 });
          }
        });
      });
    }
  });
}

type Mail = MailFields | ParsedMail | string | Uint8Array;

/** A receiver with a line of its own: two of them commit side by side, as two processes do. */
function receiverOf(deps: Deps) {
  const receive = mailReceiver(deps);
  return async (mail: Mail, ...inboxes: WorldInbox[]) => {
    return receive({ mail: await parsed(mail), raw: rawOf(mail), ...arriving(inboxes) });
  };
}

function arriving(inboxes: readonly WorldInbox[]) {
  const recipients = inboxes.map(({ id, address }) => ({ inboxId: id, toAddr: address }));
  return { envelope: envelopeTo(recipients) };
}

/** Counts how often it is asked what is known of mails. */
function countingReads(deps: Deps) {
  const counted = { reads: 0, deps };
  const mail = watchedDb(deps.db.mail, ({ text }) => {
    if (text.startsWith("with named")) counted.reads += 1;
  });
  counted.deps = { ...deps, db: { ...deps.db, mail } };
  return counted;
}

function rawOf(mail: Mail): Uint8Array {
  if (typeof mail === "string") return Buffer.from(mail);
  if (mail instanceof Uint8Array) return mail;
  return Buffer.from("complete" in mail ? mailOf() : mailOf(mail));
}

async function parsed(mail: Mail): Promise<ParsedMail> {
  if (typeof mail === "object" && "complete" in mail) return mail;
  return parseMail(rawOf(mail), { mailDomain: "inbox.localhost" });
}

async function totalsOf(world: World, inbox: Pick<WorldInbox, "id">) {
  const [totals] = await query(
    world.service.deps.db.api,
    sql`select message_count as messages, inbound_count as inbound, thread_count as threads, unread_count as unread
        from inboxes where id = ${inbox.id}`,
  );
  return totals;
}

async function sharesOf(world: World, sourceId: string | undefined) {
  const [first] = await query(
    world.service.deps.db.api,
    sql`select shares from source_chunks where source_id = ${sourceId} and part = 0 and seq = 0`,
  );
  return first?.shares;
}
