import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInboxd } from "../support/inboxd.ts";
import { mailOf } from "../support/mail.ts";
import { type ScriptedDns, scriptedDns, zone } from "../support/scripted-dns.ts";
import { rsaKey, signedBy } from "../support/signed-mail.ts";

const directory = mkdtempSync(join(tmpdir(), "ibx-authenticate-"));
const path = join(directory, "mail.eml");
const key = rsaKey();
let dns: ScriptedDns;

beforeAll(async () => {
  writeFileSync(path, signedBy(key, mailOf()));
  const text = (name: string, data: string) => ({
    name,
    type: "TXT" as const,
    ttl: 0,
    data: data.match(/.{1,200}/g) ?? [],
  });
  dns = await scriptedDns(
    zone([
      text("example.com", "v=spf1 ip4:192.0.2.0/24 -all"),
      text("s1._domainkey.example.com", key.record),
      text("_dmarc.example.com", "v=DMARC1; p=reject"),
    ]),
  );
});

afterAll(async () => {
  await dns.close();
  rmSync(directory, { recursive: true });
});

const run = (...more: string[]) =>
  runInboxd(["authenticate", ...more], { cwd: directory, env: { DNS_SERVERS: `${dns.address}:${dns.port}` } });

describe("inboxd authenticate", () => {
  test("says who sent a mail, and why", async () => {
    const sent = ["--ip", "192.0.2.9", "--from", "jane@example.com", "--helo", "mail.example.com"];
    const { code, stdout, stderr } = await run(path, ...sent);
    expect([code, stderr]).toEqual([0, ""]);
    const [verdict, , ...lines] = stdout.split("\n");
    expect(verdict).toBe("pass: example.com sent it");
    const checks = [
      "  From   found  example.com",
      "  SPF    pass   example.com: domain of jane@example.com designates 192.0.2.9 as permitted sender (counts for the domain in From)",
      "  DKIM   pass   s1._domainkey.example.com (counts for the domain in From)",
      "  DMARC  pass   example.com asks to treat other mail as p=reject",
    ];
    expect(lines.slice(0, 4)).toEqual(checks);
    expect(lines.filter((line) => line.startsWith("  TXT")).toSorted()).toEqual([
      expect.stringMatching(/^ {2}TXT {2}_dmarc\.com +no such name$/),
      expect.stringMatching(/^ {2}TXT {2}_dmarc\.example\.com +v=DMARC1; p=reject$/),
      expect.stringMatching(/^ {2}TXT {2}example\.com +v=spf1 ip4:192\.0\.2\.0\/24 -all$/),
      expect.stringMatching(/^ {2}TXT {2}s1\._domainkey\.example\.com +v=DKIM1; k=rsa; p=.*…$/),
    ]);
  });

  test("says what does not fit", async () => {
    writeFileSync(join(directory, "changed.eml"), signedBy(key, mailOf()).replace("Hello Ada", "Hello Bob"));
    const { code, stdout } = await run("changed.eml", "--ip", "203.0.113.1", "--from", "x@other.example");
    expect(code).toBe(0);
    expect(stdout).toContain("fail: example.com does not vouch for it");
    expect(stdout).toMatch(/DKIM +fail +s1\._domainkey\.example\.com: the body was changed/);
    expect(stdout).toMatch(/SPF +none +other\.example: .*\(does not count for the domain in From\)/);
  });

  test("prints JSON, and checks no SPF without the address of the host", async () => {
    const { stdout } = await run(path, "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      authentication: { verdict: "pass", spf: { result: "none" }, clientAddress: null },
      steps: expect.arrayContaining([{ part: "dns", name: "_dmarc.com", type: "TXT", answer: "no such name" }]),
    });
  });

  test("refuses an address that is none, and a file that is not there", async () => {
    expect(await run(path, "--ip", "mail.example.com")).toMatchObject({ code: 2 });
    expect(await run("nowhere.eml")).toMatchObject({ code: 1 });
  });
});
