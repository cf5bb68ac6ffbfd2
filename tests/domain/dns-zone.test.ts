import { expect, test } from "bun:test";
import { reverseName, spfRecord, type ZoneFacts, zoneBlock, zoneLine, zoneOf } from "../../src/domain/dns-zone.ts";
import { parseOutbound } from "../../src/domain/outbound.ts";
import { costsLookUp, isSpf, parseSpf } from "../../src/standards/spf.ts";

const longKey = `v=DKIM1; k=rsa; p=${"MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A".repeat(12)}`;

const facts: ZoneFacts = {
  mailDomain: "in.ada.works",
  smtpHostname: "mx.ada.works",
  outbound: { kind: "direct" },
  addresses: ["8.8.4.4", "2a00:1450::5"],
  dkim: { selector: "s1", record: longKey },
};

test("the zone has what a mail domain needs", () => {
  expect(zoneOf(facts).map(({ name, type, value }) => `${name} ${type} ${value}`)).toEqual([
    "in.ada.works MX 10 mx.ada.works.",
    "mx.ada.works A 8.8.4.4",
    "mx.ada.works AAAA 2a00:1450::5",
    "in.ada.works TXT v=spf1 mx -all",
    `s1._domainkey.in.ada.works TXT ${longKey}`,
    "_dmarc.in.ada.works TXT v=DMARC1; p=none; rua=mailto:postmaster@in.ada.works",
    "4.4.8.8.in-addr.arpa PTR mx.ada.works.",
    "5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.5.4.1.0.0.a.2.ip6.arpa PTR mx.ada.works.",
  ]);
});

test("every line of the block can be pasted, or is a comment", () => {
  for (const line of zoneBlock(facts).trimEnd().split("\n")) {
    expect(line).toMatch(/^(?:; .+|[a-z0-9._-]+\. 3600 IN (?:MX|A|AAAA|TXT) .+)$/);
  }
});

test("a reverse name is never a line to paste into this zone", () => {
  const ptrs = zoneBlock(facts)
    .split("\n")
    .filter((line) => line.includes(" PTR "));
  expect(ptrs).toHaveLength(2);
  for (const line of ptrs) expect(line).toStartWith("; ");
});

test("without an address the block shows its place", () => {
  const block = zoneBlock({ ...facts, addresses: [] });
  expect(block).toContain("; mx.ada.works. 3600 IN A <the public address");
  expect(block).toContain("; the name mx.ada.works, for the public address");
});

test("a long text is cut into strings of at most 255 octets that join to the same text", () => {
  const line = zoneLine({ name: "s1._domainkey.in.ada.works", type: "TXT", value: longKey });
  const strings = [...line.matchAll(/"([^"]*)"/g)].map(([, text = ""]) => text);
  expect(strings.length).toBe(2);
  for (const text of strings) expect(text.length).toBeLessThanOrEqual(255);
  expect(strings.join("")).toBe(longKey);
});

test("quotes and backslashes in a text are escaped", () => {
  expect(zoneLine({ name: "a.works", type: "TXT", value: 'a"b\\c' })).toBe('a.works. 3600 IN TXT "a\\"b\\\\c"');
});

const ways: readonly [outbound: string, spf: string][] = [
  ["direct", "v=spf1 mx -all"],
  ["sandbox", "v=spf1 mx -all"],
  ["smtp://u:p@email-smtp.eu-west-1.amazonaws.com", "v=spf1 include:amazonses.com -all"],
  ["smtp://u:p@smtp.mailgun.org", "v=spf1 include:mailgun.org -all"],
  ["smtp://u:p@smtp.postmarkapp.com", "v=spf1 include:spf.mtasv.net -all"],
  ["smtp://u:p@smtp-relay.gmail.com", "v=spf1 include:_spf.google.com -all"],
  // We can only guess where these send from.
  ["smtp://u:p@relay.ada.works", "v=spf1 a:relay.ada.works ~all"],
  ["smtp://u:p@198.51.100.7", "v=spf1 ip4:198.51.100.7 ~all"],
  ["smtp://u:p@[2a00::7]", "v=spf1 ip6:2a00::7 ~all"],
];

test.each(ways)("for mail by %s the SPF record is %s", (text, spf) => {
  const outbound = parseOutbound(text);
  if (typeof outbound === "string") throw new Error(outbound);
  expect(spfRecord("in.ada.works", outbound).value).toBe(spf);
});

const reversed: readonly [address: string, name: string][] = [
  ["192.0.2.5", "5.2.0.192.in-addr.arpa"],
  ["::1", `${"1.".padEnd(64, "0.")}ip6.arpa`],
  ["2A00::", `${"0.".repeat(28)}0.0.a.2.ip6.arpa`],
  ["64:ff9b::192.0.2.1", "1.0.2.0.0.0.0.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.9.f.f.4.6.0.0.ip6.arpa"],
];

test.each(reversed)("the reverse name of %s is %s", (address, name) => {
  expect(reverseName(address)).toBe(name);
});

const records: readonly [record: string, terms: string][] = [
  ["v=spf1 -all", "-all"],
  ["v=spf1 MX a:relay.works/24 ip6:2a00::/32 ?all", "+mx +a(relay.works/24) +ip6(2a00::/32) ?all"],
  ["v=spf1 include:_spf.a.works  redirect=_spf.b.works", "+include(_spf.a.works) +redirect(_spf.b.works)"],
  ["v=spf1 a/24 exp=why.works ~all", "+a(24) +exp(why.works) ~all"],
];

test.each(records)("%s is read as %s", (record, shown) => {
  const terms = parseSpf(record);
  if (typeof terms === "string") throw new Error(terms);
  expect(terms.map(({ qualifier, name, value }) => `${qualifier}${name}${value && `(${value})`}`).join(" ")).toBe(
    shown,
  );
});

test.each([["v=spf1 includes:a.works"], ["v=spf1 -ip4=1.2.3.4"], ["v=spf1 all, mx"], ["v=spf1 1.2.3.4"]])(
  "%s can't be read",
  (record) => {
    expect(parseSpf(record)).toBeString();
  },
);

test("of the terms, those that ask the DNS cost a look-up", () => {
  const terms = parseSpf("v=spf1 ip4:1.2.3.4 mx a include:x.works exists:y.works redirect=z.works exp=w.works ~all");
  if (typeof terms === "string") throw new Error(terms);
  expect(terms.filter(costsLookUp).map(({ name }) => name)).toEqual(["mx", "a", "include", "exists", "redirect"]);
});

test("an SPF record is known by its version as a word", () => {
  expect(["v=spf1", "V=SPF1 -all", "v=spf10 -all", "spf2.0/pra"].map(isSpf)).toEqual([true, true, false, false]);
});
