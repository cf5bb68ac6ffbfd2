import { afterAll, beforeAll, expect, test } from "bun:test";
import { runInboxd } from "../support/inboxd.ts";
import { mailOf } from "../support/mail.ts";
import { quarantinedMail } from "../support/ruled.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

let world: World;
let ada: WorldInbox;
beforeAll(async () => {
  world = await startWorld();
  ada = await world.inbox("ada");
});
afterAll(() => world[Symbol.asyncDispose]());

const quarantine = (...words: string[]) =>
  runInboxd(["quarantine", ...words], {
    env: { INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey },
  });

test("blocked mail is a table for a person, and goes on by a cursor", async () => {
  const ids = [await quarantinedMail(world, ada), await quarantinedMail(world, ada)];
  const { code, stdout } = await quarantine("list", "--inbox", "ada", "--reason", "rule");
  expect(code).toBe(0);
  const [head = "", ...rows] = stdout.trimEnd().split("\n");
  expect(head).toMatch(/^time +reason +from +to +subject +released +id$/);
  expect(rows.map((row) => row.split(/ +/).at(-1))).toEqual(ids.toReversed());
  const { stderr } = await quarantine("list", "--limit", "1");
  const [, cursor = ""] = /^There is more: --cursor (\S+)$/m.exec(stderr) ?? [];
  const { stdout: json } = await quarantine("list", "--limit", "1", "--cursor", cursor, "--json");
  expect(JSON.parse(json).data.map(({ id }: { id: string }) => id)).toEqual([ids[0]]);
});

test("one mail is shown with its reason, or byte by byte", async () => {
  const from = "Eve <eve@blocked.example>";
  const raw = mailOf({ from, subject: "Cheap", messageId: "1@blocked.example", text: "Buy now\r\n" });
  const id = await quarantinedMail(world, ada, { raw });
  const { stdout } = await quarantine("show", id);
  expect(stdout).toMatch(/^from +Eve <eve@blocked\.example>$/m);
  expect(stdout).toMatch(/^reason +rule rul_\w+$/m);
  expect(stdout).toMatch(/^sender +not checked$/m);
  expect(stdout).toEndWith("\nBuy now\n");
  expect((await quarantine("show", id, "--raw")).stdout).toBe(raw);
});

test("one mail is released, again with the same ids, and deleted", async () => {
  const id = await quarantinedMail(world, ada);
  const first = JSON.parse((await quarantine("release", id, "--json")).stdout);
  expect(JSON.parse((await quarantine("release", id, "--json")).stdout)).toEqual(first);
  expect((await world.api(`/v1/messages/${first.messageId}`)).body).toMatchObject({ threadId: first.threadId });
  expect((await quarantine("show", id)).stdout).toContain(first.messageId);
  expect((await quarantine("delete", id)).stdout).toMatch(new RegExp(`^deleted +${id}$`, "m"));
  const { code, stderr } = await quarantine("release", id);
  expect([code, stderr]).toEqual([1, expect.stringContaining("no such quarantined mail")]);
});
