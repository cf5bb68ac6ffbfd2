import { describe, expect, test } from "bun:test";
import { readMail } from "../../support/read-mail.ts";

/** The senders and recipients of a mail. */

describe("the sender", () => {
  test.each([
    ["whose encoded name has a comma", "From: =?utf-8?Q?Doe,_J?= <a@x.example>", "a@x.example", "Doe, J"],
    ["a colon", "From: =?utf-8?Q?Us:_J?= <a@x.example>", "a@x.example", "Us: J"],
    ["a semicolon", "From: =?utf-8?Q?a;b?= <a@x.example>", "a@x.example", "a;b"],
    ["a bracket", "From: =?utf-8?Q?a<b?= <a@x.example>", "a@x.example", "a<b"],
    ["a quote", 'From: =?utf-8?Q?a"b?= <a@x.example>', "a@x.example", 'a"b'],
    ["a parenthesis", "From: =?utf-8?Q?a(b?= <a@x.example>", "a@x.example", "a(b"],
    ["another address", "From: =?utf-8?Q?eve@y.example?= <a@x.example>", "a@x.example", "eve@y.example"],
    [
      "all of these, in two words",
      "From: =?utf-8?Q?a,=22?= =?iso-8859-1?Q?<=FC(?= <a@x.example>",
      "a@x.example",
      'a,"<ü(',
    ],
    ["quotes around it", 'From: "=?utf-8?Q?Doe,_J?=" <a@x.example>', "a@x.example", "Doe, J"],
    ["a comment for a name", "From: a@x.example (=?utf-8?Q?Doe,_J?=)", "a@x.example", "Doe, J"],
    ["brackets within the word", "From: =?utf-8?Q?Jane_<a@x.example>?=", "a@x.example", "Jane"],
    ["raw bytes", "From: J\xfcrgen, a@x.example", "a@x.example", undefined],
    ["a local name", "From: MAILER-DAEMON (Mail Delivery System)", "MAILER-DAEMON", "Mail Delivery System"],
    ["a program's local name", "From: root (Cron Daemon)", "root", "Cron Daemon"],
    ["a local name alone", "From: MAILER-DAEMON", "MAILER-DAEMON", undefined],
    ["a local name in brackets", "From: Cron Daemon <root>", "root", "Cron Daemon"],
    ["a source route", "From: Jane <@a.example,@b.example:a@x.example>", "a@x.example", "Jane"],
    ["comments in the address", "From: Jane <a(work)@(at home)x.example>", "a@x.example", "Jane"],
    ["comments in comments", "From: a@x.example (J (the (first)))", "a@x.example", "J (the (first))"],
    ["spaces in the address", "From: Jane < a @ x . example >", "a@x.example", "Jane"],
    ["spaces without brackets", "From: a @ x.example", "a@x.example", undefined],
    ["a fold in the address", "From: Jane <a@\n x.example>", "a@x.example", "Jane"],
    ["quotes that it needs", 'From: <"a b"@x.example>', '"a b"@x.example', undefined],
    ["quotes that it needs, without brackets", 'From: "a@b"@x.example', '"a@b"@x.example', undefined],
    ["quotes that it needs not", 'From: <"a.b"@x.example>', "a.b@x.example", undefined],
    ["brackets in brackets", "From: Jane <<a@x.example>>", "a@x.example", "Jane"],
    ["brackets that never close", "From: Jane <a@x.example", "a@x.example", "Jane"],
    ["quotes that never close", 'From: "Jane <a@x.example>', "a@x.example", "Jane"],
    ["a comment that never closes", "From: Jane (home <a@x.example>", "a@x.example", "Jane home"],
    ["a comma in a name without quotes", "From: Doe, Jane <a@x.example>", "a@x.example", "Jane"],
    ["a name that is the address", 'From: "a@x.example" <a@x.example>', "a@x.example", undefined],
    ["an address beside words", "From: Jane Doe a@x.example", "a@x.example", "Jane Doe"],
    ["an escaped quote in the name", 'From: "J \\"K\\" Doe" <a@x.example>', "a@x.example", 'J "K" Doe'],
    ["a literal host", "From: a@[IPv6:::1]", "a@[IPv6:::1]", undefined],
    ["a group", "From: Us: a@x.example, b@x.example;", "a@x.example", undefined],
    ["the second, where the first is a name alone", "From: Jane Doe, a@x.example", "a@x.example", undefined],
    ["the second, where the first has no host", "From: root, a@x.example", "a@x.example", undefined],
    ["the second field, where the first is empty", "From: \nFrom: a@x.example", "a@x.example", undefined],
    ["Sender, where there is no From", "Sender: Jane <a@x.example>", "a@x.example", "Jane"],
    ["Sender, where From names nobody", "From: undisclosed:;\nSender: a@x.example", "a@x.example", undefined],
    ["Sender, where From is a name alone", "From: Jane Doe\nSender: a@x.example", "a@x.example", undefined],
    ["From, where both are there", "Sender: s@x.example\nFrom: a@x.example", "a@x.example", undefined],
    ["nobody", "From: Jane Doe", undefined, undefined],
    ["nobody in brackets", "From: Jane <>", undefined, undefined],
    ["a name in a code alone", "From: =?utf-8?Q?Jane?=", undefined, undefined],
  ])("%s", async (_what, fields, address, name) => {
    const { from } = await readMail(`${fields}\nSubject: s\n\nhi\n`);
    expect({ address: from?.address, name: from?.name }).toEqual({ address, name });
  });
});

describe("recipients", () => {
  test.each([
    ["local names", "Cc: bob", [{ address: "bob" }]],
    [
      "local names beside others",
      "Cc: bob, a@x.example, root (Cron)",
      [{ address: "bob" }, { address: "a@x.example" }, { address: "root", name: "Cron" }],
    ],
    [
      "semicolons between them",
      "Cc: a@x.example; b@x.example",
      [{ address: "a@x.example" }, { address: "b@x.example" }],
    ],
    [
      "groups",
      "Cc: a: b@x.example, c: d@x.example;, e@x.example",
      [{ address: "b@x.example" }, { address: "d@x.example" }, { address: "e@x.example" }],
    ],
    ["nobody in a group", "Cc: undisclosed-recipients:;", []],
    ["names alone are left out", "Cc: Jane Doe, a@x.example", [{ address: "a@x.example" }]],
    ["commas alone", "Cc: ,, ,", []],
    [
      "an encoded comma",
      "Cc: =?utf-8?B?RG9lLCBK?= <a@x.example>, b@x.example",
      [{ address: "a@x.example", name: "Doe, J" }, { address: "b@x.example" }],
    ],
    [
      "a forgotten bracket",
      "Cc: J <a@x.example, K <b@x.example",
      [
        { address: "a@x.example", name: "J" },
        { address: "b@x.example", name: "K" },
      ],
    ],
  ])("%s", async (_what, field, cc) => {
    expect((await readMail(`From: a@x\n${field}\n\nhi\n`)).cc).toEqual(cc);
  });

  test("a reply goes only to an address with a host", async () => {
    expect((await readMail("Reply-To: root\n\nhi\n")).replyTo).toBeUndefined();
    expect((await readMail("Reply-To: root, b@x.example\n\nhi\n")).replyTo).toBe("b@x.example");
  });
});
