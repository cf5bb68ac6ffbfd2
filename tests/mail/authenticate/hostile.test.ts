import { afterAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { type DnsClient, dnsClient } from "../../../src/dns/client.ts";
import { isHeavy, readMail } from "../../../src/mail/authenticate/read-mail.ts";
import { mailParser } from "../../../src/mail/read/parse.ts";
import { authenticated } from "../../support/authenticating.ts";
import { busiest } from "../../support/busy.ts";
import { cpuMs } from "../../support/cpu.ts";
import { mailOf } from "../../support/mail.ts";
import { type DnsScript, scriptedDns } from "../../support/scripted-dns.ts";
import { rsaKey, signedBy } from "../../support/signed-mail.ts";

const parser = mailParser({ mailDomain: "inbox.example" });
afterAll(() => parser.close());

const readApart = (raw: Uint8Array, signal: AbortSignal) => parser.readSignatures(raw, { sender: "", signal });

describe("a heavy mail", () => {
  const signature = (domain: string, form = "simple/simple", more = "") =>
    `DKIM-Signature: v=1; a=rsa-sha256; c=${form}; d=${domain}; s=s1; h=from;${more} bh=AAAA; b=AAAA\r\n`;
  const forms = ["simple/simple", "simple/relaxed", "relaxed/simple", "relaxed/relaxed"];
  const lengths = Array.from({ length: 10 }, (_, index) => signature("example.com", forms[index % 4], ` l=${index};`));

  const rows: readonly [says: string, raw: string, isHeavy: boolean][] = [
    ["has signatures and is big", `${signature("example.com")}${mailOf({ text: "a\r\n".repeat(100_000) })}`, true],
    ["has a long header", `${signature("example.com").repeat(500)}${mailOf()}`, true],
    ["has an endless header", "a\n".repeat(20_000), true],
    ["is not big without signatures", mailOf({ text: "a\r\n".repeat(100_000) }), false],
    ["is not a usual one with a signature", `${signature("example.com")}${mailOf()}`, false],
  ];
  test.each(rows)("%s", (_says, raw, expected) => {
    expect(isHeavy(Buffer.from(raw))).toBe(expected);
  });

  test("is read apart as it is read here", async () => {
    const raw = Buffer.from(signedBy(rsaKey(), mailOf({ text: "a  b\r\n".repeat(100_000) })));
    const apart = await readApart(raw, new AbortController().signal);
    expect(apart?.fromDomain).toBe("example.com");
    const [here] = readMail(raw).signatures;
    const [there] = apart?.signatures ?? [];
    expect(there?.check.kind).toBe("check");
    if (here?.check.kind !== "check" || there?.check.kind !== "check") throw new Error("no check");
    expect(Buffer.from(there.check.signed).equals(Buffer.from(here.check.signed))).toBe(true);
    expect(Buffer.from(there.check.signature).equals(Buffer.from(here.check.signature))).toBe(true);
  });

  test("of 25 MiB passes, read apart", async () => {
    const key = rsaKey();
    const raw = signedBy(key, mailOf({ text: "a  b \t c\r\n \r\n".repeat(2_000_000) }));
    const { verdict } = await authenticated(raw, `s1._domainkey.example.com TXT ${key.record}`, {
      from: "",
      options: { readApart },
      settings: { timeoutMs: 60_000 },
    });
    expect(verdict).toBe("pass");
  });

  test("of 25 MiB with ten signatures in all forms hashes each form once", () => {
    const text = "a  b \t c\r\n \r\n".repeat(2_000_000);
    const timed = (signatures: string) => {
      const raw = Buffer.from(`${signatures}${mailOf({ text })}`);
      const before = cpuMs();
      readMail(raw);
      return cpuMs() - before;
    };
    const two = Math.min(
      ...[1, 2, 3].map(() =>
        timed(
          forms
            .slice(2)
            .map((form) => signature("example.com", form))
            .join(""),
        ),
      ),
    );
    const ten = Math.min(...[1, 2, 3].map(() => timed(lengths.join(""))));
    expect(ten).toBeLessThan(2 * two);
  });

  test("whose reader is killed costs its own verdict", async () => {
    const strict = mailParser({ mailDomain: "inbox.example", timeoutMs: 1 });
    try {
      const raw = `${lengths.join("")}${mailOf({ text: " a\r\n\r\n".repeat(2_000_000) })}`;
      const { verdict, domain } = await authenticated(raw, "example.com TXT v=spf1 +all", {
        options: { readApart: (mail, signal) => strict.readSignatures(mail, { sender: "", signal }) },
        settings: { timeoutMs: 60_000 },
      });
      expect([verdict, domain]).toEqual(["temperror", null]);
    } finally {
      strict.close();
    }
  });

  test("with 500 signatures has 20 of them listed, and keeps nobody waiting", async () => {
    const key = rsaKey();
    const many = Array.from({ length: 500 }, (_, index) => signature(`d${index}.example`, forms[index % 4])).join("");
    const raw = `${many}${signedBy(key, mailOf())}`;
    const zone = `s1._domainkey.example.com TXT ${key.record}`;
    const authenticating = () => authenticated(raw, zone, { from: "", options: { readApart } });
    const { result, busyMs } = await busiest(authenticating);
    const { verdict, dkim } = result;
    expect(busyMs).toBeLessThan(250);
    expect([verdict, dkim.length, dkim[0]?.result]).toEqual(["pass", 20, "pass"]);
  });
});

describe("a hostile DNS", () => {
  const spf = (name: string, data: string) => ({
    name,
    type: "TXT" as const,
    ttl: 0,
    data: data.match(/.{1,250}/g) ?? [""],
  });
  const nothing: DnsScript = () => ({ code: 3 });

  async function asked(script: DnsScript, { timeoutMs = 60_000, tryMs = 30_000 } = {}) {
    const server = await scriptedDns(script);
    const { address, port } = server;
    const dns: DnsClient = dnsClient({
      servers: [{ address, port }],
      now: () => new Date(),
      randomBytes,
      limits: { tryMs, questionMs: 2 * tryMs },
    });
    try {
      const authenticating = () =>
        authenticated(mailOf(), "", { from: "x@evil.example", settings: { timeoutMs }, options: { resolve: dns.ask } });
      const { result, busyMs } = await busiest(authenticating);
      // The server of the test is on this thread too.
      expect(busyMs).toBeLessThan(250);
      return result;
    } finally {
      await dns.close();
      await server.close();
    }
  }

  test("that does not answer leaves the verdict open", async () => {
    const { verdict, spf: found } = await asked(() => "silence", { tryMs: 50 });
    expect([verdict, found.result]).toEqual(["temperror", "temperror"]);
  });

  test("that does not answer about the envelope leaves the rest", async () => {
    const { verdict } = await asked(
      ({ name }) => {
        if (name === "evil.example") return "silence";
        return name === "_dmarc.example.com" ? { answers: [spf(name, "v=DMARC1; p=reject")] } : { code: 3 };
      },
      { timeoutMs: 3000 },
    );
    expect(verdict).toBe("fail");
  });

  test("with aliases in a circle is an error of that name", async () => {
    const { spf: found } = await asked(({ name }) => ({
      answers: [{ name, type: "CNAME", ttl: 0, data: name === "evil.example" ? "a.evil.example" : "evil.example" }],
    }));
    expect(found.result).toBe("temperror");
  });

  test("with 64 KB of terms is judged in a moment", async () => {
    const terms = Array.from({ length: 3700 }, (_, index) => `ip4:10.${index % 250}.0.1`).join(" ");
    const { spf: found } = await asked((question) =>
      question.name === "evil.example" ? { answers: [spf(question.name, `v=spf1 ${terms} -all`)] } : nothing(question),
    );
    expect(found.result).toBe("fail");
  });

  test.each([
    [500, "none"],
    // A longer answer is not read, and one of 10,000 records has no room in a message.
    [1500, "temperror"],
  ])("with %p TXT records is judged in a moment", async (count, result) => {
    const { spf: found } = await asked((question) =>
      question.name === "evil.example"
        ? { answers: Array.from({ length: count }, (_, index) => spf(question.name, `n${index}`)) }
        : nothing(question),
    );
    expect(found.result).toBe(result as "none");
  });

  test("asked for a name of the client's making ends with the time limit", async () => {
    const { verdict, spf: found } = await asked(
      ({ name }) => {
        if (name === "evil.example") return { answers: [spf(name, "v=spf1 exists:%{i}.%{l}.evil.example -all")] };
        if (name.endsWith("evil.example")) return "silence";
        return name === "_dmarc.example.com" ? { answers: [spf(name, "v=DMARC1; p=reject")] } : { code: 3 };
      },
      { timeoutMs: 3000 },
    );
    expect([verdict, found.result]).toEqual(["fail", "temperror"]);
  });
});
