import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { service } from "../../../src/domain/access/actor.ts";
import type { Suspension } from "../../../src/domain/access/suspension.ts";
import { changeAccount } from "../../../src/flows/account/change-account.ts";
import { createAccount } from "../../../src/flows/account/manage-accounts.ts";
import { exportAccount } from "../../../src/flows/move/export-account.ts";
import { mailOf } from "../../support/mail.ts";
import { connectRaw } from "../../support/raw-http.ts";
import { inData } from "../../support/raw-smtp.ts";
import { answer, startReceiver } from "../../support/receiver.ts";
import { returnPathOf, signingKey } from "../../support/reported.ts";
import { newInbox, send } from "../../support/sends.ts";
import { untilSo } from "../../support/until.ts";
import { startWorld, type World } from "../../support/world.ts";

let world: World;
let mover: { id: string; key: string; inboxId: string };
beforeAll(async () => {
  world = await startWorld({ env: { SIGNING_KEY: signingKey, WEBHOOK_TIMEOUT_MS: "60000" } });
  const { account, apiKey: key } = await createAccount(world.service.deps, { name: "mover", plan: "developer" });
  mover = { id: account.id, key, inboxId: await newInbox(world, key, "mover") };
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

async function suspend(suspended: Suspension | null): Promise<void> {
  await changeAccount(world.service.deps, service, mover.id, { suspended });
  const status = suspended === null ? 200 : 503;
  await untilSo(async () => (await world.api("/v1/inboxes", { apiKey: mover.key })).status === status);
}

test("mail under way when its account begins to move is refused for now, to an inbox and to a return path", async () => {
  const { body } = await send(world, mover.inboxId, {}, { apiKey: mover.key, waits: true });
  const addresses = ["mover@inbox.localhost", await returnPathOf(body.messageId)];
  const mail = mailOf({ messageId: "under-way@x.example" });
  const handIn = async (client: Awaited<ReturnType<typeof inData>>) => {
    const reply = await client.ask(`${mail}\r\n.`);
    client.destroy();
    return reply.slice(0, 9);
  };
  const before = await Promise.all(addresses.map((to) => inData(world.smtpPort, to)));
  await suspend("moving");
  expect(await Promise.all(before.map(handIn))).toEqual(["451 4.3.0", "451 4.3.0"]);
  await suspend(null);
  const after = await Promise.all(addresses.map((to) => inData(world.smtpPort, to)));
  expect(await Promise.all(after.map(handIn))).toEqual(["250 2.0.0", "250 2.0.0"]);
}, 60_000);

test("a send whose body is under way when its account begins to move is refused for now", async () => {
  const client = await connectRaw({ port: Number(new URL(world.service.apiUrl).port) });
  const body = JSON.stringify({ to: "jane@example.com", subject: "Late", body: "Late" });
  const head = (key: string) =>
    [
      `POST /v1/inboxes/${mover.inboxId}/send HTTP/1.1`,
      "Host: localhost",
      `Authorization: Bearer ${mover.key}`,
      `Idempotency-Key: ${key}`,
      "Prefer: respond-async",
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
      "",
      body.slice(0, -1),
    ].join("\r\n");
  client.send(head("late"));
  await suspend("moving");
  client.send(body.slice(-1));
  expect((await client.response())?.status).toBe(503);
  await suspend(null);
  client.send(`${head("again")}${body.slice(-1)}`);
  expect((await client.response())?.status).toBe(200);
  client.end();
}, 60_000);

test("the export of an account that moves waits for attempts under way, and its events wait for the end of the move", async () => {
  const asked: Socket[] = [];
  await using receiver = disposable(await startReceiver({ behaviour: (socket) => void asked.push(socket) }));
  await using others = disposable(await startReceiver());
  const { account: other, apiKey: otherKey } = await createAccount(deps(), { name: "other", plan: "developer" });
  await newInbox(world, otherKey, "other");
  for (const [apiKey, url] of [
    [mover.key, receiver.url],
    [otherKey, others.url],
  ] as const) {
    const hook = { url, eventTypes: ["message.received"] };
    expect((await world.api("/v1/webhooks", { method: "POST", apiKey, body: hook })).status).toBe(201);
  }
  await world.deliver(mailOf({ messageId: "told@x.example" }), "mover@inbox.localhost");
  await receiver.request(1);
  await suspend("moving");

  let isExported = false;
  const exporting = exported(mover.id).finally(() => {
    isExported = true;
  });
  // An account that does not move is exported meanwhile.
  await exported(other.id);
  expect(isExported).toBe(false);
  await world.deliver(mailOf({ messageId: "other@x.example" }), "other@inbox.localhost");
  await others.request(1);
  answer(500)(asked[0] ?? expect.unreachable(), await receiver.request(1));
  const rowsOf = await exporting;
  expect(rowsOf("outbox").map(({ kind, state }) => [kind, state])).toEqual([["webhook", "waiting"]]);
  expect(rowsOf("deliveries").map(({ attempt, status }) => [attempt, status])).toEqual([[1, 500]]);

  receiver.behave(answer(200));
  world.clock.pass(3_600_000);
  await world.deliver(mailOf({ messageId: "another@x.example" }), "other@inbox.localhost");
  await others.request(2);
  expect(receiver.requests).toHaveLength(1);
  await suspend(null);
  await receiver.request(2);
}, 60_000);

const deps = () => world.service.deps;

/** Exports an account at once, as if all processes knew that it moves. Returns its rows by their table. */
async function exported(accountId: string) {
  const lines: { table?: string; rows?: Record<string, unknown>[] }[] = [];
  const options = { id: accountId, version: "0.1.0", now: deps().now(), accountId, actor: service, heardMs: 0 };
  await exportAccount(deps(), options, async (line) => void lines.push(JSON.parse(line)));
  return (wanted: string) => lines.flatMap(({ table, rows = [] }) => (table === wanted ? rows : []));
}

function disposable<Made extends { close(): Promise<void> }>(made: Made): Made & AsyncDisposable {
  return { ...made, [Symbol.asyncDispose]: () => made.close() };
}
