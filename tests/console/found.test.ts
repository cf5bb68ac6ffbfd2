import { describe, expect, test } from "bun:test";
import { byOffset, excerptOf, hitsOf } from "../../src/console/mail/found.tsx";

describe("The hits of a search", () => {
  const marked = (text: string, hits: RegExp | undefined) =>
    hits === undefined ? text : text.normalize("NFD").replace(hits, "[$1]").normalize("NFC");
  test.each([
    ["are whole words in any case", "invoice", "Invoice, invoices, INVOICE", "[Invoice], invoices, [INVOICE]"],
    ["have accents or none", "muller", "Jürgen Müller", "Jürgen [Müller]"],
    ["may be a phrase", '"order 4711"', "order no. 4711, Order-4711", "order no. 4711, [Order-4711]"],
    ["may be an address", "bob@x.example", "to bob@x.example.", "to [bob@x.example]."],
    ["are inside of a text without spaces", "会議", "明日の会議は", "明日の[会議]は"],
    ["have no word that must not be there", "lunch -dinner", "lunch or dinner", "[lunch] or dinner"],
    ["have no or", "pizza or pasta", "pizza or pasta", "[pizza] or [pasta]"],
    ["have no filter", "is:unread has:attachment a", "is unread, has a file", "is unread, has [a] file"],
    ["are none without a word", "is:unread", "unread", "unread"],
    ["have no pattern of a stranger", "a.b*", "a.b* ab", "[a.b]* ab"],
  ])("%s", (_, search, text, found) => {
    expect(marked(text, hitsOf(search).text)).toBe(found);
  });

  test("are those of its field", () => {
    const hits = hitsOf('from:"Jane Doe" subject:lunch pizza');
    const all = (pattern: RegExp | undefined) => marked("Jane Doe lunch pizza", pattern);
    expect([all(hits.who), all(hits.subject), all(hits.text)]).toEqual([
      "[Jane Doe] lunch [pizza]",
      "Jane Doe [lunch] [pizza]",
      "Jane Doe lunch [pizza]",
    ]);
  });

  test("are shown also where they are far behind the beginning of the text", () => {
    const text = `${"before ".repeat(100)}needle ${"behind ".repeat(100)}`;
    expect(excerptOf(text, hitsOf("needle").text)).toContain("needle");
    expect(excerptOf(text, undefined)).toStartWith("before before");
    expect(excerptOf("", hitsOf("needle").text)).toBe("");
  });
});

test("Rows of a list with cursors are loaded by any range, each row once, one load at a time", async () => {
  const rows = Array.from({ length: 330 }, (_, index) => index);
  let running = 0;
  const asked: number[] = [];
  const range = byOffset(async ({ limit, cursor = "0" }: { limit: number; cursor?: string }) => {
    running += 1;
    expect(running).toBe(1);
    await Promise.resolve();
    running -= 1;
    const from = Number(cursor);
    asked.push(from);
    // A page may end early, because of the size of its rows.
    const data = rows.slice(from, from + Math.min(limit, 30));
    const end = from + data.length;
    return { data, total: rows.length, nextCursor: end < rows.length ? String(end) : null };
  });
  const [first, second] = await Promise.all([range({ offset: 0, limit: 50 }), range({ offset: 50, limit: 50 })]);
  expect([first.data, second.data]).toEqual([rows.slice(0, 50), rows.slice(50, 100)]);
  expect((await range({ offset: 300, limit: 50 })).data).toEqual(rows.slice(300));
  expect((await range({ offset: 250, limit: 50 })).data).toEqual(rows.slice(250, 300));
  // Only the last range was loaded twice: its two pages were passed over on the way to the one behind it.
  expect(asked.length - new Set(asked).size).toBe(2);
});
