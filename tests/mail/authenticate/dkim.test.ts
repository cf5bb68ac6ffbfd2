import { describe, expect, test } from "bun:test";
import { createPublicKey } from "node:crypto";
import fc from "fast-check";
import { dkimSign } from "mailauth/lib/dkim/sign";
import { dkimVerify } from "mailauth/lib/dkim/verify";
import type { OutgoingMail } from "../../../src/domain/message.ts";
import { composeMail } from "../../../src/mail/write/compose.ts";
import { dkimSigner, publicKeyRecord } from "../../../src/mail/write/dkim.ts";
import { authenticated, recordsIn } from "../../support/authenticating.ts";
import { mailOf } from "../../support/mail.ts";
import { ed25519Key, rsaKey, signedBy, type Tags } from "../../support/signed-mail.ts";

const crlf = (text: string) => text.replaceAll("\n", "\r\n");

describe("the messages that the standards print", () => {
  const game = `From: Joe SixPack <joe@football.example.com>
To: Suzie Q <suzie@shopping.example.net>
Subject: Is dinner ready?
Date: Fri, 11 Jul 2003 21:00:37 -0700 (PDT)
Message-ID: <20030712040037.46341.5F8J@football.example.com>

Hi.

We lost the game.  Are you hungry yet?

Joe.
`;
  /** RFC 8463 appendix A.3. */
  const rfc8463 = crlf(`DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed;
 d=football.example.com; i=@football.example.com;
 q=dns/txt; s=brisbane; t=1528637909; h=from : to :
 subject : date : message-id : from : subject : date;
 bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;
 b=/gCrinpcQOoIfuHNQIbq4pgh9kyIK3AQUdt9OdqQehSwhEIug4D11Bus
 Fa3bT3FY5OsU7ZbnKELq+eXdp1Q1Dw==
DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed;
 d=football.example.com; i=@football.example.com;
 q=dns/txt; s=test; t=1528637909; h=from : to : subject :
 date : message-id : from : subject : date;
 bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;
 b=F45dVWDfMbQDGHJFlXUNB2HKfbCeLRyhDXgFpEL8GwpsRe0IeIixNTe3
 DhCVlUrSjV4BwcVcOF6+FF3Zo9Rpo1tFOeS9mPYQTnGdaSGsgeefOsk2Jz
 dA+L10TeYt9BgDfQNZtKdN1WO//KgIqXP7OdEFE4LjFYNcUxZQ4FADY+8=
${game}`);
  /** RFC 6376 appendix A.2, with the key of appendix C. Its text has one space after the full stop, as its errata say. */
  const rfc6376 = crlf(`DKIM-Signature: v=1; a=rsa-sha256; s=brisbane; d=example.com;
      c=simple/simple; q=dns/txt; i=joe@football.example.com;
      h=Received : From : To : Subject : Date : Message-ID;
      bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;
      b=AuUoFEfDxTDkHlLXSZEpZj79LICEps6eda7W3deTVFOk4yAUoqOB
      4nujc7YopdG5dWLSdNg6xNAZpOPr+kHxt1IrE+NahM6L/LbvaHut
      KVdkLLkpVaVVQPzeRDI009SO2Il5Lu7rDNH6mZckBdrIx0orEtZV
      4bmp/YzhwvcubU4=;
Received: from client1.football.example.com  [192.0.2.1]
      by submitserver.example.com with SUBMISSION;
      Fri, 11 Jul 2003 21:01:54 -0700 (PDT)
${game.replace("game.  Are", "game. Are")}`);
  const zone = `
    brisbane._domainkey.football.example.com TXT v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
    test._domainkey.football.example.com TXT v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDkHlOQoBTzWRiGs5V6NpP3idY6Wk08a5qhdR6wy5bdOKb2jLQiY/J16JYi0Qvx/byYzCNb3W91y3FutACDfzwQ/BC/e/8uBsCR+yz1Lxj+PL6lHvqMKrM3rG4hstT5QjvHO9PzoxZyVYLzBfO2EeC3Ip3G+2kryOTIKT+l/K4w3QIDAQAB
    brisbane._domainkey.example.com TXT v=DKIM1; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDwIRP/UC3SBsEmGqZ9ZJW3/DkMoGeLnQg1fWn7/zYtIxN2SnFCjxOCKG9v3b4jYfcTNh5ijSsq631uBItLa7od+v/RtdC2UzJ1lWT947qR+Rcac2gbto/NMqJ0fzfVjH4OuKhitdY9tf6mcwGjaNBcWToIMmPSPDdQPNUYckcQ2QIDAQAB
  `;

  test("the one of RFC 8463 passes with both signatures", async () => {
    const { dkim } = await authenticated(rfc8463, zone);
    expect(dkim.map(({ result, selector }) => [selector, result])).toEqual([
      ["brisbane", "pass"],
      ["test", "pass"],
    ]);
  });

  test("the one of RFC 6376 passes", async () => {
    const { dkim } = await authenticated(rfc6376, zone);
    expect(dkim.map(({ result }) => result)).toEqual(["pass"]);
  });

  test("one letter of the text more makes them fail", async () => {
    const { dkim } = await authenticated(rfc8463.replace("Joe.\r\n", "Joey.\r\n"), zone);
    expect(dkim.map(({ result }) => result)).toEqual(["fail", "fail"]);
  });
});

