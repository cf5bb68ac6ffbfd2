import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inboxdHere, runInboxd, startInboxd } from "../../support/inboxd.ts";
import { overStdio } from "../../support/mcp.ts";
import { startWorld } from "../../support/world.ts";

function emptyDirectory() {
  const path = mkdtempSync(join(tmpdir(), "ibx-mcp-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

test("with --embedded a model has addresses of its own in an empty directory, and the next run finds them", async () => {
  using directory = emptyDirectory();
  // What a shell has set for other commands leads to no other server.
  const env = { DATA_DIR: join(directory.path, "data"), INBOXD_URL: "http://127.0.0.1:9", INBOXD_API_KEY: "ibx_none" };
  {
    await using model = await overStdio(["--embedded"], env);
    expect(await model.call("list_inboxes")).toEqual({ inboxes: [], total: 0 });
    await model.call("create_inbox", { username: "ada" });
    await model.call("create_inbox", { username: "bob" });
    const { threadId } = await model.call("send_email", {
      inbox: "ada",
      to: "bob@inbox.localhost",
      subject: "Hi",
      body: "Hello Bob",
    });
    const { message } = await model.call("wait_for_message", { inbox: "bob", from: "ada@inbox.localhost" });
    expect(message.text).toContain("Hello Bob");
    expect((await model.call("read_thread", { thread_id: threadId })).messages).toHaveLength(1);
  }
  await using again = await overStdio(["--embedded", "--inbox", "bob", "--read-only"], env, "the handshake of before");
  expect((await again.client.listTools()).tools).toHaveLength(8);
  expect((await again.call("list_threads")).threads).toHaveLength(1);
}, 60_000);

test("stdout has only the protocol, and the key of a first start is never printed", async () => {
  using directory = emptyDirectory();
  const { PATH, HOME } = process.env;
  const child = Bun.spawn([...inboxdHere, "mcp", "--embedded"], {
    env: { PATH, HOME, DATA_DIR: directory.path, LOG_LEVEL: "debug" },
    stdin: new Blob([`${JSON.stringify(initialize)}\n`]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect(code).toBe(0);
  for (const line of stdout.split("\n").filter((text) => text !== "")) expect(JSON.parse(line).jsonrpc).toBe("2.0");
  expect(`${stdout}${stderr}`).not.toMatch(/ibx_|whsec_/);
}, 60_000);

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "tests", version: "1" } },
};

test("with --embedded in the directory of a running server it ends with 3, and explains how to use that server", async () => {
  using directory = emptyDirectory();
  const running = await startInboxd({ cwd: directory.path });
  const held = await runInboxd(["mcp", "--embedded"], { cwd: directory.path });
  await running.stop();
  expect([held.code, held.stdout]).toEqual([3, ""]);
  expect(held.stderr).toMatch(/leave --embedded out and set INBOXD_URL and INBOXD_API_KEY/);
}, 60_000);

test("it does not start with wrong options", async () => {
  using directory = emptyDirectory();
  const wrong: readonly [words: string[], said: string][] = [
    [[], "no API key"],
    [["--embedded", "--tools", "delete_inbox"], "Cannot read --tools: it must be read, or some of list_inboxes"],
    [["--embedded", "--tools", "send_email", "--read-only"], "cannot be used with"],
  ];
  for (const [words, said] of wrong) {
    const { code, stdout, stderr } = await runInboxd(["mcp", ...words], { cwd: directory.path });
    expect([words, code, stdout, stderr]).toEqual([words, 2, "", expect.stringContaining(said)]);
  }
  expect(readdirSync(directory.path)).toEqual([]);
});

test("an unreachable server is a failure with its address, and a wrong key is one of its own", async () => {
  await using world = await startWorld();
  const gone = await overStdio([], { INBOXD_URL: "http://127.0.0.1:1", INBOXD_API_KEY: world.apiKey });
  expect(await gone.failure("list_inboxes")).toMatch(/^service_unavailable: Cannot reach http:\/\/127\.0\.0\.1:1: /);
  await gone[Symbol.asyncDispose]();
  await using wrong = await overStdio([], { INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: "ibx_nobody" });
  expect(await wrong.failure("list_inboxes")).toStartWith("unauthorized:");
});

test("the skill is printed as the server serves it", async () => {
  await using world = await startWorld();
  const { code, stdout } = await runInboxd(["skill"]);
  const served = await world.fetch("/skill.md", { apiKey: null });
  expect([code, served.status, served.headers.get("content-type")]).toEqual([0, 200, "text/markdown; charset=utf-8"]);
  expect(stdout).toBe(await served.text());
});
