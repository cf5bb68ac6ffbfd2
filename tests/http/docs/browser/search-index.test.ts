import { expect, test } from "bun:test";
import { around, type Entry, find } from "../../../../src/http/docs/browser/search-index.ts";

const entry = (title: string, where: string, text: string, weight = 0): Entry => ({
  title,
  where,
  text,
  weight,
  href: `#${title}`,
});

const entries = [
  entry("limit", "List messages", "How many to return"),
  entry("Limits", "Errors and limits", "What an account may do", 6),
  entry("Send email", "POST /v1/inboxes/{id}/send", "Sends one email from the inbox", 10),
  entry("Sending", "Sending", "One curl line with limits", 12),
];

const rows: readonly [query: string, titles: string[]][] = [
  ["limit", ["limit", "Limits", "Sending"]],
  ["LIMITS", ["Limits", "Sending"]],
  ["send", ["Sending", "Send email"]],
  ["send email", ["Send email"]],
  ["email inbox", ["Send email"]],
  ["errors", []],
  ["send nowhere", []],
  ["  ", []],
  ["lmits", ["Limits", "Sending"]],
  ["limts", ["Limits", "Sending"]],
  ["limmits", ["Limits", "Sending"]],
  ["lmiits", ["Limits", "Sending"]],
  ["senf emial", ["Send email"]],
  ["lmiitz", []],
  ["sne", []],
];

test.each(rows)("who looks for %p finds the best first", (query, titles) => {
  expect(find(entries, query, 3).map(({ title }) => title)).toEqual(titles);
});

test("no more is found than is asked for", () => {
  expect(find(entries, "limit", 1)).toHaveLength(1);
});

test("a find is shown with what stands around it", () => {
  const text = `${"before ".repeat(20)}here it is ${"after ".repeat(40)}`;
  expect(around(text, "here")).toMatch(/^… .{10,40}here it is .* …$/);
  expect(around("short", "none")).toBe("short");
});
