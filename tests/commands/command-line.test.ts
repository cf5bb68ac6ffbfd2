import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { runInboxd } from "../support/inboxd.ts";

const directory = mkdtempSync(join(tmpdir(), "ibx-cli-"));
afterAll(() => rmSync(directory, { recursive: true }));

const usage: readonly [what: string, words: string[], code: number, says: RegExp][] = [
  ["help", ["help"], 0, /serve.*\n(?:.*\n)*.*account/],
  ["help of a command", ["help", "account"], 0, /create \[options\] <name>/],
  ["the version", ["version"], 0, new RegExp(`^version +${RegExp.escape(manifest.version)}\n`)],
  ["-V", ["-V"], 0, new RegExp(`^${RegExp.escape(manifest.version)}\n$`)],
  ["no command", [], 2, /Usage: inboxd/],
  ["an unknown command", ["srve"], 2, /unknown command 'srve'/],
  ["an unknown option", ["serve", "--port", "3"], 2, /unknown option '--port'/],
  ["a missing argument", ["account", "create"], 2, /missing required argument 'name'/],
  ["an argument too many", ["version", "please"], 2, /too many arguments/],
];

test.concurrent.each(usage)("%s", async (_what, words, code, says) => {
  const finished = await runInboxd(words, { cwd: directory });
  expect(finished.stdout + finished.stderr).toMatch(says);
  expect(finished.code).toBe(code);
  // What was asked for is on stdout, what went wrong on stderr.
  expect(code === 0 ? finished.stderr : finished.stdout).toBe("");
});

test.each([
  ["send", ["--api-key"]],
  ["demo", ["--api-key", "--secret"]],
  ["listen", ["--api-key", "--secret"]],
])("the help of %s says that others see a secret that is an argument", async (command, options) => {
  const { stdout } = await runInboxd(["help", command], { cwd: directory });
  const told = stdout.replace(/\s+/g, " ");
  for (const option of options) {
    expect(told).toMatch(new RegExp(`${option} <\\w+> [^<]*others on this machine can see arguments[^<]*env: INBOXD_`));
  }
});

test("wrong settings are named all at once, by every command that reads them", async () => {
  const env = { PORT: "http", DATABASE_URL: "mysql://hunter2@db.example", PLAN: "gold" };
  const commands = [["serve"], ["config"], ["migrate"], ["account", "list"], ["healthcheck"]];
  const finished = await Promise.all(commands.map((words) => runInboxd(words, { cwd: directory, env })));
  for (const [index, { code, stdout, stderr }] of finished.entries()) {
    expect([commands[index], code, stdout]).toEqual([commands[index], 2, ""]);
    expect(stderr).toMatch(/^Cannot start: .*\n(?:.*\n)* +PORT: .*\n(?:.*\n)* +PLAN: /);
    expect(stderr).toContain("DATABASE_URL: ");
    expect(stderr).not.toContain("hunter2");
  }
});

test("config prints what is in force, secrets masked, for people and for scripts", async () => {
  const env = {
    PORT: "8025",
    API_KEY: "ibx_hunter2-hunter2-hunter2",
    DATABASE_URL: "postgres://a:hunter2@db.example/x",
  };
  const people = await runInboxd(["config"], { cwd: directory, env });
  expect(people).toMatchObject({ code: 0, stderr: "" });
  expect(people.stdout).toMatch(/^PORT +8025$/m);
  expect(people.stdout).toMatch(/^API_KEY +\*\*\*$/m);
  const script = await runInboxd(["config", "--json"], { cwd: directory, env });
  expect(JSON.parse(script.stdout)).toMatchObject({ PORT: 8025, API_KEY: "***", BASE_URL: "http://127.0.0.1:8025" });
  expect(people.stdout + script.stdout).not.toContain("hunter2");
});

test("a health check fails where nothing listens", async () => {
  const unused = Bun.serve({ port: 0, fetch: () => new Response() });
  const env = { PORT: String(unused.port) };
  await unused.stop(true);
  const { code, stderr } = await runInboxd(["healthcheck"], { cwd: directory, env });
  expect([code, stderr]).toEqual([1, expect.stringContaining("Not ready: ")]);
});

test("a health check says why the service is not ready", async () => {
  const draining = Bun.serve({
    port: 0,
    fetch: () => Response.json({ detail: "Cannot serve: the service is shutting down" }, { status: 503 }),
  });
  const { code, stderr } = await runInboxd(["healthcheck"], { cwd: directory, env: { PORT: String(draining.port) } });
  expect([code, stderr]).toEqual([1, "Not ready: Cannot serve: the service is shutting down\n"]);
  await draining.stop(true);
});
