import { describe, expect, test } from "bun:test";
import { fingerprintOf } from "../../../src/domain/idempotency.ts";
import { readCustomHeaders } from "../../../src/domain/send/custom-headers.ts";
import { allowedName, isDisplayName } from "../../../src/domain/send/recipients/display-name.ts";
import { type AskedRecipients, readRecipients } from "../../../src/domain/send/recipients/entries.ts";
import { type AskedMail, fingerprintBody } from "../../../src/domain/send/send-fingerprint.ts";

const rules = { mailDomain: "inbox.localhost", max: 3 };

function read(asked: AskedRecipients): string[] {
  const { recipients, faults } = readRecipients(asked, rules);
  if (faults.length > 0) return faults.map((fault) => `${"pointer" in fault ? fault.pointer : ""} ${fault.detail}`);
  return recipients.map(({ type, address, name }) => `${type} ${name === undefined ? "" : `${name} `}${address}`);
}

describe("recipients", () => {
  const rows: readonly [what: string, asked: AskedRecipients, read: string[]][] = [
    ["one string is one entry", { to: "a@x.example" }, ["to a@x.example"]],
    ["an entry may have a name", { to: [{ address: "a@X.example", name: "Ada" }] }, ["to Ada a@x.example"]],
    [
      "the first of doubles stands",
      { to: ["a@x.example"], cc: "A@X.example", bcc: ["b@x.example", "B@x.example"] },
      ["to a@x.example", "bcc b@x.example"],
    ],
    ["an empty list of to is none", { to: [] }, ["#/to must have at least one entry"]],
    ["a name may stand before its address", { to: "Ada <a@X.example>" }, ["to Ada a@x.example"]],
    ["so may it in a list", { to: ["b@x.example", '"Ada" <a@x.example>'] }, ["to b@x.example", "to Ada a@x.example"]],
    ["and in a copy", { to: "b@x.example", bcc: "Ada <a@x.example>" }, ["to b@x.example", "bcc Ada a@x.example"]],
    [
      "its name keeps the rules for names",
      { cc: ['"ceo@bank.example" <a@x.example>'] },
      [`#/cc/0 must have ${allowedName}, before the address`],
    ],
    [
      "an object's address has no name",
      { to: [{ address: "Ada <a@x.example>" }] },
      ["#/to/0/address must be one email address"],
    ],
    ["the place of a fault is told", { cc: ["a@x.example", "b"] }, ["#/cc/1 must be one email address"]],
    [
      "so is that of a wrong address beside a name",
      { to: [{ address: "b", name: "B" }] },
      ["#/to/0/address must be one email address"],
    ],
    [
      "different addresses are counted over all fields",
      { to: ["a@x.example", "b@x.example"], bcc: ["c@x.example", "d@x.example", "A@x.example"] },
      ["#/bcc makes more than 3 different recipients in all"],
    ],
    ["a field alone may have too many", { cc: Array(4).fill("a@x.example") }, ["#/cc must have at most 3 entries"]],
  ];
  test.each(rows)("%s", (_, asked, expected) => {
    expect(read(asked)).toEqual(expected);
  });

  const names: readonly [what: string, name: string, fits: boolean][] = [
    ["a name", "Jane O'Neil, 田中", true],
    ["a hundred characters", "😀".repeat(100), true],
    ["one more", "a".repeat(101), false],
    ["nothing", "", false],
    ["nothing that is seen", " \u200b ", false],
    ["what looks like an address", "ceo@bank.example", false],
    ["brackets", "Jane <j", false],
    ["a line break", "Jane\r\nBcc: x", false],
    ["a line break of Unicode", "Jane\u2028x", false],
    ["a mark of direction", "Jane\u202eenaJ", false],
  ];
  test.each(names)("%s as a name", (_, name, fits) => {
    expect(isDisplayName(name)).toBe(fits);
  });
});