const rsa = rsaKey();
const ed25519 = ed25519Key();
const mail = mailOf({ from: "Jane <jane@example.com>", text: "Hello Ada\r\n\r\nHow are you?\r\n" });
const bodyLength = "Hello Ada\r\n\r\nHow are you?\r\n".length;
const published = (record: string, selector = "s1", domain = "example.com") =>
  `${selector}._domainkey.${domain} TXT ${record}`;

async function resultOf(signed: string, zone = published(rsa.record)): Promise<string | undefined> {
  const { dkim } = await authenticated(signed, zone);
  return dkim[0]?.result;
}

describe("a signature", () => {
  const rows: readonly [says: string, tags: Tags, result: string | undefined][] = [
    ["that covers From passes", {}, "pass"],
    ["with more tags passes", { q: "dns/txt", t: "1770000000", x: "1800000000", z: "From:b=x", r: "y" }, "pass"],
    ["with white space in its list of fields passes", { h: " From : To :\r\n\tSubject " }, "pass"],
    ["that covers a field that the mail lacks passes", { h: "From:Reply-To" }, "pass"],
    ["of a subdomain of d= passes", { i: "@mail.example.com" }, "pass"],
    ["of a person of d= passes", { i: "jane@example.com" }, "pass"],
    ["over the whole length of the body passes", { l: String(bodyLength) }, "pass"],
    ["over a part of the body is not accepted", { l: "9" }, "policy"],
    ["over nothing of the body is not accepted", { l: "0" }, "policy"],
    ["over more than the body is unreadable", { l: String(bodyLength + 1) }, "neutral"],
    ["by rsa-sha1 is not accepted", { a: "rsa-sha1" }, "policy"],
    ["by an unknown algorithm is unreadable", { a: "rsa-sha512" }, "neutral"],
    ["in an unknown form is unreadable", { c: "simple/nowsp" }, "neutral"],
    ["of another version is unreadable", { v: "2" }, "neutral"],
    ["without its version is unreadable", { v: undefined }, "neutral"],
    ["without the hash of the body is unreadable", { bh: undefined }, "neutral"],
    ["that does not cover From is unreadable", { h: "To:Subject" }, "neutral"],
    ["with a key by another way is unreadable", { q: "http/txt" }, "neutral"],
    ["of a domain that is not below d= is unreadable", { i: "@example.org" }, "neutral"],
    ["of a domain that ends like d= is unreadable", { i: "@evilexample.com" }, "neutral"],
    ["that ends before it begins is unreadable", { t: "1770000000", x: "1760000000" }, "neutral"],
    ["with a time that is no number is unreadable", { t: "soon" }, "neutral"],
    ["that has expired does not count", { x: "1700000000" }, "neutral"],
    ["with another hash of the body fails", { bh: "AAAA" }, "fail"],
    ["without a domain is left out", { d: undefined }, undefined],
    ["of a domain that is no name is left out", { d: "example..com" }, undefined],
    ["of a whole top-level domain is left out", { d: "com" }, undefined],
    ["with a tag twice is left out", { D: "example.com", "d ": "example.com" }, undefined],
  ];
  test.each(rows)("%s", async (_says, tags, result) => {
    expect(await resultOf(signedBy(rsa, mail, tags))).toBe(result);
  });

  test("fails if From, the text or the signature was changed", async () => {
    const signed = signedBy(rsa, mail);
    expect(await resultOf(signed.replace("jane@", "jana@"))).toBe("fail");
    expect(await resultOf(signed.replace("How are", "How were"))).toBe("fail");
    const forged = signed.replace(/b=(.)(?=.+\r\nFrom)/, (_, first) => (first === "A" ? "b=B" : "b=A"));
    expect(await resultOf(forged)).toBe("fail");
  });

  test("passes on a mail whose line ends are line feeds alone, as a pipe gives it", async () => {
    expect(await resultOf(signedBy(rsa, mail).replaceAll("\r\n", "\n"))).toBe("pass");
  });

  test("of Ed25519 passes", async () => {
    expect(await resultOf(signedBy(ed25519, mail), published(ed25519.record))).toBe("pass");
  });
});

