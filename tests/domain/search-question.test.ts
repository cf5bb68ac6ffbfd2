import { describe, expect, test } from "bun:test";
import {
  partSearched,
  readQuestion,
  type SearchCondition,
  type SearchQuestion,
} from "../../src/domain/search-question.ts";

const words = (field: "any" | "from" | "to" | "subject", question: string): SearchCondition => ({
  kind: "words",
  field,
  question,
});
const any = (question: string) => words("any", question);
const day = (date: string) => new Date(`2026-03-${date}T00:00:00Z`);

describe("A search is read as", () => {
  const rows: [what: string, text: string, read: Partial<SearchQuestion> | SearchCondition[]][] = [
    ["words", "invoice -draft", [any("invoice -draft")]],
    ["a phrase", '"order 4711" or "order 4712"', [any('"order 4711" or "order 4712"')]],
    ["a sender", "from:jane@example.com", [words("from", '"jane example com"')]],
    ["a sender's name with a blank", 'from:"Jane Doe"', [words("from", '"jane doe"')]],
    [
      "a recipient and a subject beside words",
      "a to:bob b subject:lunch",
      [any("a b"), words("to", "bob"), words("subject", "lunch")],
    ],
    ["names in any case", "From:jane IS:Unread", [words("from", "jane"), { kind: "unread", is: true }]],
    ["two senders, one of whom is enough", "from:jane or from:bob", [words("from", "jane or bob")]],
    [
      "words that are enough each, beside a sender",
      "paid or due from:jane",
      [any("paid or due"), words("from", "jane")],
    ],
    ["a sender who is not meant", '-from:jane -from:"Bob B"', [words("from", '-jane -"bob b"')]],
    ["files", "has:attachment", [{ kind: "attachment", is: true }]],
    ["no files", "-has:attachment", [{ kind: "attachment", is: false }]],
    ["read mail", "-is:unread", [{ kind: "unread", is: false }]],
    [
      "both, which no message is",
      "is:unread -is:unread",
      [
        { kind: "unread", is: true },
        { kind: "unread", is: false },
      ],
    ],
    ["days", "after:2026-03-01 before:2026-03-21", { since: day("01"), until: day("21") }],
    ["an instant", 'after:"2026-03-01T00:00:00Z" x', { conditions: [any("x")], since: day("01") }],
    [
      "the narrower of two days",
      "after:2026-03-02 after:2026-03-01 before:2026-03-21 before:2026-03-20",
      { since: day("02"), until: day("20") },
    ],
    [
      "the day from which on, where it is not before",
      "-before:2026-03-01 -after:2026-03-21",
      { since: day("01"), until: day("21") },
    ],
    ["words: a name without a value", "from: jane", [any("from jane")]],
    ["words: a name at the end", "reply to:", [any("reply to")]],
    ["words: a name in quotes", '"from:jane"', [any('"from jane"')]],
    ["words: another name", "re:invoice http://a.example", [any('"re invoice" "http a example"')]],
    ["a phrase that nobody closed", 'from:"jane doe', [words("from", '"jane doe"')]],
    ["words: an or at an end", "or from:jane", [words("from", "jane")]],
  ];
  test.each(rows)("%s: %s", (_, text, read) => {
    const nothing: SearchQuestion = { conditions: [], since: undefined, until: undefined };
    expect(readQuestion(text)).toEqual(
      Array.isArray(read) ? { ...nothing, conditions: read } : { ...nothing, ...read },
    );
  });
});

describe("A search is refused", () => {
  test.each([
    ["without a word", "-", /letter or a digit/],
    ["with or alone", "or", /letter or a digit/],
    ["with a sender without a letter", "from:@ x", /letter or a digit behind "from:"/],
    ["with an empty sender", 'from:""', /behind "from:"/],
    ["with an unknown property", "has:code", /"attachment" behind "has:"/],
    ["with an unknown state", "is:starred", /"unread" behind "is:"/],
    ["with a day that there is not", "before:2026-02-30", /a day such as 2026-03-21, or an instant, behind "before:"/],
    ["with a day in words", "after:yesterday", /behind "after:"/],
    ["with or between words and a sender", "invoice or from:jane", /"or" only between/],
    ["with or between two fields", "from:jane or to:jane", /"or" only between/],
    ["with or beside a property", "invoice or is:unread", /"or" only between/],
    ["with or beside two properties", "is:unread or is:unread", /"or" only between/],
    ["if it is too long", "a".repeat(501), /at most 500/],
  ])("%s", (_, text, fault) => {
    expect(readQuestion(text)).toEqual({ fault: expect.stringMatching(fault) });
  });
});

describe("Of a search, the words looked at are told", () => {
  const files: SearchCondition = { kind: "attachment", is: true };
  test.each([
    ["not, if all are indexed", [any("a")], "all", undefined],
    ["as the head, if it asks for any words", [files, any("a")], "head", "head"],
    ["not, if it asks for words of the head alone", [words("from", "a"), words("subject", "b")], "head", undefined],
    ["as none, if it asks for words of the head alone", [words("to", "a")], "off", "off"],
    ["not, if it asks for no words", [files], "off", undefined],
  ] as const)("%s", (_, conditions, indexed, searched) => {
    expect(partSearched(conditions, indexed)).toBe(searched);
  });
});
