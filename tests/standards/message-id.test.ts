import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { canonicalMessageId, contentMessageId, messageIdsOf } from "../../src/standards/message-id.ts";
import { cpuMs } from "../support/cpu.ts";

describe("one id has one canonical form", () => {
  test.each([
    ["brackets go", "<a@b.example>", "a@b.example"],
    ["so does space around them", "  <a@b.example>\r\n", "a@b.example"],
    ["so does white space of folding within", "<abc\r\n  def@b.example>", "abcdef@b.example"],
    ["the domain is in lower case, the rest is not", "<AbC@B.Example>", "AbC@b.example"],
    ["the last @ starts the domain", "<A@B@C>", "A@B@c"],
    ["a comment behind it is no part of it", "<a@b> (added by x@y)", "a@b"],
    ["brackets may be missing", "a@B", "a@b"],
    ["one may be missing", "<a@b", "a@b"],
    ["a domain may be missing", "<12345>", "12345"],
    ["both may be missing", "12345", "12345"],
    ["NUL cannot be stored", "<a\0@b>", "a\ufffd@b"],
    ["controls cannot be shown", "<a\u001b[2J\u009b2J\u007f@b>", "a[2J2J@b"],
    ["nothing is no id", " <> ", undefined],
    ["an empty header is no id", "", undefined],
  ])("%s", (_what, raw, id) => expect(canonicalMessageId(raw)).toBe(id));

  test("a canonical id is its own canonical form", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (raw) => {
        const id = canonicalMessageId(raw);
        fc.pre(id !== undefined && !/[<>,;()]/.test(id));
        expect(canonicalMessageId(`<${id}>`)).toBe(id);
      }),
    );
  });
});

describe("the ids of a header, in order", () => {
  test.each([
    ["one", "<a@b>", ["a@b"]],
    ["several, folded", "<a@b>\r\n <c@d>\t<e@f>", ["a@b", "c@d", "e@f"]],
    ["without space between", "<a@b><c@d>", ["a@b", "c@d"]],
    ["with commas", "<a@b>, <c@d>", ["a@b", "c@d"]],
    ["without brackets", "a@b c@D", ["a@b", "c@d"]],
    ["a bracket that never closes", "<a@b <c@d>", ["a@b", "c@d"]],
    ["a bracket that never opened", "a@b> <c@d>", ["a@b", "c@d"]],
    ["the phrase of old mailers", 'Your message of "Mon, 3 Mar 2025" <a@b>', ["a@b"]],
    ["comments", "(see) <a@b> (joe) <c@d>", ["a@b", "c@d"]],
    ["a quoted local part may hold brackets", '<"x>y"@b> <c@d>', ['"x>y"@b', "c@d"]],
    ["a quote that is no local part doesn't swallow the rest", '<"x> <c@d>', ['"x', "c@d"]],
    ["empty ones are none", "<> < > <a@b>", ["a@b"]],
    ["garbage is none", "hello, world; ((( >>>", []],
    ["nothing is none", "", []],
  ])("%s", (_what, header, ids) => expect(messageIdsOf(header)).toEqual(ids));

  test.each([
    ["100,000 ids", " <20250303.123456@mail.example.com>", 100_000],
    ["brackets that never close", "<", 0],
    ["quotes that never close", '<"\\', 200_000],
    ["comments that never close", "(a@b", 200_000],
  ])("%s take time that grows with their length alone", (_what, piece, count) => {
    const startMs = cpuMs();
    const ids = messageIdsOf(piece.repeat(Math.max(count, 200_000)));
    // Ten times the time on a slow machine. Code that backtracks would take minutes.
    expect(cpuMs() - startMs).toBeLessThan(2000);
    expect(ids.length).toBe(count === 0 ? 0 : Math.max(count, 200_000));
  });
});

describe("a mail without an id gets one from its content", () => {
  const raw = new TextEncoder().encode("Subject: hi\r\n\r\nhello\r\n");
  test("the same content, the same id", () => {
    expect(contentMessageId(raw, "inbox.localhost")).toBe(contentMessageId(raw.slice(), "Inbox.localhost"));
  });
  test("other content, another id", () => {
    expect(contentMessageId(raw, "inbox.localhost")).not.toBe(contentMessageId(raw.subarray(1), "inbox.localhost"));
  });
  test("it is canonical", () => {
    const id = contentMessageId(raw, "inbox.localhost");
    expect(canonicalMessageId(`<${id}>`)).toBe(id);
    expect(id).toEndWith("@inbox.localhost");
  });
});
