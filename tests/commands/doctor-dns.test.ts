import { describe, expect, test } from "bun:test";
import { checkDns, checkResolver } from "../../src/commands/doctor/dns.ts";
import type { DnsFacts } from "../../src/commands/doctor/dns-lookup.ts";
import type { Answer } from "../../src/dns/answers.ts";
import type { Ask } from "../../src/dns/client.ts";
import { reverseName } from "../../src/domain/dns-zone.ts";

const record = "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

const facts: DnsFacts = {
  mailDomain: "in.ada.works",
  smtpHostname: "mx.ada.works",
  outbound: { kind: "direct" },
  dkim: { selector: "s1", record },
};

/** Records by type and name; or why nobody could say. */
type Zone = Record<string, unknown[] | Answer>;

const right: Zone = {
  "MX in.ada.works": [{ exchange: "mx.ada.works", priority: 10 }],
  "A mx.ada.works": ["8.8.4.4"],
  "TXT in.ada.works": ["google-site-verification=1", "v=spf1 mx -all"],
  "TXT s1._domainkey.in.ada.works": [record],
  "TXT _dmarc.in.ada.works": ["v=DMARC1; p=reject"],
  "PTR 4.4.8.8.in-addr.arpa": ["mx.ada.works"],
};

function askOf(zone: Zone): Ask {
  return async (name, type) => {
    const found = zone[`${type} ${name}`] ?? [];
    if (!Array.isArray(found)) return found as never;
    if (found.length === 0) return { kind: "no_record", ttlSeconds: 0 };
    return { kind: "found", records: found as never, ttlSeconds: 300 };
  };
}

test("a domain that has all it needs is found well, check by check", async () => {
  const findings = await checkDns(facts, askOf(right));
  expect(findings.map(({ check, level }) => `${level} ${check}`)).toEqual([
    "ok dns mx",
    "ok dns address",
    "ok dns ptr",
    "ok dns spf",
    "ok dns dkim",
    "ok dns dmarc",
  ]);
  expect(findings.some(({ todo }) => todo !== undefined)).toBe(false);
});

const relayed: DnsFacts["outbound"] = {
  kind: "smtp",
  host: "relay.works",
  port: 25,
  tls: "required",
  login: undefined,
};
const amazon: DnsFacts["outbound"] = { ...relayed, host: "email-smtp.eu-west-1.amazonaws.com" };

interface Case {
  what: string;
  /** What differs from a zone where all is right. */
  zone?: Zone;
  facts?: Partial<DnsFacts>;
  check: string;
  level: "ok" | "warn" | "fail";
  seen: string;
  todo?: string;
}

const includes = Object.fromEntries(
  Array.from({ length: 11 }, (_, n) => [`TXT spf${n}.works`, [`v=spf1 include:spf${n + 1}.works -all`]]),
);

