import { describe, expect, test } from "bun:test";
import { sealMessage } from "mailauth/lib/arc";
import type { Authentication } from "../../../src/domain/receive/authentication.ts";
import type { AuthenticationStep } from "../../../src/mail/authenticate/authenticate.ts";
import type { Resolve } from "../../../src/mail/authenticate/questions.ts";
import { type Arrival, authenticated, recordsIn, remembering } from "../../support/authenticating.ts";
import { mailOf } from "../../support/mail.ts";
import { rsaKey, signedBy } from "../../support/signed-mail.ts";

const key = rsaKey();
const mail = (from = "jane@example.com") => mailOf({ from, headers: ["To: ada@inbox.example"] });

describe("the domain in From is proven", () => {
  const spf = "example.com TXT v=spf1 ip4:192.0.2.9 -all";
  const rows: readonly [says: string, zone: string, from: string, envelope: string, want: Partial<Flat>][] = [
    [
      "by SPF of the same domain",
      spf,
      "jane@example.com",
      "b@example.com",
      { verdict: "pass", dmarc: "none", aligned: true },
    ],
    [
      "by SPF of a subdomain, without a policy",
      "b.example.com TXT v=spf1 +all",
      "jane@example.com",
      "x@b.example.com",
      { verdict: "pass", dmarc: "none", aligned: true },
    ],
    [
      "by SPF of a subdomain, as its policy allows",
      "b.example.com TXT v=spf1 +all\n_dmarc.example.com TXT v=DMARC1; p=reject",
      "jane@example.com",
      "x@b.example.com",
      { verdict: "pass", dmarc: "pass", policy: "reject", aligned: true },
    ],
    [
      "not by SPF of a subdomain, where its policy is strict",
      "b.example.com TXT v=spf1 +all\n_dmarc.example.com TXT v=DMARC1; p=reject; aspf=s",
      "jane@example.com",
      "x@b.example.com",
      { verdict: "fail", dmarc: "fail", policy: "reject", aligned: false },
    ],
    [
      "by SPF of the domain above",
      `${spf}\n_dmarc.example.com TXT v=DMARC1; p=none`,
      "jane@news.example.com",
      "b@example.com",
      { verdict: "pass", dmarc: "pass", policy: "none", aligned: true },
    ],
    [
      "by SPF of a sister domain",
      "a.example.com TXT v=spf1 +all\n_dmarc.example.com TXT v=DMARC1; p=quarantine; sp=reject",
      "jane@b.example.com",
      "x@a.example.com",
      { verdict: "pass", dmarc: "pass", policy: "reject", aligned: true },
    ],
    [
      "not by SPF of another customer below a public suffix, without a policy",
      "evil.co.uk TXT v=spf1 +all",
      "jane@bank.co.uk",
      "x@evil.co.uk",
      { verdict: "none", dmarc: "none", aligned: false },
    ],
    [
      "not by SPF of another tenant of a host of pages",
      "evil.github.io TXT v=spf1 +all",
      "jane@bank.github.io",
      "x@evil.github.io",
      { verdict: "none", dmarc: "none", aligned: false },
    ],
    [
      "not below a name that says that it is a public suffix",
      "evil.shared.example TXT v=spf1 +all\n_dmarc.shared.example TXT v=DMARC1; p=reject; psd=y",
      "jane@bank.shared.example",
      "x@evil.shared.example",
      { verdict: "fail", dmarc: "fail", policy: "reject", aligned: false },
    ],
    [
      "not by a domain that ends alike",
      "evilexample.com TXT v=spf1 +all\n_dmarc.example.com TXT v=DMARC1; p=reject",
      "jane@example.com",
      "x@evilexample.com",
      { verdict: "fail", dmarc: "fail", policy: "reject", aligned: false },
    ],
    [
      "not where SPF fails softly",
      "example.com TXT v=spf1 ~all\n_dmarc.example.com TXT v=DMARC1; p=none",
      "jane@example.com",
      "b@example.com",
      { verdict: "fail", spf: "softfail", dmarc: "fail", policy: "none", aligned: true },
    ],
    [
      "by nothing, and nothing is published",
      "",
      "jane@example.com",
      "b@example.com",
      { verdict: "none", spf: "none", dmarc: "none", aligned: true },
    ],
    [
      "not with a policy that only tests, which counts one step lower",
      "_dmarc.example.com TXT v=DMARC1; p=reject; t=y",
      "jane@example.com",
      "b@example.com",
      { verdict: "fail", dmarc: "fail", policy: "quarantine", aligned: true },
    ],
    [
      "not with a policy for names that do not exist",
      "_dmarc.example.com TXT v=DMARC1; p=none; np=reject",
      "jane@no.example.com",
      "b@other.example",
      { verdict: "fail", dmarc: "fail", policy: "reject", aligned: false },
    ],
    [
      "with two policies, which count as none",
      `${spf}\n_dmarc.example.com TXT v=DMARC1; p=reject\n_dmarc.example.com TXT v=DMARC1; p=none`,
      "jane@example.com",
      "b@example.com",
      { verdict: "pass", dmarc: "none", policy: null, aligned: true },
    ],
    [
      "of 20 labels, by its tree",
      "_dmarc.example.com TXT v=DMARC1; p=reject\na.example.com TXT v=spf1 +all",
      `jane@${"x.".repeat(18)}example.com`,
      "b@a.example.com",
      { verdict: "pass", dmarc: "pass", policy: "reject", aligned: true },
    ],
    [
      "by SPF although its policy is not known",
      `${spf}\n_dmarc.example.com TXT TIMEOUT`,
      "jane@example.com",
      "b@example.com",
      { verdict: "pass", dmarc: "temperror", aligned: true },
    ],
    [
      "perhaps, if SPF of a subdomain passes and its policy is not known",
      "b.example.com TXT v=spf1 +all\n_dmarc.example.com TXT TIMEOUT",
      "jane@example.com",
      "x@b.example.com",
      { verdict: "temperror", spf: "pass", dmarc: "temperror", aligned: false },
    ],
    [
      "perhaps, if its policy is not known",
      "_dmarc.example.com TXT TIMEOUT",
      "jane@example.com",
      "b@evil.example",
      { verdict: "temperror", dmarc: "temperror", aligned: false },
    ],
    [
      "perhaps, if its SPF is not known",
      "example.com TXT TIMEOUT\n_dmarc.example.com TXT v=DMARC1; p=reject",
      "jane@example.com",
      "b@example.com",
      { verdict: "temperror", spf: "temperror", dmarc: "temperror", aligned: true },
    ],
    [
      "not, if only the SPF of a stranger is not known",
      "evil.example TXT TIMEOUT\n_dmarc.example.com TXT v=DMARC1; p=reject",
      "jane@example.com",
      "b@evil.example",
      { verdict: "fail", spf: "temperror", dmarc: "fail", aligned: false },
    ],
    [
      "for a name in letters, by its A-labels",
      "xn--bcher-kva.example TXT v=spf1 +all",
      "jane@bücher.example",
      "b@bücher.example",
      { verdict: "pass", dmarc: "none", aligned: true },
    ],
  ];
  test.each(rows)("%s", async (_says, zone, from, envelope, want) => {
    expect(flat(await authenticated(mail(from), zone, { from: envelope }))).toMatchObject(want);
  });

  test("by a signature of it, whatever the envelope says", async () => {
    const zone = `s1._domainkey.example.com TXT ${key.record}\n_dmarc.example.com TXT v=DMARC1; p=reject`;
    const signed = signedBy(key, mail());
    expect(flat(await authenticated(signed, zone, { from: "b@evil.example" }))).toMatchObject({ verdict: "pass" });
  });

  test("not by a signature of a stranger", async () => {
    const zone = `s1._domainkey.evil.example TXT ${key.record}\n_dmarc.example.com TXT v=DMARC1; p=reject`;
    const { verdict, dkim } = await authenticated(signedBy(key, mail(), { d: "evil.example" }), zone);
    expect({ verdict, dkim }).toEqual({
      verdict: "fail",
      dkim: [{ result: "pass", domain: "evil.example", selector: "s1", aligned: false }],
    });
  });
});

