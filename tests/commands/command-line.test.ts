import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { runInboxd } from "../support/inboxd.ts";

const directory = mkdtempSync(join(tmpdir(), "ibx-cli-"));
afterAll(() => rmSync(directory, { recursive: true }));

const listening = (...words: string[]) => ["listen", "--api-key", "k", "--forward-to", "http://127.0.0.1:9/", ...words];

const usage: readonly [what: string, words: string[], code: number, says: RegExp][] = [
  ["help", ["help"], 0, /serve.*\n(?:.*\n)*.*account/],
  ["help of a command", ["help", "account"], 0, /create \[options\] <name>/],
  ["help of a command below another", ["help", "account", "create"], 0, /^Usage: inboxd account create/],
  ["help of a group by itself", ["webhook", "help", "list"], 0, /^Usage: inboxd webhook list/],
  [
    "help of no command",
    ["help", "nonsense"],
    2,
    /^error: unknown command 'nonsense'\n\(--help shows the commands and options\)\n$/,
  ],
  ["help of a slip", ["help", "srve"], 2, /^error: unknown command 'srve'\n\(Did you mean serve\?\)\n/],
  [
    "help of a slip in a group",
    ["webhook", "help", "lst"],
    2,
    /^error: unknown command 'lst'\n\(Did you mean list\?\)\n/,
  ],
  ["help of what has no commands", ["help", "version", "please"], 2, /^error: unknown command 'please'\n/],
  ["the version", ["version"], 0, new RegExp(`^version +${RegExp.escape(manifest.version)}\n`)],
  ["-V", ["-V"], 0, new RegExp(`^${RegExp.escape(manifest.version)}\n$`)],
  ["no command", [], 2, /Usage: inboxd/],
  ["an unknown command", ["srve"], 2, /^error: unknown command 'srve'\n\(Did you mean serve\?\)\n\(--help [^\n]*\)\n$/],
  ["an unknown option", ["serve", "--port", "3"], 2, /^error: unknown option '--port'\n\(--help [^\n]*\)\n$/],
  ["a missing argument", ["account", "create"], 2, /missing required argument 'name'/],
  ["an argument too many", ["version", "please"], 2, /too many arguments/],
  ["a plan that there is not", ["account", "create", "b", "--plan", "gold"], 2, /choices are free, developer, enter/],
  ["an overlap that is none", ["webhook", "rotate", "--overlap-seconds", "-1"], 2, /must be 0 to 604800 whole seconds/],
  ["a webhook that is none", ["webhook", "set", "ftp://x.example"], 2, /It must start with https:\/\/ or http:\/\//],
  [
    "a target that is none",
    ["listen", "--api-key", "k", "--forward-to", "x"],
    2,
    /must be an address that begins with/,
  ],
  ["a short secret", listening("--secret", "short"), 2, /^Cannot sign events: --secret must have at least/],
  ["a listener of no server", ["demo", "--smtp", "127.0.0.1:25"], 2, /--smtp without --url/],
  [
    "a listener at no port",
    ["demo", "--url", "http://127.0.0.1:9", "--api-key", "k", "--smtp", "x:99999"],
    2,
    /HOST:PORT/,
  ],
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
  ["demo", ["--api-key"]],
  ["listen", ["--api-key", "--secret"]],
])("the help of %s says that others see a secret that is an argument", async (command, options) => {
  const { stdout } = await runInboxd(["help", command], { cwd: directory });
  const told = stdout.replace(/\s+/g, " ");
  for (const option of options) {
    expect(told).toMatch(
      new RegExp(`${option} <\\w+> [^<]*other users of this machine can see arguments[^<]*env: INBOXD_`),
    );
  }
});

const readers: readonly string[][] = [
  ["account", "list"],
  ["key", "create"],
  ["key", "list"],
  ["key", "revoke", "key_0"],
  ["webhook", "show"],
  ["webhook", "set", "https://hooks.example/"],
  ["webhook", "rotate"],
  ["export", "everything.jsonl"],
  ["export", "-"],
];

test("commands that need data report before the first start that there is none, and create nothing", async () => {
  const empty = mkdtempSync(join(directory, "empty-"));
  for (const words of readers) {
    const { code, stdout, stderr } = await runInboxd(words, { cwd: empty });
    expect([code, stdout]).toEqual([1, ""]);
    const command = words.slice(0, words[0] === "export" ? 1 : 2).join(" ");
    expect(stderr).toStartWith(
      `Cannot run "${command}": there is no database in ${join(empty, "data")}; the first start of`,
    );
  }
  for (const words of [["doctor"], ["config"], ["healthcheck"], ["import", "nothing.jsonl"]]) {
    await runInboxd(words, { cwd: empty, env: { PORT: "0", SMTP_PORT: "0" } });
  }
  expect(readdirSync(empty)).toEqual([]);
});

test("a database before its first start has no account, and the message names the commands that create one", async () => {
  const env = { DATA_DIR: mkdtempSync(join(directory, "migrated-")) };
  expect(await runInboxd(["migrate"], { env })).toMatchObject({ code: 0, stderr: "" });
  const { code, stdout, stderr } = await runInboxd(["key", "create"], { env });
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toBe(
    'Cannot find account: there is none yet: the first start of "inboxd serve" makes one, and so does "inboxd account create <name>"\n',
  );
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

test("config prints the current settings, with secrets masked, for people and for scripts", async () => {
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

test("a health check fails if nothing listens", async () => {
  const unused = Bun.serve({ port: 0, fetch: () => new Response() });
  const env = { PORT: String(unused.port) };
  await unused.stop(true);
  const { code, stderr } = await runInboxd(["healthcheck"], { cwd: directory, env });
  expect([code, stderr]).toEqual([1, `Not ready: 127.0.0.1:${env.PORT}: nothing listens there\n`]);
});

test("a health check prints why the service is not ready", async () => {
  const draining = Bun.serve({
    port: 0,
    fetch: () => Response.json({ detail: "Cannot serve: the service is shutting down" }, { status: 503 }),
  });
  const { code, stderr } = await runInboxd(["healthcheck"], { cwd: directory, env: { PORT: String(draining.port) } });
  expect([code, stderr]).toEqual([1, "Not ready: Cannot serve: the service is shutting down\n"]);
  await draining.stop(true);
});