const cases: readonly Case[] = [
  {
    what: "no MX",
    zone: { "MX in.ada.works": [] },
    check: "dns mx",
    level: "fail",
    seen: "has no MX record",
    todo: "Add: in.ada.works. 3600 IN MX 10 mx.ada.works.",
  },
  {
    what: "a null MX",
    zone: { "MX in.ada.works": [{ exchange: "", priority: 0 }] },
    check: "dns mx",
    level: "fail",
    seen: "accepts no mail (null MX)",
    todo: "in.ada.works. 3600 IN MX 10 mx.ada.works.",
  },
  {
    what: "an MX that leads elsewhere",
    zone: { "MX in.ada.works": [{ exchange: "aspmx.l.google.com", priority: 1 }] },
    check: "dns mx",
    level: "fail",
    seen: "go to 1 aspmx.l.google.com. and not to mx.ada.works",
    todo: "in.ada.works. 3600 IN MX 10 mx.ada.works.",
  },
  {
    what: "another MX before ours",
    zone: {
      "MX in.ada.works": [
        { exchange: "mx.ada.works", priority: 10 },
        { exchange: "old.ada.works", priority: 5 },
      ],
    },
    check: "dns mx",
    level: "warn",
    seen: "goes to 5 old.ada.works., 10 mx.ada.works., and mx.ada.works is not the first",
  },
  {
    what: "another MX behind ours, and names in any case",
    zone: {
      "MX in.ada.works": [
        { exchange: "MX.Ada.Works.", priority: 10 },
        { exchange: "backup.ada.works", priority: 20 },
      ],
    },
    check: "dns mx",
    level: "ok",
    seen: "10 mx.ada.works., 20 backup.ada.works.",
  },
  {
    what: "a name server that doesn't answer",
    zone: { "MX in.ada.works": { kind: "unknown", reason: "no answer in time" } },
    check: "dns mx",
    level: "warn",
    seen: "no answer from the name server about in.ada.works (no answer in time)",
    todo: "DNS_SERVERS",
  },
  {
    what: "no address of the host",
    zone: { "A mx.ada.works": [] },
    check: "dns address",
    level: "fail",
    seen: "mx.ada.works has no address",
    todo: "mx.ada.works. 3600 IN A",
  },
  {
    what: "a host at home",
    zone: { "A mx.ada.works": ["192.168.1.4"] },
    check: "dns address",
    level: "fail",
    seen: "has 192.168.1.4",
    todo: "public address",
  },
  {
    what: "a host that is an alias",
    zone: { "CNAME mx.ada.works": ["host.cloud.works"] },
    check: "dns address",
    level: "warn",
    seen: "alias (CNAME) of host.cloud.works",
    todo: "mx.ada.works. 3600 IN A 8.8.4.4",
  },
  {
    what: "a host with IPv6 alone",
    zone: {
      "A mx.ada.works": [],
      "AAAA mx.ada.works": ["2a00::5"],
      [`PTR ${reverseName("2a00::5")}`]: ["mx.ada.works"],
    },
    check: "dns address",
    level: "ok",
    seen: "mx.ada.works: 2a00::5",
  },
  {
    what: "an address called otherwise, and mail goes straight out",
    zone: { "PTR 4.4.8.8.in-addr.arpa": ["static-4.isp.works"] },
    check: "dns ptr",
    level: "fail",
    seen: "8.8.4.4 has the reverse name static-4.isp.works, not mx.ada.works",
    todo: "4.4.8.8.in-addr.arpa. 3600 IN PTR mx.ada.works.",
  },
  {
    what: "an address without a name, and mail goes by a relay",
    zone: { "PTR 4.4.8.8.in-addr.arpa": [] },
    facts: { outbound: relayed },
    check: "dns ptr",
    level: "ok",
    seen: "8.8.4.4 has the reverse name (none); mail goes through the relay",
  },
  {
    what: "no SPF",
    zone: { "TXT in.ada.works": ["v=spf10 -all"] },
    check: "dns spf",
    level: "fail",
    seen: "has no SPF record",
    todo: 'Add: in.ada.works. 3600 IN TXT "v=spf1 mx -all"',
  },
  {
    what: "no SPF where nothing goes out yet",
    zone: { "TXT in.ada.works": [] },
    facts: { outbound: { kind: "sandbox" } },
    check: "dns spf",
    level: "warn",
    seen: "has no SPF record",
  },
  {
    what: "two SPF records",
    zone: { "TXT in.ada.works": ["v=spf1 mx -all", "v=spf1 a -all"] },
    check: "dns spf",
    level: "fail",
    seen: "has 2 SPF records",
  },
  {
    what: "an SPF record for everybody",
    zone: { "TXT in.ada.works": ["v=spf1 mx +all"] },
    check: "dns spf",
    level: "fail",
    seen: "allows everybody to send",
  },
  {
    what: "an SPF record that can't be read",
    zone: { "TXT in.ada.works": ["v=spf1 mx; -all"] },
    check: "dns spf",
    level: "fail",
    seen: 'has "mx;", which no receiver can read',
  },
  {
    what: "an SPF record of eleven look-ups",
    zone: { "TXT in.ada.works": ["v=spf1 include:spf0.works -all"], ...includes },
    check: "dns spf",
    level: "fail",
    seen: "more than 10 DNS queries",
  },
  {
    what: "an SPF record of ten look-ups",
    zone: {
      "TXT in.ada.works": ["v=spf1 include:spf1.works -all"],
      ...includes,
      "TXT spf10.works": ["v=spf1 -all"],
    },
    check: "dns spf",
    level: "ok",
    seen: "include:spf1.works",
  },
  {
    what: "an SPF record that includes itself",
    zone: { "TXT in.ada.works": ["v=spf1 include:in.ada.works -all"] },
    check: "dns spf",
    level: "fail",
    seen: "more than 10 DNS queries",
  },
  {
    what: "an SPF record without the relay's word",
    facts: { outbound: amazon },
    check: "dns spf",
    level: "warn",
    seen: "does not include the servers",
    todo: 'Add "include:amazonses.com"',
  },
  {
    what: "an SPF record with the relay's word",
    facts: { outbound: amazon },
    zone: { "TXT in.ada.works": ["v=spf1 include:amazonses.com ~all"] },
    check: "dns spf",
    level: "ok",
    seen: "include:amazonses.com",
  },
  {
    what: "a DKIM record that is not there",
    zone: { "TXT s1._domainkey.in.ada.works": [] },
    check: "dns dkim",
    level: "fail",
    seen: "s1._domainkey.in.ada.works has no record",
    todo: `Add: s1._domainkey.in.ada.works. 3600 IN TXT "${record}"`,
  },
  {
    what: "a DKIM record of another key",
    zone: { "TXT s1._domainkey.in.ada.works": ["v=DKIM1; p=AAAA"] },
    check: "dns dkim",
    level: "fail",
    seen: "another key than DKIM_KEY",
    todo: `"${record}"`,
  },
  {
    what: "a revoked DKIM key",
    zone: { "TXT s1._domainkey.in.ada.works": ["v=DKIM1; p="] },
    check: "dns dkim",
    level: "fail",
    seen: "revoked",
  },
  {
    what: "two DKIM records",
    zone: { "TXT s1._domainkey.in.ada.works": ["v=DKIM1; p=AAAA", record] },
    check: "dns dkim",
    level: "warn",
    seen: "has 2 records",
  },
  {
    what: "no DKIM key",
    facts: { dkim: undefined },
    check: "dns dkim",
    level: "warn",
    seen: "mail is sent unsigned",
    todo: "Set DKIM_SELECTOR and DKIM_KEY",
  },
  {
    what: "DMARC of the organisation's domain",
    zone: { "TXT _dmarc.in.ada.works": [], "TXT _dmarc.ada.works": ["v=DMARC1; p=none"] },
    check: "dns dmarc",
    level: "ok",
    seen: "_dmarc.ada.works: v=DMARC1; p=none",
  },
  {
    what: "no DMARC, not even of the top-level domain",
    zone: { "TXT _dmarc.in.ada.works": [], "TXT _dmarc.works": ["v=DMARC1; p=none"] },
    check: "dns dmarc",
    level: "warn",
    seen: "has no DMARC record",
    todo: 'Add: _dmarc.in.ada.works. 3600 IN TXT "v=DMARC1; p=none; rua=mailto:postmaster@in.ada.works"',
  },
  {
    what: "DMARC without a policy",
    zone: { "TXT _dmarc.in.ada.works": ["v=DMARC1; rua=mailto:a@b.works"] },
    check: "dns dmarc",
    level: "fail",
    seen: "has no policy",
  },
  {
    what: "two DMARC records",
    zone: { "TXT _dmarc.in.ada.works": ["v=DMARC1; p=none", "v=DMARC1; p=reject"] },
    check: "dns dmarc",
    level: "fail",
    seen: "has 2 records",
  },
];

