import { describe, expect, test } from "bun:test";
import type { ParsedMail } from "../../../../src/domain/message.ts";
import { pageBytes } from "../../../../src/domain/page-budget.ts";
import { takeIn } from "../../../support/arrivals.ts";
import { enginesHere } from "../../../support/engines.ts";
import { untilSo } from "../../../support/until.ts";
import type { WorldInbox } from "../../../support/world.ts";
import { oneWorldOn } from "../../../support/world-on.ts";

const longestListed = 256 * 1024;
const mails = 40;
const longText = "long ".repeat(62_000);
const longHtml = `<p>${longText}</p>`;

interface Shown {
  id: string;
  subject: string;
  bodyText: string;
  bodyHtml: string | null;
  truncated: boolean;
}

for (const engine of enginesHere()) {
  describe(`A page of long mails on ${engine}`, () => {
    const world = oneWorldOn(engine);
    let filled: Promise<{ inbox: WorldInbox; threadId: string }> | undefined;

    /** One conversation of mails that are longer than a list shows, each half text and half HTML. */
    function conversation() {
      filled ??= (async () => {
        const inbox = await world().inbox();
        const answersFirst = { inReplyTo: ["first@example.com"], bodyText: longText, bodyHtml: longHtml };
        await take(inbox, {
          messageId: "first@example.com",
          bodyText: longText,
          bodyHtml: longHtml,
          subject: "mail 0",
        });
        const rest = Array.from({ length: mails - 1 }, (_, index) => ({
          ...answersFirst,
          subject: `mail ${index + 1}`,
        }));
        await take(inbox, ...rest);
        const { body } = await world().api(`/v1/inboxes/${inbox.id}/threads`);
        expect(body.total).toBe(1);
        // A search is refused while 25 MB of text are indexed, which takes more than its 4 s on a machine that is full.
        await untilSo(async () => (await world().api(`/v1/inboxes/${inbox.id}/messages?q=long`)).status === 200);
        return { inbox, threadId: body.data[0].id };
      })();
      return filled;
    }

    const take = (inbox: WorldInbox, ...taken: Partial<ParsedMail>[]) => takeIn(world().service.deps, inbox, taken);
    const newestFirst = Array.from({ length: mails }, (_, index) => `mail ${mails - 1 - index}`);

    function expectOnePage(page: readonly Shown[]) {
      const sizes = page.map(({ bodyText, bodyHtml }) => bodyText.length + (bodyHtml ?? "").length);
      expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(pageBytes);
      expect(page.map(({ truncated }) => truncated)).toEqual(page.map(() => true));
      expect(Math.max(...page.map(({ bodyText }) => bodyText.length))).toBe(longestListed);
    }

    test.each([
      ["a list", () => ""],
      ["a list of one direction", () => "&direction=inbound"],
      ["a list between two instants", () => "&since=2026-03-01&until=2026-04-01"],
      ["a list of one thread", (threadId: string) => `&thread_id=${threadId}`],
      ["a search", () => "&q=long"],
    ])("of %s ends where it has no more room, and the cursor goes on there", async (_, filters) => {
      const { inbox, threadId } = await conversation();
      const path = `/v1/inboxes/${inbox.id}/messages?limit=100${filters(threadId)}`;
      const seen: string[] = [];
      let pages = 0;
      for (let cursor = ""; ; pages++) {
        const { status, body } = await world().api(`${path}${cursor}`);
        expect([status, body.total]).toEqual([200, mails]);
        expectOnePage(body.data);
        seen.push(...body.data.map(({ subject }: Shown) => subject));
        if (body.nextCursor === null) break;
        cursor = `&cursor=${body.nextCursor}`;
      }
      expect(seen.toSorted()).toEqual(newestFirst.toSorted());
      expect(pages).toBe(2);
    });

    test("of a thread ends there too, and who goes on at the rows that came sees each message once", async () => {
      const { threadId } = await conversation();
      const seen: string[] = [];
      while (seen.length < mails) {
        const { status, body } = await world().api(`/v1/threads/${threadId}/messages?offset=${seen.length}`);
        expect([status, body.total]).toEqual([200, mails]);
        expectOnePage(body.data);
        seen.push(...body.data.map(({ id }: Shown) => id));
      }
      expect(new Set(seen).size).toBe(mails);
    });

    test("has 256 KiB of a body, to the end of a letter, and the message itself has all of it", async () => {
      const inbox = await world().inbox();
      const letters = ["é", "漢", "\u{1f389}"];
      const uneven = letters.flatMap((letter) => ["", "x", "xx", "xxx"].map((start) => start + letter.repeat(140_000)));
      const whole = "x".repeat(longestListed);
      await take(inbox, ...[...uneven, whole].map((bodyText) => ({ bodyText })));
      const list = `/v1/inboxes/${inbox.id}/messages`;
      const first = (await world().api(list)).body;
      const rest = (await world().api(`${list}?cursor=${first.nextCursor}`)).body;
      const shown: Shown[] = [...first.data, ...(first.nextCursor === null ? [] : rest.data)];
      expect(shown.length).toBe(uneven.length + 1);
      for (const message of shown) {
        const { body } = await world().api(`/v1/messages/${message.id}`);
        expect(body.truncated).toBe(false);
        expect(message.truncated).toBe(body.bodyText !== whole);
        expect(message.bodyText.isWellFormed()).toBe(true);
        expect(body.bodyText.startsWith(message.bodyText)).toBe(true);
        const bytes = Buffer.byteLength(message.bodyText);
        expect([bytes <= longestListed, bytes > longestListed - 4]).toEqual([true, true]);
      }
    });

    test("shows fifty attachments of a message, and the message itself shows all of them", async () => {
      const inbox = await world().inbox();
      const attachments = Array.from({ length: 60 }, (_, index) => ({
        filename: `${index}.txt`,
        contentType: "text/plain",
        contentId: undefined,
        inline: false,
        bytes: new Uint8Array(1),
      }));
      await take(inbox, { attachments });
      const [listed] = (await world().api(`/v1/inboxes/${inbox.id}/messages`)).body.data;
      const names = ({ attachments: shown }: { attachments: { filename: string }[] }) =>
        shown.map(({ filename }) => filename);
      expect(names(listed)).toEqual(attachments.slice(0, 50).map(({ filename }) => filename));
      expect(names((await world().api(`/v1/messages/${listed.id}`)).body).length).toBe(60);
    });

    test("of the log has whole texts, at least one, and says that there are more", async () => {
      const inbox = await world().inbox();
      const sizes = [9_000_000, 3_000_000, 3_000_000, 3_000_000, 10];
      for (const size of sizes) await take(inbox, { bodyText: "x".repeat(size) });
      const pages: number[][] = [];
      for (let after = ""; ; ) {
        const { body } = await world().api(`/v1/events?inbox_id=${inbox.id}${after}`);
        pages.push(body.data.map(({ message }: { message: { body_text: string } }) => message.body_text.length));
        if (!body.hasMore) break;
        after = `&after=${body.data.at(-1).event_id}`;
      }
      expect(pages).toEqual([[9_000_000], [3_000_000, 3_000_000], [3_000_000, 10]]);
    });

    test("of the log counts HTML once for each word that brings it", async () => {
      const inbox = await world().inbox();
      const bodyHtml = `<p>${"x".repeat(2_000_000)}</p>`;
      await take(inbox, ...Array.from({ length: 5 }, () => ({ bodyText: "x", bodyHtml })));
      const lengthWith = async (words: string) =>
        (await world().api(`/v1/events?inbox_id=${inbox.id}&include=${words}`)).body.data.length;
      expect([await lengthWith("html"), await lengthWith("html,extracted")]).toEqual([4, 2]);
    });
  });
}
