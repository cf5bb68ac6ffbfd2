import { expect, test } from "bun:test";
import { nearestName } from "../../src/primitives/nearest-name.ts";

const names = [
  "to",
  "subject",
  "body",
  "bodyHtml",
  "threadId",
  "includeQuote",
  "replyTo",
  "is_read",
  "externalId",
  "q",
];

test.each([
  ["another case", "ThreadID", "threadId"],
  ["dashes", "external-id", "externalId"],
  ["underscores", "body_html", "bodyHtml"],
  ["none where there is one", "isRead", "is_read"],
  ["a letter too few", "subjct", "subject"],
  ["a letter too many", "bodyy", "body"],
  ["a wrong letter", "replyTp", "replyTo"],
  ["two letters that changed places", "sujbect", "subject"],
  ["a slip in a short name", "too", "to"],
])("A name is found in spite of %s", (_, unknown, name) => {
  expect(nearestName(unknown, names)).toBe(name);
});

test.each([["cc"], ["bcc"], ["attachments"], ["x"], [""], ["__proto__"], ["priority"]])(
  "Nothing is near %p",
  (unknown) => {
    expect(nearestName(unknown, names)).toBeUndefined();
  },
);

test("The nearer one of two names is found", () => {
  expect(nearestName("limits", ["limited", "limit"])).toBe("limit");
  expect(nearestName("bodyhtml", ["body", "bodyHtml"])).toBe("bodyHtml");
});

test("A name that is too long is not compared", () => {
  expect(nearestName("a".repeat(65), ["a".repeat(64)])).toBeUndefined();
  expect(nearestName("a".repeat(64), ["a".repeat(63)])).toBe("a".repeat(63));
});
