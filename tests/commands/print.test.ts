import { describe, expect, test } from "bun:test";
import { printed } from "../../src/commands/print.ts";

const id = "msg_01jpw7z1x2e9a8r5k3m0t6vqhd";
const linesOf = (rows: object[], columns = 80) => printed(rows, false, columns).split("\n").slice(0, -1);

describe("A table", () => {
  const long = { time: "12 Mar 2025", status: "received", with: "a".repeat(64), subject: "Order ".repeat(20), id };

  test("shows the subject within 80 columns however long an address is, and then the whole id", () => {
    const [head = "", row = ""] = linesOf([long]);
    expect(head.indexOf("subject")).toBeLessThan(60);
    expect(row).toContain("  Order Order");
    expect(row.slice(80)).toBe(`  ${id}`);
  });

  test("shows more of both on a wider screen, and all of it if there is room", () => {
    const [, wider = ""] = linesOf([long], 120);
    expect(wider.slice(120)).toBe(`  ${id}`);
    expect(linesOf([long], 300)[1]).toContain(`${long.with}  ${long.subject.trim()}  ${id}`);
  });

  test("is whole without a screen", () => {
    const [, row = ""] = linesOf([{ ...long, with: "a".repeat(500) }], Number.POSITIVE_INFINITY);
    expect(row).toContain(`${"a".repeat(500)}  ${long.subject.trim()}  ${id}`);
    expect(linesOf([{ error: "x".repeat(500) }], Number.POSITIVE_INFINITY)[1]).toBe("x".repeat(500));
  });

  test("cuts only long cells", () => {
    const [, row = ""] = linesOf([long]);
    expect(row).toStartWith("12 Mar 2025  received  ");
  });

  test("keeps its columns under wide letters, emojis and accents, none of which is cut in two", () => {
    const subjects = ["漢字の件名".repeat(20), "👩‍👩‍👧‍👦".repeat(60), "e\u0301".repeat(100), "plain"];
    const rows = linesOf(subjects.map((subject) => ({ time: "14:05", subject, id })));
    for (const row of rows.slice(1)) expect(Bun.stringWidth(row.slice(0, row.indexOf(id)))).toBe(82);
    expect(rows[1]).toMatch(/^14:05 {2}(?:漢字の件名)+漢?字?の?件?…/);
    expect(rows[2]).toMatch(/^14:05 {2}(?:👩‍👩‍👧‍👦)+…/u);
    expect(rows[3]).toMatch(/^14:05 {2}(?:e\u0301)+…/);
  });

  test("without ids is cut to the screen as a whole", () => {
    const [, row = ""] = linesOf([{ attempt: 1, error: "connection refused ".repeat(10) }], 40);
    expect(row).toMatch(/^1 {8}connection refused connection…$/);
    expect(row.length).toBeLessThanOrEqual(40);
  });

  test('without rows is "none"', () => {
    expect(printed([], false, 80)).toBe("none\n");
  });
});

test("an object is lines, a text is as it is, and JSON is whole", () => {
  expect(printed({ until: new Date(0) }, false, 80)).toBe("until  1970-01-01T00:00:00.000Z\n");
  expect(printed({ id, subject: null, note: "two\nlines" }, false, 10)).toBe(
    `id       ${id}\nsubject  -\nnote     two lines\n`,
  );
  const recipients = [
    { address: "jane@example.com", name: null, type: "to", status: "sent", failure: null },
    { address: "bob@example.com", name: null, type: "cc", status: "failed", failure: { code: 550, message: "No" } },
  ];
  expect(printed({ recipients, cc: ["a@x.example", "b@x.example"] }, false, 10)).toBe(
    "recipients  jane@example.com to sent, bob@example.com cc failed 550 No\ncc          a@x.example,b@x.example\n",
  );
  expect(printed("a\n\nb\n", false, 10)).toBe("a\n\nb\n");
  expect(JSON.parse(printed([{ subject: "x".repeat(500) }], true, 10))).toEqual([{ subject: "x".repeat(500) }]);
});
