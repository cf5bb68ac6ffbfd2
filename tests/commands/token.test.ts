import { afterAll, beforeAll, expect, test } from "bun:test";
import { runInboxd } from "../support/inboxd.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const token = (...words: string[]) =>
  runInboxd(["token", ...words], { env: { INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey } });

test("a token reads the inbox that it was made for, and no other", async () => {
  const [ada, bob] = [await world.inbox("ada"), await world.inbox("bob")];
  const { code, stdout } = await token("--inbox", "ada", "--ttl", "3600", "--json");
  const { token: apiKey, expiresAt } = JSON.parse(stdout);
  expect(code).toBe(0);
  expect(Date.parse(expiresAt) - world.clock.now().getTime()).toBeWithin(3_590_000, 3_600_001);
  const statuses = [ada, bob].map(async ({ id }) => (await world.api(`/v1/inboxes/${id}`, { apiKey })).status);
  expect(await Promise.all(statuses)).toEqual([200, 404]);
});

test("for a person it is two lines, and without an inbox it reaches the whole account", async () => {
  const { code, stdout } = await token();
  const [, made = ""] = /^token +(ibt_\S+)\nexpires +\d+ \w+ \d{4}, \d\d:\d\d\n$/.exec(stdout) ?? [];
  expect(code).toBe(0);
  expect((await world.api("/v1/inboxes", { apiKey: made })).status).toBe(200);
});

test.each([
  ["a time that is none", ["--ttl", "soon"], 2, /^Cannot make token: --ttl must be a whole number/],
  ["a time that is too long", ["--ttl", "86401"], 2, /^validation_error: /],
  ["an inbox that there is not", ["--inbox", "grace"], 1, /^Cannot find inbox: /],
])("%s is refused", async (_, words, code, says) => {
  const ended = await token(...words);
  expect([ended.code, ended.stdout]).toEqual([code, ""]);
  expect(ended.stderr).toMatch(says);
});