describe("a key record", () => {
  const bits = (count: number) => {
    const key = rsaKey(count);
    return { signed: signedBy(key, mail), zone: published(key.record) };
  };
  const key = rsa.record.slice(rsa.record.indexOf("p="));
  const bare = createPublicKey({ key: Buffer.from(key.slice(2), "base64"), format: "der", type: "spki" });
  const pkcs1 = bare.export({ type: "pkcs1", format: "der" }).toString("base64");
  const rows: readonly [says: string, record: string, result: string][] = [
    ["with a key alone counts", key, "pass"],
    ["with an RSAPublicKey counts", `v=DKIM1; p=${pkcs1}`, "pass"],
    ["for mail and SHA-256 counts", `v=DKIM1; h=sha1:sha256; s=email; t=y; n=note; ${key}`, "pass"],
    ["with an empty key is withdrawn", "v=DKIM1; p=", "permerror"],
    ["of another service does not count", `v=DKIM1; s=tlsrpt; ${key}`, "permerror"],
    ["for SHA-1 alone does not count", `v=DKIM1; h=sha1; ${key}`, "permerror"],
    ["of another version does not count", `v=DKIM2; ${key}`, "permerror"],
    ["with its version behind does not count", `${key}; v=DKIM1`, "permerror"],
    ["of another type does not count", ed25519.record, "permerror"],
    ["of an unknown type does not count", `k=dsa; ${key}`, "permerror"],
    ["with a broken key does not count", "v=DKIM1; p=AAAA", "permerror"],
    ["that is no list of tags does not count", "hello", "permerror"],
  ];
  test.each(rows)("%s", async (_says, record, result) => {
    expect(await resultOf(signedBy(rsa, mail), published(record))).toBe(result);
  });

  test("that forbids subdomains refuses one", async () => {
    const exact = published(`${rsa.record}; t=s`);
    expect(await resultOf(signedBy(rsa, mail, { i: "@mail.example.com" }), exact)).toBe("permerror");
    expect(await resultOf(signedBy(rsa, mail, { i: "@example.com" }), exact)).toBe("pass");
  });

  test("needs 1,024 bits", async () => {
    const [short, enough] = [bits(768), bits(1024)];
    expect(await resultOf(short.signed, short.zone)).toBe("policy");
    expect(await resultOf(enough.signed, enough.zone)).toBe("pass");
  });

  test("that is missing is an error of the signature, and one without an answer is not", async () => {
    expect(await resultOf(signedBy(rsa, mail), "")).toBe("permerror");
    expect(await resultOf(signedBy(rsa, mail), published("TIMEOUT"))).toBe("temperror");
  });

  test("counts if another record stands beside it", async () => {
    const zone = `${published("hello")}\n${published(rsa.record)}`;
    expect(await resultOf(signedBy(rsa, mail), zone)).toBe("pass");
  });
});

describe("of many signatures", () => {
  const byOther = Array.from({ length: 30 }, (_, index) => `d${index}.example.org`);
  const others = byOther.reduce((text, domain) => signedBy(rsa, text, { d: domain }), signedBy(rsa, mail));
  const zone = [published(rsa.record), ...byOther.map((domain) => published(rsa.record, "s1", domain))].join("\n");

  test("10 are judged, that of From first, and 20 are listed", async () => {
    const { dkim, verdict } = await authenticated(others, zone);
    expect(dkim.map(({ result }) => result)).toEqual([...Array(10).fill("pass"), ...Array(10).fill("policy")]);
    expect(dkim[0]?.domain).toBe("example.com");
    expect(verdict).toBe("pass");
  });
});