interface Flat {
  verdict: string;
  spf: string;
  aligned: boolean;
  dmarc: string;
  policy: string | null;
}

function flat({ verdict, spf, dmarc }: Authentication): Flat {
  return { verdict, spf: spf.result, aligned: spf.aligned, dmarc: dmarc.result, policy: dmarc.policy };
}

describe("SPF", () => {
  test("of a bounce is that of the client's name", async () => {
    const { spf } = await authenticated(mail(), "mail.example.com TXT v=spf1 +all", { from: "" });
    expect(spf).toEqual({ result: "pass", domain: "mail.example.com", aligned: true });
  });

  test.each(["", "[192.0.2.9]", "localhost"])("of a bounce from a client named %p is none", async (heloName) => {
    const { spf } = await authenticated(mail(), "", { from: "", client: { heloName } });
    expect(spf.result).toBe("none");
  });

  test("is none if the address of the client is unknown, and the verdict goes by DKIM", async () => {
    const zone = `s1._domainkey.example.com TXT ${key.record}\nexample.com TXT v=spf1 -all`;
    const arrival: Arrival = { client: { address: undefined } };
    const unsigned = await authenticated(mail(), zone, arrival);
    expect([unsigned.spf, unsigned.clientAddress]).toEqual([{ result: "none", domain: null, aligned: false }, null]);
    expect((await authenticated(signedBy(key, mail()), zone, arrival)).verdict).toBe("pass");
  });

  test("of an address with a zone is none", async () => {
    const { spf } = await authenticated(mail(), "example.com TXT v=spf1 -all", { client: { address: "fe80::1%eth0" } });
    expect(spf.result).toBe("none");
  });

  test("of an IPv4 address in the form of IPv6 is that of the IPv4 address", async () => {
    const { spf } = await authenticated(mail(), "example.com TXT v=spf1 ip4:192.0.2.9 -all", {
      client: { address: "::ffff:192.0.2.9" },
    });
    expect(spf.result).toBe("pass");
  });
});

