import { afterAll, beforeAll, expect, test } from "bun:test";
import { runInboxd } from "../support/inboxd.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { send } from "../support/sends.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

/** A relay that puts off all mail. The tests go on from one another. */
let world: World;
let relay: ScriptedSmtp;
let ada: WorldInbox;
const ids: string[] = [];

beforeAll(async () => {
  relay = await scriptedSmtp({ answer: (command) => (command.startsWith("RCPT") ? "451 4.7.1 Later" : undefined) });
  world = await startWorld({ env: { OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off` } });
  ada = await world.inbox("ada");
  for (const to of ["jane@one.example", "joe@two.example"]) {
    const { body } = await send(world, ada.id, { to }, { waits: true });
    ids.push(body.messageId);
    world.clock.pass(1000);
  }
}, 60_000);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await relay.close();
});

const outbox = (...words: string[]) =>
  runInboxd(["outbox", ...words], {
    env: { INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey },
  });

test("waiting items are a table for a person, and whole for a script", async () => {
  const { code, stdout } = await outbox("list", "--kind", "relay", "--inbox", ada.address);
  expect(code).toBe(0);
  const [head = "", ...rows] = stdout.trimEnd().split("\n");
  expect(head).toMatch(/^since +kind +state +to +attempt +next +error +id$/);
  expect(rows.map((row) => row.split(/ +/).at(-1))).toEqual(ids);
  const { stdout: json } = await outbox("list", "--limit", "1", "--json");
  expect(JSON.parse(json)).toMatchObject({
    data: [{ id: ids[0], to: ["jane@one.example"], lastError: "451 4.7.1 Later" }],
  });
});

test("an incomplete list prints the option that continues it", async () => {
  const { stderr } = await outbox("list", "--limit", "1");
  const [, cursor = ""] = /^There is more: --cursor (\S+)$/m.exec(stderr) ?? [];
  const { stdout } = await outbox("list", "--cursor", cursor, "--limit", "1", "--json");
  expect([JSON.parse(stdout).data.length, JSON.parse(stdout).data[0].id]).toEqual([1, ids[1]]);
});

test("one that waits is put in line", async () => {
  const { code, stdout } = await outbox("retry", ids[1] ?? "", "--json");
  expect([code, JSON.parse(stdout).id]).toEqual([0, ids[1]]);
});

test("a mail that is taken back has failed, and can't be taken back again", async () => {
  const { code, stdout } = await outbox("cancel", ids[0] ?? "");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^status +failed$/m);
  expect(stdout).toMatch(/^failure +Canceled before it was sent$/m);
  const again = await outbox("cancel", ids[0] ?? "");
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("not_cancelable")]);
});
