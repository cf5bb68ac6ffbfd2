import { afterAll, beforeAll, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { inboxdHere } from "../support/inboxd.ts";
import { mailOf } from "../support/mail.ts";
import { newAccount } from "../support/sends.ts";
import { startWorld, type World } from "../support/world.ts";

const ingestToken = "the-token-of-another-mail-server-in-tests";

let world: World;
beforeAll(async () => {
  world = await startWorld({ env: { INGEST_TOKEN: ingestToken, SMTP_MAX_BYTES: "100000" } });
});
afterAll(() => world[Symbol.asyncDispose]());

/** Runs the command with a mail on stdin, as the pipe of a mail server does. */
async function ingest(words: readonly string[], { raw = mailOf(), env = {} }: { raw?: string; env?: object } = {}) {
  const child = Bun.spawn([...inboxdHere, "ingest", ...words], {
    env: {
      PATH: process.env.PATH,
      INBOXD_URL: world.service.apiUrl.origin,
      INBOXD_API_KEY: world.apiKey,
      ...env,
    },
    stdin: new Blob([raw]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, stdout, stderr };
}

test("a mail on stdin is stored as it is, with its envelope, also if it comes again", async () => {
  const { id, address } = await world.inbox();
  const raw = mailOf({ messageId: "piped@example.com", text: "bare\nline feeds, and a\n.\ndot" });
  const words = ["--to", address, "--from", "jürgen@example.com", "--client-address", "unknown", "--client-helo", ""];
  const first = await ingest(words, { raw });
  expect([first.code, first.stderr]).toEqual([0, ""]);
  expect(first.stdout).toContain("stored");
  expect((await ingest(["--to", address], { raw, env: { INBOXD_API_KEY: ingestToken } })).code).toBe(0);
  const { data } = (await world.api(`/v1/inboxes/${id}/messages`)).body;
  expect(data).toHaveLength(1);
  expect(await (await world.fetch(`/v1/messages/${data[0].id}/raw`)).text()).toBe(raw);
});

test("the exit code tells a mail server what to do with the mail", async () => {
  const { address } = await world.inbox();
  const apiKey = await newAccount(world);
  const full = (await world.api("/v1/inboxes", { method: "POST", body: {}, apiKey })).body;
  await query(
    world.service.deps.db.api,
    sql`update accounts set limits = '{"inboxBytes": 1}' where id = ${(await world.api("/v1/account", { apiKey })).body.id}`,
  );
  expect((await ingest(["--to", full.address], { env: { INBOXD_API_KEY: apiKey } })).code).toBe(0);
  const to = ["--to", address];
  const loop = "Received: from a by b\r\n".repeat(101);
  const cases: [number, readonly string[], Parameters<typeof ingest>[1]?][] = [
    [67, ["--to", "nobody@inbox.localhost"]],
    [67, ["--to", full.address]],
    [64, []],
    [64, [...to, "--forever"]],
    [65, ["--to", "no address"]],
    [65, to, { raw: "x".repeat(100_001) }],
    [65, to, { raw: loop + mailOf() }],
    [75, ["--to", full.address], { env: { INBOXD_API_KEY: apiKey } }],
    [75, to, { env: { INBOXD_API_KEY: "a-wrong-key-of-some-length" } }],
    [75, to, { env: { INBOXD_API_KEY: "" } }],
    [75, to, { env: { INBOXD_URL: "http://127.0.0.1:1" } }],
  ];
  for (const [code, words, options] of cases) {
    const ended = await ingest(words, options);
    expect([words, ended.code, ended.stdout]).toEqual([words, code, ""]);
    expect(ended.stderr).not.toBe("");
  }
});
