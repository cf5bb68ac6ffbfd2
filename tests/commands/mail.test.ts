import { afterAll, beforeAll, expect, test } from "bun:test";
import { runInboxd } from "../support/inboxd.ts";
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
  expect(JSON.parse(list.stdout)).toEqual({ data: [inbox], total: 1, nextCursor: null });
  expect(table.stdout).toMatch(
    /^created +address +unread +last +externalId +id\n\S+.* ada@inbox\.localhost +0 +- +user-7 +inb_\w+$/m,
  );
});

test("the options of a list reach the server", async () => {
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

const faults: readonly [what: string, words: string[], env: Record<string, string>, code: number, says: RegExp][] = [
  ["no key", ["inbox", "list"], { INBOXD_API_KEY: "" }, 2, /^Cannot ask the server: no API key: /],
  ["a wrong key", ["inbox", "list"], { INBOXD_API_KEY: "wrong" }, 1, /^unauthorized: /],
  [
    "no server",
    ["inbox", "list"],
    { INBOXD_URL: "http://127.0.0.1:9" },
    1,
    /^Cannot reach http:\/\/127\.0\.0\.1:9: nothing listens there\n$/,
  ],
  ["no URL", ["inbox", "list"], { INBOXD_URL: "localhost:3000" }, 2, /^Cannot ask the server: its address must begin /],
  ["no port", ["inbox", "list"], { INBOXD_URL: "http://127.0.0.1:99999" }, 2, /a port is a number up to 65535\n$/],
  ["an unknown inbox", ["messages", "nobody"], {}, 1, /^Cannot find inbox: the account has no inbox "nobody"\n$/],
  ["a wrong limit", ["inbox", "list", "--limit", "0"], {}, 2, /^invalid_query: Cannot list inboxes: "limit" /],
];

test.concurrent.each(faults)(
  "%s ends a command with its code and one line",
  async (_what, words, more, exits, says) => {
    const { code, stdout, stderr } = await runInboxd(words, { env: { ...env(), ...more } });
    expect(stderr).toMatch(says);
    expect(stderr.trimEnd()).not.toContain("\n");
    expect([code, stdout]).toEqual([exits, ""]);
  },
);

test("another program that answers is reported as such, and so is the port of SMTP", async () => {
  const page = Bun.serve({ port: 0, fetch: () => new Response("<h1>Welcome</h1>") });
  const at = (url: string) => runInboxd(["inbox", "list"], { env: { ...env(), INBOXD_URL: url } });
  const [other, smtp] = await Promise.all([at(page.url.origin), at(`http://127.0.0.1:${world.smtpPort}`)]);
  expect([other.code, other.stdout, other.stderr]).toEqual([
    1,
    "",
    `Cannot ask ${page.url.origin}: the server there is not inboxd (it answered 200)\n`,
  ]);
  expect([smtp.code, smtp.stdout]).toEqual([1, ""]);
  expect(smtp.stderr).toContain("does not speak HTTP");
  await page.stop(true);
});
