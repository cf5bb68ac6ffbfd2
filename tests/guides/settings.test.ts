import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../src/config.ts";
import { blocksOf } from "../support/documentation.ts";
import { runInboxd } from "../support/inboxd.ts";

const guide = (name: string) => readFileSync(join(import.meta.dir, `../../docs/${name}.md`), "utf8");
const settingsOf = (text: string): Record<string, string> =>
  Object.fromEntries(text.split("\n").flatMap((line) => (line === "" ? [] : [line.split(/=(.*)/s).slice(0, 2)])));
const blocksIn = (name: string, language: string) =>
  blocksOf(guide(name)).flatMap((block) => (block.language === language ? [block.text] : []));

describe("The settings of each relay", () => {
  const relays = blocksIn("relays", "ini").map((text) => settingsOf(text));

  test("are there for three relays, as the service reads them", () => {
    const read = relays.map((env) => readConfig(env));
    expect(read.map(({ outbound, relayNotices }) => [outbound.kind, relayNotices?.provider])).toEqual([
      ["smtp", "ses"],
      ["smtp", "postmark"],
      ["smtp", "mailgun"],
    ]);
    expect(read[0]?.outbound).toMatchObject({ login: { password: "BPassw0rd/Of+Smtp" } });
    expect(read[2]?.outbound).toMatchObject({ login: { user: "postmaster@agents.example.com" } });
  });

  test("make the SPF record that the guide names", async () => {
    const said = Array.from(guide("relays").matchAll(/The SPF record is `([^`]+)`/g), ([, record]) => record);
    const printed = await Promise.all(
      relays.map(async (env) => JSON.parse((await runInboxd(["dns", "--json"], { env })).stdout)),
    );
    const records = printed.map(
      (zone) => zone.find(({ value }: { value: string }) => value.startsWith("v=spf1")).value,
    );
    expect(said).toEqual(records);
  }, 60_000);
});

describe("On a VPS", () => {
  const env = settingsOf(blocksIn("vps", "ini")[0] ?? "");

  test("the settings are as the service reads them, except the files that they name", () => {
    const { DKIM_KEY, DKIM_SELECTOR, ...others } = env;
    expect([DKIM_KEY, DKIM_SELECTOR]).toEqual(["/etc/inboxd/dkim.pem", "inboxd1"]);
    expect(readConfig(others)).toMatchObject({
      smtpPort: 25,
      mailDomain: "agents.example.com",
      allowPrivateWebhooks: false,
    });
  });

  test("the DNS has the records that the command prints", async () => {
    const { DKIM_KEY: _, DKIM_SELECTOR: __, ...others } = env;
    const { stdout } = await runInboxd(["dns", "--ip", "192.0.2.10"], { env: others });
    const [records = ""] = blocksIn("vps", "zone");
    expect(stdout.split("\n").filter((line) => /^[^;]/.test(line))).toEqual(records.trim().split("\n"));
  }, 60_000);

  const hasCaddy = Bun.which("caddy") !== null;
  if (!hasCaddy) console.log("Skipped: the Caddyfile of the guide, since this machine has no caddy");
  test.skipIf(!hasCaddy)("Caddy takes its file", async () => {
    const stdin = new Blob(blocksIn("vps", "caddy"));
    const child = Bun.spawn(["caddy", "adapt", "--config", "-", "--adapter", "caddyfile", "--validate"], { stdin });
    expect(await child.exited).toBe(0);
  });

  test("a renewed certificate is copied once", async () => {
    const directory = mkdtempSync(join(tmpdir(), "ibx-vps-"));
    const etc = join(directory, "etc");
    const caddy = join(directory, "mx.agents.example.com");
    for (const made of [etc, caddy]) mkdirSync(made);
    const [script = ""] = blocksIn("vps", "sh");
    const here = script
      .replace(/^from=.*\/\$name$/m, `from='${directory}'/$name`)
      .replaceAll("/etc/inboxd", etc)
      .replaceAll("-g inboxd", `-g ${process.getgid?.()}`);
    expect(here).not.toBe(script);
    const run = async () => {
      expect(await Bun.spawn(["sh", "-c", here], { stderr: "inherit" }).exited).toBe(0);
      return statSync(join(etc, "mx.crt"), { bigint: true }).mtimeNs;
    };
    const renew = (text: string) => {
      for (const kind of ["crt", "key"]) writeFileSync(join(caddy, `mx.agents.example.com.${kind}`), `${text} ${kind}`);
    };
    renew("first");
    const copiedAt = await run();
    expect(await run()).toBe(copiedAt);
    renew("second");
    await run();
    expect(readFileSync(join(etc, "mx.key"), "utf8")).toBe("second key");
    expect(readFileSync(join(etc, "mx.crt"), "utf8")).toBe("second crt");
    expect((statSync(join(etc, "mx.key")).mode & 0o777).toString(8)).toBe("440");
    rmSync(directory, { recursive: true });
  });
});