describe("an Authentication-Results field", () => {
  const written = (value: string, more = "") => `Authentication-Results: ${value}\r\n${more}${mail()}`;
  const trusted: Arrival = { client: { isTrusted: true }, settings: { trustedAuthservIds: ["mx.relay.example"] } };
  const pass =
    "mx.relay.example; spf=pass (it said so) smtp.mailfrom=b@bounce.example.com; dkim=pass header.d=example.com";
  const zone = "example.com TXT v=spf1 -all\n_dmarc.example.com TXT v=DMARC1; p=reject";

  test("of a trusted relay gives SPF", async () => {
    const { verdict, source, spf, dkim } = await authenticated(written(pass), zone, trusted);
    expect({ verdict, source, spf, dkim }).toEqual({
      verdict: "pass",
      source: "upstream",
      spf: { result: "pass", domain: "bounce.example.com", aligned: true },
      dkim: [],
    });
  });

  const rows: readonly [says: string, raw: string, arrival: Arrival][] = [
    ["of a stranger is ignored", written(pass), { settings: trusted.settings ?? {} }],
    ["of a trusted relay with a name that is not trusted is ignored", written(pass), { client: { isTrusted: true } }],
    ["with another name is ignored", written(pass.replace("mx.", "my.")), trusted],
    [
      "with the trusted name in a comment is ignored",
      written(`evil.example (mx.relay.example; spf=pass); spf=none`),
      trusted,
    ],
    ["below the second hop is ignored", `Received: by a; x\r\nReceived: by b; x\r\n${written(pass)}`, trusted],
    [
      "below one that says that it failed is ignored",
      `${written("mx.relay.example; spf=fail smtp.mailfrom=b@example.com").split(mail())[0]}${written(pass)}`,
      trusted,
    ],
    ["without a result of SPF is ignored", written("mx.relay.example; dkim=pass header.d=example.com"), trusted],
    [
      "of a trusted relay about another domain proves nothing",
      written(pass.replace("bounce.example.com", "evil.example")),
      trusted,
    ],
  ];
  test.each(rows)("%s", async (_says, raw, arrival) => {
    expect((await authenticated(raw, zone, { ...arrival, from: "b@example.com" })).verdict).toBe("fail");
  });
});

