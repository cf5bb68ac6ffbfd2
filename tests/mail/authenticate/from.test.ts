import { describe, expect, test } from "bun:test";
import { forShownSender } from "../../../src/domain/receive/verdict.ts";
import { parseMail } from "../../../src/mail/read/parse.ts";
import { authenticated } from "../../support/authenticating.ts";
import { rsaKey, signedBy } from "../../support/signed-mail.ts";

/**
 * Mail of a stranger, whose own domain passes SPF and DKIM, that looks like mail of bank.example. The verdict is about the sender
 * that the API shows.
 */
const key = rsaKey(1024);
const zone = `
  evil.example TXT v=spf1 +all
  s1._domainkey.evil.example TXT ${key.record}
  _dmarc.evil.example TXT v=DMARC1; p=none
  bank.example TXT v=spf1 -all
  _dmarc.bank.example TXT v=DMARC1; p=reject
  xn--bnk-qla.example TXT v=spf1 +all
  mybank.example TXT v=spf1 +all
`;

async function seen(head: string, envelope = "x@evil.example") {
  const raw = Buffer.from(
    signedBy(key, `${head}\r\nSubject: Hello\r\n\r\nHi\r\n`, { d: "evil.example", h: "From" }),
    "latin1",
  );
  const { from } = await parseMail(raw, { mailDomain: "inbox.example" });
  const authentication = forShownSender(await authenticated(raw, zone, { from: envelope }), from);
  return { shown: from?.address, verdict: authentication.verdict, domain: authentication.domain };
}

describe("a stranger who", () => {
  const rows: readonly [says: string, head: string, verdict: string, domain: string | null][] = [
    ["writes as the bank fails", "From: ceo@bank.example", "fail", "bank.example"],
    ["writes as himself passes", "From: me@evil.example", "pass", "evil.example"],
    ["has the bank as a name passes as himself", 'From: "ceo@bank.example" <me@evil.example>', "pass", "evil.example"],
    ["has the bank in a comment passes as himself", "From: me@evil.example (ceo@bank.example)", "pass", "evil.example"],
    ["hides himself in a comment fails", "From: (me@evil.example) ceo@bank.example", "fail", "bank.example"],
    [
      "hides himself in a comment of the address fails",
      "From: ceo@(me@evil.example)bank.example",
      "fail",
      "bank.example",
    ],
    ["has two addresses fails", "From: ceo@bank.example, me@evil.example", "fail", null],
    ["has two addresses, his own first, fails", "From: me@evil.example, ceo@bank.example", "fail", null],
    ["has two From fields fails", "From: ceo@bank.example\r\nFrom: me@evil.example", "fail", null],
    ["has two From fields, his own first, fails", "From: me@evil.example\r\nFrom: ceo@bank.example", "fail", null],
    [
      "has two From fields, one with a space in its name, fails",
      "From: me@evil.example\r\nFrom : ceo@bank.example",
      "fail",
      null,
    ],
    ["has a group with both fails", "From: team: ceo@bank.example, me@evil.example;", "fail", null],
    ["has a group with the bank fails", "From: team: ceo@bank.example;", "fail", "bank.example"],
    ["has no From fails", "X-From: me@evil.example", "fail", null],
    ["has an empty From fails", "From: ", "fail", null],
    ["has a Sender alone fails", "Sender: me@evil.example", "fail", null],
    ["has a name without an address fails", "From: The Bank", "fail", null],
    ["has an address without a host fails", "From: root", "fail", null],
    ["has an address of a number fails", "From: me@[192.0.2.9]", "fail", null],
    ["quotes an @ fails", 'From: "me@evil.example>"@bank.example', "fail", "bank.example"],
    ["writes two @ fails", "From: me@evil.example@bank.example", "fail", "bank.example"],
    ["writes a source route fails", "From: <@evil.example:ceo@bank.example>", "fail", "bank.example"],
    ["folds the address fails", "From: ceo\r\n @bank.example", "fail", "bank.example"],
    ["writes a full-width dot fails", "From: ceo@bank\xe3\x80\x82example", "fail", "bank.example"],
    [
      "has the bank in an encoded name passes as himself",
      "From: =?utf-8?q?ceo=40bank=2Eexample?= <me@evil.example>",
      "pass",
      "evil.example",
    ],
    ["has the bank in an encoded address fails", "From: =?utf-8?q?ceo=40bank=2Eexample?=", "fail", null],
    ["writes a letter of an old charset is another one", "From: ceo@b\xffnk.example", "none", "xn--bnk-toa.example"],
    ["has a dot behind fails", "From: ceo@bank.example.", "fail", null],
  ];
  test.each(rows)("%s", async (_says, head, verdict, domain) => {
    const { shown, ...judged } = await seen(head);
    expect(judged).toEqual({ verdict, domain } as never);
    if (judged.verdict === "pass") expect(shown).toEndWith(`@${domain}`);
  });

  test("writes letters that look alike passes as himself, by his A-labels", async () => {
    expect(await seen("From: ceo@b\xc3\xa4nk.example", "x@xn--bnk-qla.example")).toEqual({
      shown: "ceo@bänk.example",
      verdict: "pass",
      domain: "xn--bnk-qla.example",
    });
  });

  test("has a domain that ends like the bank's fails", async () => {
    expect(await seen("From: ceo@bank.example", "x@mybank.example")).toMatchObject({ verdict: "fail" });
  });
});
