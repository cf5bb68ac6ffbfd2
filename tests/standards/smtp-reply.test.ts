import { expect, test } from "bun:test";
import { cleanLine, parseExtensions, parseSmtpReply, replyAsLine } from "../../src/standards/smtp-reply.ts";

test.each([
  ["250 2.0.0 Ok: queued as 4F5B", { code: 250, enhancedCode: "2.0.0", text: "Ok: queued as 4F5B" }],
  ["250", { code: 250, enhancedCode: undefined, text: "" }],
  ["250 ", { code: 250, enhancedCode: undefined, text: "" }],
  ["550-5.1.1 No such\r\n550 5.1.1 user\r\n", { code: 550, enhancedCode: "5.1.1", text: "No such user" }],
  ["550-No such\n550 5.1.1 user", { code: 550, enhancedCode: "5.1.1", text: "No such user" }],
  ["550 4.1.1 contradicts", { code: 550, enhancedCode: undefined, text: "4.1.1 contradicts" }],
  ["550 5.1.1234 too long", { code: 550, enhancedCode: undefined, text: "5.1.1234 too long" }],
  ["550 5.7.1", { code: 550, enhancedCode: "5.7.1", text: "" }],
  ["250-fine\r\n550 or not", undefined],
  ["250-never ends", undefined],
  ["250 one\r\n250 two", undefined],
  ["2 bananas", undefined],
  ["2500 Ok", undefined],
  ["250Ok", undefined],
  ["650 Ok", undefined],
  ["150 Ok", undefined],
  ["٢٥٠ Ok", undefined],
  [" 250 Ok", undefined],
  ["", undefined],
])("%p", (raw, reply) => {
  expect(parseSmtpReply(raw)).toEqual(reply);
});

test("a reply reads as one line", () => {
  expect(replyAsLine({ code: 250, enhancedCode: "2.0.0", text: "Ok" })).toBe("250 2.0.0 Ok");
  expect(replyAsLine({ code: 250, enhancedCode: undefined, text: "" })).toBe("250");
});

test.each([
  ["a\r\n\tb\u0000\u001b[31mc", "a b [31mc"],
  ["left \u202eright\u2028next\ud800end", "left right next end"],
  ["ünïcödé 👩‍🚀", "ünïcödé 👩 🚀"],
  ["x".repeat(600), `${"x".repeat(499)}…`],
  ["👍".repeat(600), `${"👍".repeat(499)}…`],
  ["x".repeat(500), "x".repeat(500)],
])("%p as one clean line", (text, line) => {
  expect(cleanLine(text)).toBe(line);
});

test("the extensions of a reply to EHLO, without its greeting", () => {
  const reply = "250-SIZE is my name\r\n250-PIPELINING\r\n250-size 1000\r\n250-AUTH=LOGIN\r\n250 SMTPUTF8";
  expect([...parseExtensions(reply)]).toEqual([
    ["PIPELINING", ""],
    ["SIZE", "1000"],
    ["AUTH", "LOGIN"],
    ["SMTPUTF8", ""],
  ]);
});