describe("a chain of ARC", () => {
  const policy = "_dmarc.example.com TXT v=DMARC1; p=reject";
  const keys = (...domains: string[]) =>
    [policy, ...domains.map((domain) => `arc._domainkey.${domain} TXT ${key.record}`)].join("\n");
  const passed = "dmarc=pass header.from=example.com";

  async function sealed(raw: string, domain: string, results: string, cv = "none"): Promise<string> {
    const headers = await sealMessage(Buffer.from(raw), {
      signingDomain: domain,
      selector: "arc",
      privateKey: key.privateKeyPem,
      authResults: `mx.${domain}; ${results}`,
      cv,
      signTime: new Date("2026-03-01T00:00:00Z"),
    });
    return `${headers.toString()}${raw}`;
  }

  const trusting = (...trustedSealers: string[]): Arrival => ({ from: "b@list.example", settings: { trustedSealers } });

  test("of a trusted sealer that saw the mail pass makes it pass", async () => {
    const raw = await sealed(mail(), "list.example", passed);
    const { verdict, source, arc, dmarc } = await authenticated(raw, keys("list.example"), trusting("list.example"));
    expect({ verdict, source, arc, dmarc }).toEqual({
      verdict: "pass",
      source: "arc",
      arc: { result: "pass", sealers: ["list.example"] },
      dmarc: { result: "fail", policy: "reject" },
    });
  });

  test("of a sealer that is not trusted changes nothing", async () => {
    const raw = await sealed(mail(), "list.example", passed);
    const { verdict, source, arc } = await authenticated(raw, keys("list.example"), trusting("other.example"));
    expect({ verdict, source, arc: arc.result }).toEqual({ verdict: "fail", source: "checked", arc: "pass" });
  });

  test("counts by its last sealer", async () => {
    const first = await sealed(mail(), "list.example", passed);
    const raw = await sealed(first, "second.example", `arc=pass; ${passed}`, "pass");
    const zone = keys("list.example", "second.example");
    const { verdict, arc } = await authenticated(raw, zone, trusting("second.example"));
    expect([verdict, arc]).toEqual(["pass", { result: "pass", sealers: ["list.example", "second.example"] }]);
    expect((await authenticated(raw, zone, trusting("list.example"))).verdict).toBe("fail");
  });

  const rows: readonly [says: string, change: (raw: string) => string, result: string][] = [
    ["whose mail was changed fails", (raw) => raw.replace("Hello Ada", "Hello Bob"), "fail"],
    ["whose results were changed fails", (raw) => raw.replace("dmarc=pass", "dmarc=none"), "fail"],
    ["whose seal was changed fails", (raw) => raw.replace("cv=none", "cv=pass"), "fail"],
    ["without its seal fails", (raw) => raw.replace(/^ARC-Seal:(?:.*\r\n)(?:[ \t].*\r\n)*/m, ""), "fail"],
    [
      "without its message signature fails",
      (raw) => raw.replace(/^ARC-Message-Signature:(?:.*\r\n)(?:[ \t].*\r\n)*/m, ""),
      "fail",
    ],
    [
      "with a field twice fails",
      (raw) => raw.replace(/^(ARC-Authentication-Results:.*\r\n(?:[ \t].*\r\n)*)/m, "$1$1"),
      "fail",
    ],
    ["with 70 KB of fields is not read", (raw) => `ARC-Seal: ${"x".repeat(70_000)}\r\n${raw}`, "fail"],
  ];
  test.each(rows)("%s", async (_says, change, result) => {
    const raw = change(await sealed(mail(), "list.example", passed));
    const { arc, verdict } = await authenticated(raw, keys("list.example"), trusting("list.example"));
    expect([arc.result, verdict]).toEqual([result, "fail"] as never);
  });

  test.each(["dmarc=fail header.from=example.com", "dmarc=pass header.from=evil.example", "dmarc=pass", "spf=pass"])(
    "that says %p vouches for nothing",
    async (results) => {
      const raw = await sealed(mail(), "list.example", results);
      const { arc, verdict } = await authenticated(raw, keys("list.example"), trusting("list.example"));
      expect([arc.result, verdict]).toEqual(["pass", "fail"]);
    },
  );

  test("whose keys are not published fails, and is open if the DNS does not answer", async () => {
    const raw = await sealed(mail(), "list.example", passed);
    expect((await authenticated(raw, policy, trusting())).arc.result).toBe("fail");
    const open = `${policy}\narc._domainkey.list.example TXT TIMEOUT`;
    expect((await authenticated(raw, open, trusting())).arc.result).toBe("temperror");
  });

  test("with a broken seal is open for each mail whose questions the DNS does not answer", async () => {
    const raw = (await sealed(mail(), "list.example", passed)).replace("dmarc=pass", "dmarc=none");
    const { forget: _forget, ...dns } = remembering(recordsIn(`${keys("list.example")}\nlist.example TXT TIMEOUT`));
    for (const _mail of [1, 2]) {
      const { spf, arc } = await authenticated(raw, "", { ...trusting(), options: dns });
      expect([spf.result, arc.result]).toEqual(["temperror", "temperror"]);
    }
  });
});