describe("a recipient that is not one name and one address is refused, at its place", () => {
  const rows: readonly [what: string, text: string][] = [
    ["a list", "Ada <a@x.example>, Bob <b@x.example>"],
    ["a list that ends with a name", "a@x.example, Bob <b@x.example>"],
    ["two addresses in brackets", "Ada <a@x.example> <b@x.example>"],
    ["two addresses in one pair of brackets", "Ada <a@x.example,b@x.example>"],
    ["a route", "Ada <@r.example:a@x.example>"],
    ["a group", "Friends: Ada <a@x.example>;"],
    ["a comment in the name", "Ada (Boss) <a@x.example>"],
    ["a comment behind the address", "Ada <a@x.example> (Boss)"],
    ["a comment in the brackets", "Ada <a@x.example(Boss)>"],
    ["an encoded word", "=?utf-8?q?Ada?= <a@x.example>"],
    ["an encoded word in quotes", '"=?utf-8?q?Ada?=" <a@x.example>'],
    ["a line break in the name", "Ada\r\nBcc: b@x.example <a@x.example>"],
    ["a folded name", "Ada\r\n Lovelace <a@x.example>"],
    ["a line break before the name", "\nAda <a@x.example>"],
    ["a line break in quotes", '"Ada\nLovelace" <a@x.example>'],
    ["a line break in the brackets", "Ada <a@x.example\r\n>"],
    ["an escaped line break", '"Ada\\\n" <a@x.example>'],
    ["brackets in brackets", "Ada <<a@x.example>>"],
    ["brackets in a quoted name", '"Ada <b@x.example>" <a@x.example>'],
    ["an escaped bracket in a quoted name", '"Ada \\< b" <a@x.example>'],
    ["quotes that do not end", '"Ada <a@x.example>'],
    ["quotes that end by an escape", '"Ada\\" <a@x.example>'],
    ["a second quoted string", '"Ada" "Bob" <a@x.example>'],
    ["a comma without quotes", "Lovelace, Ada <a@x.example>"],
    ["an @ in the name", "b@x.example <a@x.example>"],
    ["brackets without a name", "<a@x.example>"],
    ["an empty name", '"" <a@x.example>'],
    ["an unseen name", '"\u200b" <a@x.example>'],
    ["a mark of direction in the name", "Ada\u202e <a@x.example>"],
    ["a name of 101 characters", `${"a".repeat(101)} <a@x.example>`],
    ["brackets that do not close", "Ada <a@x.example"],
    ["no address", "Ada <>"],
    ["a quoted local part", 'Ada <"a b"@x.example>'],
    ["an address literal", "Ada <a@[127.0.0.1]>"],
    ["a blank in the brackets", "Ada < a@x.example >"],
    ["something behind the brackets", "Ada <a@x.example> "],
    ["a megabyte", `${"a ".repeat(500_000)}<a@x.example>`],
  ];
  test.each(rows)("%s", (_, text) => {
    const { recipients, faults } = readRecipients({ to: "z@x.example", cc: [text] }, rules);
    expect([recipients.length, faults.map((fault) => "pointer" in fault && fault.pointer)]).toEqual([1, ["#/cc/0"]]);
  });
});

describe("headers of the caller's own", () => {
  const rows: readonly [name: string, value: string, wrong: boolean][] = [
    ["X-Ticket", "42 für dich", false],
    ["x-priority", "1", false],
    ["List-Id", "<news.example.com>", false],
    ["List-Unsubscribe", "<https://x.example/u?a=1,2>, <mailto:u@x.example>", false],
    ["List-Unsubscribe", "<http://x.example/u>", true],
    ["List-Unsubscribe", "https://x.example/u", true],
    ["List-Unsubscribe", "<https://x.example/ü>", true],
    ["List-Unsubscribe", "<https://x.example/u> <mailto:u@x.example>", true],
    ["List-Unsubscribe", `<https://x.example/${"a".repeat(970)}>`, true],
    ["Auto-Submitted", "auto-replied", false],
    ["Auto-Submitted", "no", true],
    ["X-Inboxd-Id", "1", true],
    ["X-SMTPAPI", "{}", true],
    ["x-mailgun-tag", "a", true],
    ["X-", "a", true],
    ["X-A: b", "a", true],
    [`X-${"a".repeat(61)}`, "a", true],
    ...["From", "bcc", "In-Reply-To", "Content-Type", "Resent-To", "DKIM-Signature", "__proto__"].map(
      (name): [string, string, boolean] => [name, "a", true],
    ),
    ["X-A", "a\r\nBcc: b@x", true],
    ["X-A", "\0", true],
    ["X-A", "", true],
    ["X-A", "a".repeat(999), true],
  ];
  test.each(rows)("%s: %s", (name, value, wrong) => {
    expect(readCustomHeaders(Object.fromEntries([[name, value]])).faults.length > 0).toBe(wrong);
  });

  test("are named where they are wrong, once each, and at most twenty", () => {
    expect(readCustomHeaders({ "X-A": "1", "x-a": "2" }).faults).toEqual([
      { pointer: "#/headers/x-a", detail: "must be given only once; upper and lower case are the same" },
    ]);
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`X-${index}`, "a"]));
    expect(readCustomHeaders(many).faults).toHaveLength(1);
    expect(
      readCustomHeaders({ "Auto-Submitted": "auto-replied" }, { autoSubmitted: "auto-replied" }).faults,
    ).toHaveLength(1);
  });
});

