import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemdUnit } from "../../src/commands/systemd.ts";
import { runInboxd } from "../support/inboxd.ts";

const options = { user: "inboxd", envFile: "/etc/inboxd/inboxd.env", dataDir: "/var/lib/inboxd" };

/** The directives in force: a comment is none. */
function directives(unit: string): Map<string, string> {
  const lines = unit.split("\n").filter((line) => /^[A-Z]\w*=/.test(line));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}

test("the unit takes its settings from a file and may listen on port 25, without being root", () => {
  const unit = directives(systemdUnit(["/usr/local/bin/inboxd"], options));
  expect(unit.get("ExecStart")).toBe("/usr/local/bin/inboxd serve");
  expect(unit.get("EnvironmentFile")).toBe("/etc/inboxd/inboxd.env");
  expect(unit.get("User")).toBe("inboxd");
  expect(unit.get("AmbientCapabilities")).toBe("CAP_NET_BIND_SERVICE");
  expect(unit.get("ExecReload")).toBe("/bin/kill -HUP $MAINPID");
});

test("memory may be executable, since Bun compiles as it runs", () => {
  expect(directives(systemdUnit(["/usr/local/bin/inboxd"], options)).has("MemoryDenyWriteExecute")).toBe(false);
});

test("a stop waits longer than the service needs for running work", () => {
  expect(Number(directives(systemdUnit(["/bin/inboxd"], options)).get("TimeoutStopSec"))).toBeGreaterThan(25);
});

test("wrong settings are not tried again", () => {
  expect(directives(systemdUnit(["/bin/inboxd"], options)).get("RestartPreventExitStatus")).toBe("2");
});

test("a data directory elsewhere is writable", () => {
  const inState = directives(systemdUnit(["/bin/inboxd"], options));
  expect([inState.get("StateDirectory"), inState.get("ReadWritePaths")]).toEqual(["inboxd", undefined]);
  const elsewhere = directives(systemdUnit(["/bin/inboxd"], { ...options, dataDir: "/srv/mail" }));
  expect([elsewhere.get("StateDirectory"), elsewhere.get("ReadWritePaths")]).toEqual([undefined, "/srv/mail"]);
});

test("a path with a space is one word", () => {
  const unit = directives(systemdUnit(["/opt/my apps/bun", "/opt/100%/main.ts"], options));
  expect(unit.get("ExecStart")).toBe('"/opt/my apps/bun" /opt/100%%/main.ts serve');
});

describe.skipIf(Bun.which("systemd-analyze") === null)("systemd", () => {
  test("reads the printed unit without a complaint", async () => {
    const directory = mkdtempSync(join(tmpdir(), "ibx-unit-"));
    const path = join(directory, "inboxd.service");
    const { stdout, code } = await runInboxd(["systemd", "--user", "root"]);
    expect(code).toBe(0);
    writeFileSync(path, stdout);
    const verify = Bun.spawn(["systemd-analyze", "verify", "--man=no", path], { stdout: "pipe", stderr: "pipe" });
    const said = await new Response(verify.stderr).text();
    rmSync(directory, { recursive: true });
    expect(said.split("\n").filter((line) => line.includes("inboxd.service"))).toEqual([]);
    expect(await verify.exited).toBe(0);
  }, 30_000);
});

test("the zone of the mail domain is printed, with the addresses that are given", async () => {
  const env = { MAIL_DOMAIN: "in.ada.works", SMTP_HOSTNAME: "mx.ada.works", OUTBOUND: "direct" };
  const text = await runInboxd(["dns", "--ip", "8.8.4.4"], { env });
  expect(text.stdout).toContain("in.ada.works. 3600 IN MX 10 mx.ada.works.\nmx.ada.works. 3600 IN A 8.8.4.4\n");
  const json = await runInboxd(["dns", "--ip", "8.8.4.4", "--json"], { env });
  expect(JSON.parse(json.stdout)[0]).toEqual({ name: "in.ada.works", type: "MX", value: "10 mx.ada.works." });
  const wrong = await runInboxd(["dns", "--ip", "example"], { env });
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain("It must be an IPv4 or IPv6 address");
}, 30_000);