describe("the questions about one mail", () => {
  const counted = (zone: string, asked: string[]): Resolve => {
    const resolve = recordsIn(zone);
    return (name, type, signal) => {
      asked.push(`${type} ${name}`);
      return resolve(name, type, signal);
    };
  };

  test("are at most 40, and the policy of From has its own", async () => {
    const asked: string[] = [];
    const hosts = Array.from({ length: 10 }, (_, index) => `mx:m${index}.evil.example`);
    const zone = [
      "_dmarc.example.com TXT v=DMARC1; p=reject",
      `evil.example TXT v=spf1 ${hosts.join(" ")} -all`,
      ...hosts.flatMap((host) =>
        Array.from({ length: 9 }, (_, index) => `${host.slice(3)} MX 1 h${index}.${host.slice(3)}`),
      ),
      ...hosts.flatMap((host) => Array.from({ length: 9 }, (_, index) => `h${index}.${host.slice(3)} A 203.0.113.1`)),
    ].join("\n");
    let raw = mail(`jane@${"x.".repeat(9)}example.com`);
    for (let index = 0; index < 10; index += 1) raw = signedBy(key, raw, { s: `s${index}` });
    const { verdict, spf, dkim } = await authenticated(raw, zone, {
      from: "x@evil.example",
      options: { resolve: counted(zone, asked) },
    });
    expect(asked.length).toBeLessThanOrEqual(40);
    expect(new Set(asked).size).toBe(asked.length);
    expect(asked).toContain("TXT _dmarc.example.com");
    // A key beyond the last question is not accepted, which is no fault of the DNS: the policy still decides.
    expect([verdict, spf.result, new Set(dkim.map(({ result }) => result)).has("temperror")]).toEqual([
      "fail",
      "permerror",
      false,
    ]);
  });

  test("end at the time limit, and what is known by then decides", async () => {
    const zone = recordsIn("_dmarc.example.com TXT v=DMARC1; p=reject");
    const resolve: Resolve = (name, type, signal) =>
      name.endsWith("evil.example")
        ? new Promise((settle) =>
            signal.addEventListener("abort", () => settle({ kind: "unknown", reason: "given up" })),
          )
        : zone(name, type, signal);
    const { verdict, spf } = await authenticated(mail(), "", {
      from: "x@evil.example",
      settings: { timeoutMs: 2000 },
      options: { resolve },
    });
    expect([verdict, spf.result]).toEqual(["fail", "temperror"]);
  });

  test("are none about a signature for a mail without one", async () => {
    const asked: string[] = [];
    await authenticated(mail(), "", { from: "b@example.com", options: { resolve: counted("", asked) } });
    expect(asked.toSorted()).toEqual(["TXT _dmarc.com", "TXT _dmarc.example.com", "TXT example.com"]);
  });
});

test("the steps say how the verdict came about", async () => {
  const steps: AuthenticationStep[] = [];
  const zone = `s1._domainkey.example.com TXT ${key.record}\n_dmarc.example.com TXT v=DMARC1; p=reject`;
  await authenticated(signedBy(key, mail()).replace("Hello Ada", "Hello Bob"), zone, {
    options: { onStep: (step) => steps.push(step) },
  });
  expect(steps.filter(({ part }) => part !== "dns" && part !== "spf")).toEqual([
    { part: "from", subject: "example.com", result: "found", comment: "" },
    { part: "dkim", subject: "s1._domainkey.example.com", result: "fail", comment: "the body was changed" },
    { part: "dmarc", subject: "example.com", result: "fail", comment: "reject" },
  ]);
  expect(steps).toContainEqual({ part: "dns", name: "example.com", type: "TXT", answer: "no such name" });
});
