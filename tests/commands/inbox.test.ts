import { afterAll, beforeAll, expect, test } from "bun:test";
import { runInboxd } from "../support/inboxd.ts";
import { mailOf } from "../support/mail.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

let world: World;
let ada: WorldInbox;
beforeAll(async () => {
  world = await startWorld();
  ada = await world.inbox("ada");
});
afterAll(() => world[Symbol.asyncDispose]());

const run = (...words: string[]) =>
  runInboxd(["inbox", ...words], { env: { INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey } });
const stored = async () => (await world.api(`/v1/inboxes/${ada.id}`)).body;

test("`inbox set` changes the fields that it is given, and clears those with an empty text", async () => {
  const fields = ["--display-name", "Ada L", "--external-id", "user-7", "--retention-days", "30", "--disable"];
  const set = await run("set", "ada", ...fields, "--expires-at", "2027-01-01T00:00:00Z", "--send-policy", "known");
  expect([set.code, set.stderr]).toEqual([0, ""]);
  const all = { displayName: "Ada L", externalId: "user-7", retentionDays: 30, disabled: true, sendPolicy: "known" };
  expect(await stored()).toMatchObject({ ...all, expiresAt: "2027-01-01T00:00:00.000Z" });
  const metadata = await run("set", "ada", "--metadata", "plan=gold", "term=a=b", "--enable");
  expect(metadata.stdout).toMatch(/^metadata +plan=gold,term=a=b$/m);
  expect(await stored()).toMatchObject({ ...all, disabled: false, metadata: { plan: "gold", term: "a=b" } });
  const clears = ["--display-name", "", "--external-id", "", "--retention-days", "", "--expires-at", ""];
  expect((await run("set", "ada", ...clears, "--metadata", "plan")).code).toBe(0);
  const none = { displayName: null, externalId: null, retentionDays: null, expiresAt: null };
  expect(await stored()).toMatchObject({ ...none, sendPolicy: "known", metadata: { term: "a=b" } });
});

test("`inbox set` names the approvers of an inbox, and gives it those of the service again", async () => {
  const approvers = ["boss@example.org", "cfo@example.org"];
  expect((await run("set", "ada", "--approvers", ...approvers)).stdout).toMatch(
    /^approvers +boss@example.org,cfo@example.org$/m,
  );
  expect((await stored()).approvers).toEqual(approvers);
  expect((await run("set", "ada", "--approvers", "")).code).toBe(0);
  expect((await stored()).approvers).toBe(null);
});

test("`inbox set` says which words of the mail are indexed, and gives back those of the account", async () => {
  expect((await run("set", "ada", "--search-words", "head")).stdout).toMatch(/^searchWords +head$/m);
  const there = { env: { INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey } };
  await world.deliver(mailOf({ subject: "Invoice", text: "Forty two\r\n" }), ada.address);
  const found = await runInboxd(["messages", "ada", "--q", "forty"], there);
  expect([found.code, found.stderr]).toEqual([
    0,
    "Some of this mail is found by its subject and addresses alone: see searchWords of the inbox\n",
  ]);
  expect((await run("set", "ada", "--search-words", "")).code).toBe(0);
  expect((await stored()).searchWords).toBe(null);
});

test("`inbox set` changes nothing for a number that is none", async () => {
  const before = await stored();
  const { code, stderr } = await run("set", "ada", "--retention-days", "many");
  expect([code, stderr]).toEqual([2, expect.stringContaining('"retentionDays"')]);
  expect(await stored()).toEqual(before);
});

test("`inbox alias` adds and removes an address", async () => {
  expect((await run("alias", "add", "ada", "lovelace")).stdout).toMatch(/^aliases +lovelace@inbox\.localhost$/m);
  expect(JSON.parse((await run("get", "lovelace@inbox.localhost", "--json")).stdout)).toEqual(await stored());
  expect((await run("alias", "remove", "ada", "lovelace@inbox.localhost")).code).toBe(0);
  expect((await stored()).aliases).toEqual([]);
});

test("`inbox create` takes a name and a time to live", async () => {
  const { stdout } = await run("create", "bob", "--display-name", "Bob", "--ttl-seconds", "3600", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ displayName: "Bob", expiresAt: expect.any(String) });
});