describe("the fingerprint of a send", () => {
  const plain = {
    subject: "Lunch",
    body: "Noon?",
    bodyHtml: undefined,
    threadId: undefined,
    includeQuote: true,
    replyTo: undefined,
    readUpToMessageId: undefined,
    autoSubmitted: undefined,
    ignoreLoop: undefined,
  };
  const to = (entries: AskedRecipients) => readRecipients(entries, rules).recipients;
  const printOf = (asked: AskedMail) => fingerprintOf("inb", fingerprintBody(asked));
  const before = fingerprintOf("inb", { to: "a@x.example", ...plain });

  const same: readonly [what: string, asked: AskedMail][] = [
    ["as a string", { ...plain, recipients: to({ to: "a@x.example" }) }],
    ["as a list", { ...plain, recipients: to({ to: ["a@x.example"] }) }],
    ["with a double", { ...plain, recipients: to({ to: ["a@x.example"], cc: ["A@x.example"] }) }],
    [
      "with defaults",
      {
        ...plain,
        recipients: to({ to: "a@x.example", cc: [] }),
        headers: [],
        metadata: {},
        attachments: [],
        bodyFormat: "auto",
        replyAll: false,
        ifUnanswered: false,
        forwardAs: "inline",
        includeAttachments: true,
      },
    ],
  ];
  test.each(same)("is what it was before there were several recipients, %s", (_, asked) => {
    expect(printOf(asked)).toBe(before);
  });

  const recipients = to({ to: "a@x.example" });
  test.each(["Ada L. <a@x.example>", '"Ada L." <a@X.example>', '"Ada\\ L."<a@x.example>'])(
    "is the same for %s and for an object",
    (text) => {
      const named = to({ to: [{ address: "a@x.example", name: "Ada L." }] });
      expect(printOf({ ...plain, recipients: to({ to: text }) })).toBe(printOf({ ...plain, recipients: named }));
    },
  );

  const other: readonly [what: string, asked: AskedMail][] = [
    ["a name", { ...plain, recipients: to({ to: [{ address: "a@x.example", name: "A" }] }) }],
    ["a blind copy", { ...plain, recipients: to({ to: "a@x.example", bcc: "b@x.example" }) }],
    ["a header", { ...plain, recipients, headers: [{ name: "X-A", value: "1" }] }],
    ["no name of the sender", { ...plain, recipients, fromName: null }],
    ["a format", { ...plain, recipients, bodyFormat: "markdown" }],
    ["a condition", { ...plain, recipients, ifUnanswered: true }],
  ];
  test.each(other)("is another one with %s", (_, asked) => {
    expect(printOf(asked)).not.toBe(before);
  });

  test("does not hang on the case of a header's name", () => {
    const named = (name: string) => printOf({ ...plain, recipients, headers: [{ name, value: "1" }] });
    expect(named("X-A")).toBe(named("x-a"));
  });

  test("is byte for byte what keys in use were stored with", () => {
    const whole: AskedMail = {
      recipients: to({ to: [{ address: "a@x.example", name: "A" }], cc: "b@x.example", bcc: ["c@x.example"] }),
      subject: "Lunch",
      body: "Noon?",
      bodyHtml: "<p>Noon?</p>",
      threadId: "thr",
      includeQuote: false,
      replyTo: "d@x.example",
      readUpToMessageId: "msg",
      autoSubmitted: "auto-replied",
      ignoreLoop: true,
      fromName: null,
      fromAddr: "i+1@x.example",
      headers: [{ name: "X-A", value: "1" }],
      metadata: { "10": "a", "9": "b", __b__: "c" },
      attachments: [
        { filename: "a", contentType: "b/c", inline: false, contentId: undefined, sha256: "0", sizeBytes: 1 },
      ],
      bodyFormat: "html",
      replyToMessageId: "msg_2",
      replyAll: true,
      forwardOf: "msg_3",
      forwardAs: "attachment",
      includeAttachments: false,
    };
    expect(printOf({ ...plain, recipients })).toBe("e5f7b388837227fbc9ca284f452a99332861327f4b5092bbaf3c31d1b09dc295");
    expect(printOf(whole)).toBe("e6e7052694ed6a167432c4b7882c2fb65a2efc58690e8759d7c6e3181406b125");
  });
});
