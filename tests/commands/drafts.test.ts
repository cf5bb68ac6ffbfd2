import { afterAll, beforeAll, expect, test } from "bun:test";
import { runInboxd } from "../support/inboxd.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

let world: World;
let ada: WorldInbox;
beforeAll(async () => {
  world = await startWorld();
  ada = await world.inbox("ada");
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

const run = (...words: string[]) =>
  runInboxd(words, { env: { INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey } });
const mail = ["--from", "ada", "--to", "jane@example.com", "--subject", "Hello", "--body", "Hello Jane"];

test("a mail with --at is listed, shown and discarded", async () => {
  const { code, stdout } = await run("send", ...mail, "--at", "2026-12-01T09:00:00+01:00", "--json");
  expect(code).toBe(0);
  const { messageId, state, sendAt } = JSON.parse(stdout);
  expect([state, sendAt]).toEqual(["scheduled", "2026-12-01T08:00:00.000Z"]);
  const { stdout: list } = await run("drafts", "list", "--inbox", ada.address);
  expect(list.split("\n")[0]).toMatch(/^written +state +sent at +to +subject +id$/);
  expect(list).toContain(messageId);
  const { stdout: shown } = await run("drafts", "show", messageId);
  expect(shown).toMatch(/^state +scheduled$/m);
  expect(shown).toEndWith("\n\nHello Jane\n");
  expect((await run("drafts", "discard", messageId)).stdout).toMatch(new RegExp(`^discarded +${messageId}$`, "m"));
  expect((await run("drafts", "list", "--json")).stdout).toContain('"data": []');
  expect((await run("drafts", "list", "--state", "canceled", "--json")).stdout).toContain(messageId);
});

test("a draft is sent, once", async () => {
  const headers = { "idempotency-key": "draft" };
  const body = { to: "jane@example.com", subject: "Draft", body: "Hello" };
  const { body: draft } = await world.api(`/v1/inboxes/${ada.id}/drafts`, { method: "POST", headers, body });
  const { code, stdout } = await run("drafts", "send", draft.id, "--json");
  expect([code, JSON.parse(stdout).messageId]).toEqual([0, draft.id]);
  const again = await run("drafts", "send", draft.id);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("the draft is sent")]);
});