describe("mailauth agrees", () => {
  const resolver = async (name: string, type: string) => {
    const answer = await recordsIn(zone)(name, type as "TXT", new AbortController().signal);
    if (answer.kind !== "found") throw Object.assign(new Error(), { code: "ENOTFOUND" });
    return answer.records.map((text) => [String(text)]);
  };
  const zone = `${published(rsa.record)}\n${published(ed25519.record, "s2")}`;
  const line = fc.string({ unit: fc.constantFrom("a", "é", " ", "  ", "\t", ".", "=", ";", "\r"), maxLength: 12 });
  const body = fc.array(line, { maxLength: 8 }).map((lines) => lines.join("\r\n"));
  const form = fc.constantFrom("simple", "relaxed");
  const mails = fc.record({
    subject: line.map((text) => text.replaceAll("\r", "")),
    body,
    lastLine: fc.constantFrom("", "\r\n", "\r\n\r\n", " ", "\t\r\n", "\n"),
    forms: fc.tuple(form, form).map((both) => both.join("/")),
    key: fc.constantFrom({ selector: "s1", key: rsa }, { selector: "s2", key: ed25519 }),
    change: fc.constantFrom("nothing", "nothing", "space", "letter", "field", "body"),
  });

  test("about mail in all forms, changed or not", async () => {
    const passed = { pass: 0, other: 0 };
    await fc.assert(
      fc.asyncProperty(mails, async ({ subject, body: text, lastLine, forms, key: { selector, key }, change }) => {
        const raw = Buffer.from(`From: jane@example.com\r\nSubject:  ${subject}\r\nX: 1\r\n\r\n${text}${lastLine}`);
        const privateKey = key.privateKeyPem;
        // The library's types know one signature alone.
        const signing = { signingDomain: "example.com", selector, privateKey, algorithm: key.algorithm };
        const { signatures } = await dkimSign(raw, {
          canonicalization: forms,
          signTime: new Date("2026-03-01T00:00:00Z"),
          signatureData: [signing],
        } as never);
        const received = changed(Buffer.concat([Buffer.from(signatures), raw]).toString("latin1"), change);
        const theirs = await dkimVerify(Buffer.from(received, "latin1"), { resolver, strict: true });
        const ours = await authenticated(Buffer.from(received, "latin1"), zone);
        const [expected = "none"] = theirs.results.map(({ status }) => status.result);
        expect(ours.dkim[0]?.result ?? "none").toBe(expected);
        passed[expected === "pass" ? "pass" : "other"] += 1;
      }),
      { numRuns: 400, seed: 33 },
    );
    expect(Math.min(passed.pass, passed.other)).toBeGreaterThan(50);
  });

  function changed(text: string, change: string): string {
    if (change === "space") return text.replace("\r\nX: 1", " \r\nX:  1").replace(/$/, " ");
    if (change === "letter") return text.replace("Subject:", "Subject: a");
    if (change === "field") return text.replace("From:", "from :");
    return change === "body" ? `${text}b\r\n` : text;
  }
});

describe("our own mail", () => {
  test.each([rsa, ed25519])("is verified with $algorithm", async (key) => {
    const signer = await dkimSigner({ domain: "inbox.example", selector: "s1", privateKeyPem: key.privateKeyPem });
    const raw = composeMail(own);
    const signed = await signer.sign(raw, own);
    const zone = `${published(publicKeyRecord(key.privateKeyPem), "s1", "inbox.example")}
      inbox.example TXT v=spf1 -all
      _dmarc.inbox.example TXT v=DMARC1; p=reject`;
    const { verdict, spf, dkim, dmarc } = await authenticated(signed, zone, { from: "ada@inbox.example" });
    expect({ verdict, spf: spf.result, dkim, dmarc }).toEqual({
      verdict: "pass",
      spf: "fail",
      dkim: [{ result: "pass", domain: "inbox.example", selector: "s1", aligned: true }],
      dmarc: { result: "pass", policy: "reject" },
    });
  });
});

const own: OutgoingMail = {
  messageId: "0198@inbox.example",
  date: new Date("2026-03-03T14:05:06Z"),
  from: { name: "Zoë à", address: "ada@inbox.example" },
  to: [{ address: "jane@example.com" }],
  cc: [],
  replyTo: undefined,
  subject: "Grüße ".repeat(40),
  bodyText: "Hi  Jane, \n\n\t.\nhow are you?\n\n\n",
  bodyHtml: "<p>日本語</p>",
  inReplyTo: "b@e.com",
  references: ["reference@e.com"],
  autoSubmitted: undefined,
  headers: [],
  attachments: [],
};
