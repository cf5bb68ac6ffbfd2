import { beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import fc from "fast-check";
import { query } from "../../../src/database/db.ts";
import { plainQuestion, plainWords, type Searchable, searchRow } from "../../../src/domain/search.ts";
import type { SearchCondition } from "../../../src/domain/search-question.ts";
import { insertSearchRows, searchMessages } from "../../../src/store/mail/search.ts";
import { insertRows } from "../../../src/store/rows.ts";
import { inboxes, messages, threads } from "../../../src/store/schema.ts";
import { enginesHere } from "../../support/engines.ts";
import { setUpEngine } from "../../support/set-up-engine.ts";

/** Numbers all over a large inbox, dense at its end and in its middle: a search meets each of its steps. */
const numbers = [
  ...Array.from({ length: 150 }, (_, index) => 1 + index * 1_000),
  ...Array.from({ length: 200 }, (_, index) => 160_001 + index),
  ...Array.from({ length: 150 }, (_, index) => 240_000 + index * 350),
  ...Array.from({ length: 200 }, (_, index) => 299_801 + index),
];
const inboxA = { kind: "inbox", id: "inb_a" } as const;
/** Ten minutes for each number: the numbers reach over years, and the messages of two inboxes with one number are of one instant. */
const msOf = (seq: number) => 1_770_000_000_000 + seq * 600_000;
const frequencies = { everywhere: 1, often: 2, seldom: 17, hardly: 160 };

for (const engine of enginesHere()) {
  describe(`The search index on ${engine}`, () => {
    const under = setUpEngine(engine);
    beforeAll(async () => {
      for (const inboxId of ["inb_a", "inb_b", "inb_c"]) {
        const searchables = numbers.map((seq, index) => message(inboxId, seq, index, wordsOf(index)));
        await insertRows(under.db.api, messages, searchables.map(rowOf));
        await insertSearchRows(under.db.api, searchables.map(searchRow));
        await insertRows(under.db.api, threads, searchables.map(threadOf));
      }
      await insertRows(
        under.db.api,
        inboxes,
        ["acc", "acc", "other"].map((accountId, index) => {
          const name = `inb_${"abc"[index]}`;
          return { id: name, accountId, username: name, createdAt: new Date(0) };
        }),
      );
      await query(under.db.api, sql`analyze message_search`);
    }, 30_000);

    const wordsOf = (index: number) =>
      Object.entries(frequencies).flatMap(([word, every]) => (index % every === 0 ? [word] : []));

    test("gives the newest matches in a range, however many there are", async () => {
      const asked = fc.record({
        word: fc.constantFrom(...(Object.keys(frequencies) as (keyof typeof frequencies)[])),
        bounds: fc.tuple(fc.integer({ min: 1, max: 300_000 }), fc.integer({ min: 1, max: 300_000 })),
        limit: fc.integer({ min: 0, max: 120 }),
        offset: fc.integer({ min: 0, max: 400 }),
        counted: fc.constantFrom(0, 10, 100, 10_000),
      });
      await fc.assert(
        fc.asyncProperty(asked, async ({ word, bounds, limit, offset, counted }) => {
          const [first, last] = bounds.toSorted((a, b) => a - b) as [number, number];
          const matches = numbers
            .filter((seq, index) => wordsOf(index).includes(word) && seq >= first && seq <= last)
            .reverse();
          const conditions: SearchCondition[] = [{ kind: "words", field: "any", question: word }];
          const page = { scope: inboxA, hasFewUnread: true, conditions, first, last, limit, offset, counted };
          const found = await searchMessages(under.db.api, page);
          expect(found.messages.map(({ position }) => position)).toEqual(matches.slice(offset, offset + limit));
          expect(found.total).toBe(Math.min(matches.length, Math.max(counted, offset + limit)));
          expect(found.indexedSeq).toBe(300_000);
        }),
        { numRuns: 150, examples: [[{ word: "hardly", bounds: [1, 300_000], limit: 50, offset: 0, counted: 10_000 }]] },
      );
    }, 60_000);

    test("gives the newest matches of all inboxes of an account, also those of one instant", async () => {
      const asked = fc.record({
        word: fc.constantFrom(...(Object.keys(frequencies) as (keyof typeof frequencies)[])),
        bounds: fc.tuple(fc.integer({ min: 1, max: 300_000 }), fc.integer({ min: 1, max: 300_000 })),
        limit: fc.integer({ min: 0, max: 120 }),
        counted: fc.constantFrom(0, 100, 10_000),
        behind: fc.constantFrom(undefined, "inb_a", "inb_b"),
      });
      await fc.assert(
        fc.asyncProperty(asked, async ({ word, bounds, limit, counted, behind }) => {
          const [first, last] = bounds.toSorted((a, b) => a - b) as [number, number];
          const ids = numbers
            .filter((seq, index) => wordsOf(index).includes(word) && seq >= first && seq <= last)
            .toReversed()
            .flatMap((seq) => [`inb_b_${seq}`, `inb_a_${seq}`]);
          const lastId = behind && `${behind}_${last}`;
          const matches = ids.filter((id) => lastId === undefined || !id.endsWith(`_${last}`) || id < lastId);
          const found = await searchMessages(under.db.api, {
            scope: { kind: "account", id: "acc", reach: { accountId: "acc" } },
            hasFewUnread: true,
            conditions: [{ kind: "words", field: "any", question: word }],
            first: msOf(first),
            last: msOf(last),
            lastId,
            limit,
            offset: 0,
            counted,
          });
          expect(found.messages.map(({ id }) => id)).toEqual(matches.slice(0, limit));
          expect(found.total).toBe(Math.min(matches.length, Math.max(counted, limit)));
        }),
        {
          numRuns: 150,
          examples: [
            [{ word: "everywhere", bounds: [1, 300_000], limit: 50, counted: 100, behind: "inb_b" }],
            [{ word: "hardly", bounds: [1, 300_000], limit: 120, counted: 10_000, behind: undefined }],
          ],
        },
      );
    }, 60_000);

    test("gives the newest messages with attachments in a range, also those of one direction", async () => {
      const asked = fc.record({
        direction: fc.constantFrom(undefined, "inbound" as const, "outbound" as const),
        bounds: fc.tuple(fc.integer({ min: 1, max: 300_000 }), fc.integer({ min: 1, max: 300_000 })),
        limit: fc.integer({ min: 0, max: 120 }),
        offset: fc.integer({ min: 0, max: 300 }),
        counted: fc.constantFrom(0, 100, 1_000),
      });
      await fc.assert(
        fc.asyncProperty(asked, async ({ direction, bounds, ...page }) => {
          const [first, last] = bounds.toSorted((a, b) => a - b) as [number, number];
          const matches = numbers
            .filter((seq, index) => isAttached(index) && seq >= first && seq <= last)
            .filter((seq) => direction === undefined || directionOf(numbers.indexOf(seq)) === direction)
            .toReversed();
          const conditions: SearchCondition[] = [{ kind: "attachment", is: true }];
          if (direction !== undefined) conditions.push({ kind: "direction", is: direction });
          const search = { scope: inboxA, hasFewUnread: true, conditions, first, last, ...page };
          const found = await searchMessages(under.db.api, search);
          const end = page.offset + page.limit;
          expect(found.messages.map(({ position }) => position)).toEqual(matches.slice(page.offset, end));
          expect(found.total).toBe(Math.min(matches.length, Math.max(page.counted, end)));
        }),
        { numRuns: 150 },
      );
    }, 60_000);

    test.each([true, false])("gives the messages of unread threads, also if these are many (few: %p)", async (few) => {
      const unread = numbers.filter((_, index) => index % 5 === 0).toReversed();
      const read = numbers.filter((_, index) => index % 5 > 0).toReversed();
      const find = async (...conditions: SearchCondition[]) => {
        const page = { first: 1, last: 300_000, limit: 1_000, offset: 0, counted: 10_000 };
        const found = await searchMessages(under.db.api, { scope: inboxA, hasFewUnread: few, conditions, ...page });
        return found.messages.map(({ position }) => position);
      };
      expect(await find({ kind: "unread", is: true })).toEqual(unread);
      expect(await find({ kind: "unread", is: false })).toEqual(read);
      expect(await find({ kind: "unread", is: true }, { kind: "unread", is: false })).toEqual([]);
      expect(await find({ kind: "words", field: "any", question: "seldom" }, { kind: "unread", is: true })).toEqual(
        unread.filter((seq) => numbers.indexOf(seq) % frequencies.seldom === 0),
      );
    });

    test("finds each word of a text by that word, and no other text by it, in any script", async () => {
      const letter = fc.constantFrom(
        ..."abzABZ019éßøİıſΣςЖжאبदंहिกา漢字かナ가ﬁ①Ⅳ́_-'’.@/\\|&!<>:*()\" \t\n\u{1f389}\u{10400}",
      );
      const text = fc.string({ unit: letter, minLength: 1, maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(text, async (written) => {
          const words = plainWords(written);
          // Plain words are plain: what is folded twice is folded once.
          expect(plainWords(words).split(/ +/)).toEqual(words.split(/ +/));
          const question = plainQuestion(written.replace(/["-]/g, " "));
          if (question === undefined || /\bor\b/.test(question)) return;
          const [row] = await query<{ own: boolean; other: boolean }>(
            under.db.api,
            sql`select to_tsvector('simple', ${words}) @@ websearch_to_tsquery('simple', ${question}) as own,
                  to_tsvector('simple', 'quite another text') @@ websearch_to_tsquery('simple', ${question}) as other`,
          );
          expect([written, row]).toEqual([written, { own: true, other: false }]);
        }),
        { numRuns: 300 },
      );
    }, 60_000);
  });
}

const isAttached = (index: number) => index % 3 === 0;
const directionOf = (index: number) => (index % 4 === 0 ? "outbound" : "inbound");

function message(inboxId: string, seq: number, index: number, words: readonly string[]): Searchable {
  return {
    accountId: "acc",
    inboxId,
    seq,
    messageId: `${inboxId}_${seq}`,
    atMs: msOf(seq),
    threadId: `thr_${inboxId}_${seq}`,
    direction: directionOf(index),
    fromAddr: "jane@example.com",
    fromName: null,
    toAddr: "ada@inbox.localhost",
    cc: [],
    subject: words.join(" "),
    bodyText: "",
    attachmentCount: isAttached(index) ? 1 : 0,
    indexed: "all",
  };
}

function rowOf(searchable: Searchable) {
  const { seq, inboxId, cc, ...rest } = searchable;
  return {
    ...rest,
    inboxId,
    seq,
    toAddrs: [searchable.toAddr],
    cc: [...cc],
    id: `${inboxId}_${seq}`,
    directionSeq: seq,
    status: "received" as const,
    createdAt: new Date(msOf(seq)),
    rfcMessageId: `${seq}@example.com`,
    messageIdHash: "00000000-0000-0000-0000-000000000000",
    sizeBytes: 100,
  };
}

/** The thread of a message. Each fifth one is unread. */
function threadOf({ inboxId, seq, threadId, subject }: Searchable, index: number) {
  const createdAt = new Date(msOf(seq));
  return {
    id: threadId,
    inboxId,
    subject,
    isRead: index % 5 > 0,
    messageCount: 1,
    createdAt,
    lastMessageAt: createdAt,
    lastMessageId: `${inboxId}_${seq}`,
    lastSeq: seq,
    lastInboundSeq: seq,
    people: [],
    preview: "",
    hasAttachments: false,
  };
}