describe("each fault in the DNS gives one finding:", () => {
  test.each(cases)("$what", async ({ zone, facts: more, check, level, seen, todo }) => {
    const findings = await checkDns({ ...facts, ...more }, askOf({ ...right, ...zone }));
    const finding = findings.find((each) => each.check === check);
    expect(finding?.seen).toContain(seen);
    expect(finding?.level).toBe(level);
    expect(finding?.todo ?? "").toContain(todo ?? "");
    expect(finding?.todo === undefined).toBe(level === "ok");
  });
});

test.each([["inbox.localhost"], ["mail.test"], ["in.example"], ["box.home.arpa"], ["mail.internal"]])(
  "%s is a name for trying things out, and nobody is asked about it",
  async (mailDomain) => {
    const findings = await checkDns({ ...facts, mailDomain }, askOf({}));
    expect(findings.map(({ level, check }) => `${level} ${check}`)).toEqual(["warn dns"]);
  },
);

test("name servers that answer that there is no such record are well, and silent ones are not", async () => {
  expect(await checkResolver(askOf({}))).toMatchObject([{ check: "dns resolver", level: "ok" }]);
  const silent = askOf({ "NS com": { kind: "unknown", reason: "no answer in time" } });
  expect(await checkResolver(silent)).toMatchObject([
    { check: "dns resolver", level: "warn", seen: expect.stringContaining("no answer in time") },
  ]);
});
