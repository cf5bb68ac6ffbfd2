import { expect, test } from "bun:test";
import fc from "fast-check";
import { storedNames } from "../../src/standards/filename.ts";
import { filesIn, mailTrees, written } from "../support/mail-trees.ts";
import { startWorld } from "../support/world.ts";

interface WireAttachment {
  filename: string;
  url: string;
  sizeBytes: number;
}

test("the subject, text, names and bytes of a mail with any structure are the same through SMTP and the API", async () => {
  await using world = await startWorld();
  const inbox = await world.inbox();
  let mails = 0;
  await fc.assert(
    fc.asyncProperty(mailTrees, async (mail) => {
      mails += 1;
      const raw = written(mail, `Message-ID: <${mails}@trees.example>\r\n`);
      expect(await world.deliver(raw, inbox.address)).toStartWith("250");
      const page = await world.api(`/v1/inboxes/${inbox.id}/messages?limit=1`);
      expect(page.body.total).toBe(mails);
      // A list shows at most 50 attachments of a message.
      const { body: message } = await world.api(`/v1/messages/${page.body.data[0].id}`);
      const files = filesIn(mail);
      expect(message.subject).toBe(mail.subject.trim());
      expect(message.bodyText).toBe(mail.text);
      const named = files.map(({ name }) => ({ filename: name, contentType: "application/x-any" }));
      const attachments: WireAttachment[] = message.attachments;
      expect(attachments.map(({ filename }) => filename)).toEqual(storedNames(named));
      const downloads = await Promise.all(
        attachments.map(async ({ url }) => (await world.fetch(url, { apiKey: null })).bytes()),
      );
      expect(downloads.map((bytes) => bytes.toHex())).toEqual(files.map(({ bytes }) => bytes.toHex()));
      const kept = await (await world.fetch(`/v1/messages/${message.id}/raw`)).bytes();
      // SMTP ends every mail with a line break.
      expect(Buffer.from(kept).toString("latin1").replace(/\r\n$/, "")).toBe(
        Buffer.from(raw).toString("latin1").replace(/\r\n$/, ""),
      );
    }),
    { numRuns: 60 },
  );
}, 120_000);
