import { afterAll, beforeAll, expect, test } from "bun:test";
import { inboxdHere, runInboxd } from "../support/inboxd.ts";
import { startWorld, type World } from "../support/world.ts";

/** The commands for scripts, each a process that knows the server by its address and a key alone. */
let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const env = () => ({ INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey });
const run = (...words: string[]) => runInboxd(words, { env: env() });

test("an inbox is made, listed, and refused the second time with code and detail", async () => {
  const made = await run("inbox", "create", "ada", "--external-id", "user-7", "--json");
  expect(made).toMatchObject({ code: 0, stderr: "" });
  const inbox = JSON.parse(made.stdout);
  expect(inbox).toMatchObject({ address: "ada@inbox.localhost", externalId: "user-7" });
  const [again, list, table] = await Promise.all([
    run("inbox", "create", "ada"),
    run("inbox", "list", "--json"),
    run("inbox", "list"),
  ]);
  expect([again.code, again.stdout]).toEqual([1, ""]);
  expect(again.stderr).toBe('address_taken: Cannot create inbox: the address "ada" is taken\n');
  expect(JSON.parse(list.stdout)).toEqual({ data: [inbox], total: 1 });
  expect(table.stdout).toMatch(/^id +address +externalId +createdAt\ninb_\w+ +ada@inbox\.localhost +user-7 /);
});

test("a send by address, with its body from stdin, is one email however often it runs", async () => {
  await world.inbox("sender");
  const words = ["send", "--from", "sender", "--to", "bob@example.com", "--subject", "Hi", "--body", "-", "--json"];
  const send = async () => {
    const child = Bun.spawn([...inboxdHere, ...words, "--key", "once"], {
      env: { PATH: process.env.PATH, ...env() },
      stdin: new Blob(["Hello Bob\n"]),
      stdout: "pipe",
    });
    return JSON.parse(await new Response(child.stdout).text());
  };
  const first = await send();
  expect(first).toMatchObject({ status: "sent", idempotencyKey: "once" });
  expect((await send()).messageId).toBe(first.messageId);

  const [listed, table] = await Promise.all([
    run("messages", "sender@inbox.localhost", "--json"),
    run("messages", "sender", "--limit", "1"),
  ]);
  expect(JSON.parse(listed.stdout)).toMatchObject({
    data: [{ id: first.messageId, bodyText: "Hello Bob\n" }],
    total: 1,
  });
  expect(table.stdout).toMatch(/\n\S+ +outbound +sent +sender@inbox\.localhost +bob@example\.com +Hi +msg_/);
});

test("a reply goes into its thread", async () => {
  const inbox = await world.inbox("replying");
  await world.deliver("From: jane@example.com\r\nSubject: Order\r\n\r\nWhere is it?\r\n", inbox.address);
  const { body } = await world.api(`/v1/inboxes/${inbox.id}/threads`);
  const [{ threadId }] = body.data;
  const to = ["--to", "jane@example.com", "--thread", threadId, "--body", "On its way"];
  const sent = JSON.parse((await run("send", "--from", inbox.id, ...to, "--json")).stdout);
  expect(sent).toMatchObject({ threadId, status: "sent" });
});

test("what a list is asked for reaches the server", async () => {
  const asked: string[] = [];
  const server = Bun.serve({
    port: 0,
    fetch(request) {
      asked.push(request.url.replace(/^.*\/v1/, "/v1"));
      return Response.json({ data: [], total: 0, nextCursor: null });
    },
  });
  const there = { INBOXD_URL: `${server.url.origin}/v1/`, INBOXD_API_KEY: "k" };
  const inbox = "inb_01jpw7z1x2e9a8r5k3m0t6vqhd";
  const { stdout } = await runInboxd(["messages", inbox, "--limit", "7", "--q", "two words"], { env: there });
  expect(stdout).toBe("none\n");
  expect(asked).toEqual([`/v1/inboxes/${inbox}/messages?limit=7&q=two+words`]);
  await server.stop(true);
});

const faults: readonly [what: string, words: string[], env: Record<string, string>, says: RegExp][] = [
  ["no key", ["inbox", "list"], { INBOXD_API_KEY: "" }, /^Cannot ask the server: no API key: /],
  ["a wrong key", ["inbox", "list"], { INBOXD_API_KEY: "wrong" }, /^unauthorized: /],
  ["no server", ["inbox", "list"], { INBOXD_URL: "http://127.0.0.1:9" }, /^Cannot reach http:\/\/127\.0\.0\.1:9: /],
  ["no URL", ["inbox", "list"], { INBOXD_URL: "localhost:3000" }, /^Cannot ask the server: its address must begin /],
  ["an unknown inbox", ["messages", "nobody"], {}, /^Cannot find inbox: the account has no inbox "nobody"\n$/],
  ["a wrong limit", ["inbox", "list", "--limit", "0"], {}, /^invalid_query: Cannot list inboxes: "limit" /],
];

test.concurrent.each(faults)("%s ends a command with code 1 and one line", async (_what, words, more, says) => {
  const { code, stdout, stderr } = await runInboxd(words, { env: { ...env(), ...more } });
  expect(stderr).toMatch(says);
  expect(stderr.trimEnd()).not.toContain("\n");
  expect([code, stdout]).toEqual([1, ""]);
});
