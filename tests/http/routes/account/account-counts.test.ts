import { afterAll, beforeAll, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../../src/database/db.ts";
import { openStream } from "../../../support/event-stream.ts";
import { untilLogShowsAll } from "../../../support/log-horizon.ts";
import { mailOf } from "../../../support/mail.ts";
import { answer, type Receiver, startReceiver } from "../../../support/receiver.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../../../support/scripted-smtp.ts";
import { newAccount, newInbox, send } from "../../../support/sends.ts";
import { untilAnswered } from "../../../support/until.ts";
import { startWorld, type World } from "../../../support/world.ts";

let world: World;
let relay: ScriptedSmtp;
let receiver: Receiver;
beforeAll(async () => {
  relay = await scriptedSmtp({ answer: (command) => (command.startsWith("RCPT") ? "451 4.7.1 Try later" : undefined) });
  receiver = await startReceiver({ behaviour: answer(500) });
  world = await startWorld({
    env: { OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off`, ALLOW_PRIVATE_WEBHOOKS: "1" },
  });
}, 60_000);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await Promise.all([relay.close(), receiver.close()]);
});

const counts = async (apiKey: string) => (await world.api("/v1/account", { apiKey })).body.counts;

const addressOf = async (apiKey: string, id: string) => (await world.api(`/v1/inboxes/${id}`, { apiKey })).body.address;

let mails = 0;

/** A mail that begins a thread. */
function newMail(): string {
  mails += 1;
  return mailOf({ headers: [`Message-ID: <${mails}@x.example>`] });
}

/** Waits until the outbox of the key has this many items. */
const untilItems = (apiKey: string, count: number) =>
  untilAnswered(async () => {
    const { body } = await world.api("/v1/outbox", { apiKey });
    return body.data.length === count || undefined;
  });

test("the account counts its inboxes, unread threads, and what waits in the outbox", async () => {
  const [apiKey, other] = [await newAccount(world), await newAccount(world)];
  const [one, two] = [await newInbox(world, apiKey), await newInbox(world, apiKey)];
  await newInbox(world, other);
  expect(await counts(apiKey)).toEqual({ inboxes: 2, unreadThreads: 0, awaitingApproval: 0, outbox: 0 });
  await world.deliver(newMail(), [await addressOf(apiKey, one), await addressOf(apiKey, two)]);
  await world.deliver(newMail(), await addressOf(apiKey, one));
  expect(await counts(apiKey)).toEqual({ inboxes: 2, unreadThreads: 3, awaitingApproval: 0, outbox: 0 });
  await send(world, one, {}, { apiKey });
  await world.api("/v1/webhook", { method: "PUT", body: { url: receiver.url }, apiKey });
  await world.deliver(newMail(), await addressOf(apiKey, two));
  await untilItems(apiKey, 2);
  expect(await counts(apiKey)).toEqual({ inboxes: 2, unreadThreads: 4, awaitingApproval: 0, outbox: 2 });
  await world.api(`/v1/inboxes/${two}`, { method: "DELETE", apiKey });
  expect(await counts(apiKey)).toMatchObject({ inboxes: 1, unreadThreads: 2 });
  expect(await counts(other)).toEqual({ inboxes: 1, unreadThreads: 0, awaitingApproval: 0, outbox: 0 });
});

test("the account counts the mail that waits for approval, and a token that of its inbox", async () => {
  const apiKey = await newAccount(world);
  const [one, two] = [await newInbox(world, apiKey), await newInbox(world, apiKey)];
  await world.api("/v1/account", { method: "PATCH", body: { sendPolicy: "approve_all" }, apiKey });
  const waiting: string[] = [];
  for (const inboxId of [one, one, two]) waiting.push((await send(world, inboxId, {}, { apiKey })).body.messageId);
  const token = (await world.api("/v1/tokens", { method: "POST", body: { inboxId: one }, apiKey })).body.token;
  expect(await counts(apiKey)).toMatchObject({ awaitingApproval: 3, outbox: 0 });
  expect(await counts(token)).toMatchObject({ awaitingApproval: 2 });
  await world.api(`/v1/drafts/${waiting[0]}`, { method: "DELETE", apiKey });
  await world.api(`/v1/inboxes/${two}`, { method: "DELETE", apiKey });
  expect(await counts(apiKey)).toMatchObject({ awaitingApproval: 1 });
});

test("a token gets the counts of what it may read, with an empty outbox", async () => {
  const apiKey = await newAccount(world);
  const [one, two] = [await newInbox(world, apiKey), await newInbox(world, apiKey)];
  await world.deliver(newMail(), [await addressOf(apiKey, one), await addressOf(apiKey, two)]);
  await world.deliver(newMail(), await addressOf(apiKey, two));
  const tokenWith = async (body: object) =>
    (await world.api("/v1/tokens", { method: "POST", body, apiKey })).body.token as string;
  expect(await counts(await tokenWith({}))).toEqual({ inboxes: 2, unreadThreads: 3, awaitingApproval: 0, outbox: 0 });
  expect(await counts(await tokenWith({ inboxId: one }))).toEqual({
    inboxes: 1,
    unreadThreads: 1,
    awaitingApproval: 0,
    outbox: 0,
  });
});

test("a token of one inbox sees nothing of another in any list, total, search, stream or count", async () => {
  const apiKey = await newAccount(world);
  const [one, two] = [await newInbox(world, apiKey), await newInbox(world, apiKey)];
  const token = (await world.api("/v1/tokens", { method: "POST", body: { inboxId: one }, apiKey })).body.token;
  const stream = await openStream(new URL("/v1/events/stream", world.service.apiUrl), {
    authorization: `Bearer ${token}`,
  });
  for (const [inboxId, total] of [
    [two, 2],
    [one, 4],
  ] as const) {
    await world.deliver(newMail(), await addressOf(apiKey, inboxId));
    await send(world, inboxId, {}, { apiKey });
    const suppression = { address: "joe@example.com", inboxId };
    await world.api("/v1/suppressions", { method: "POST", body: suppression, apiKey });
    await untilAnswered(async () => {
      const { totals } = (await world.api("/v1/usage", { apiKey })).body;
      return totals.received + totals.sent === total || undefined;
    });
  }
  await untilLogShowsAll(world.service.deps.db.api);
  await stream.untilTold(1);
  stream.close();
  const streamed = stream.frames.flatMap(({ event, data }) =>
    event === "message.received" && data ? [JSON.parse(data)] : [],
  );
  expect(streamed.map(({ inbox_id }) => inbox_id)).toEqual([one]);

  async function seenBy(apiKey: string) {
    const get = async (path: string) => (await world.api(path, { apiKey })).body;
    const inboxIds = (rows: Record<string, string>[]) =>
      [...new Set(rows.map((row) => row.inboxId ?? row.inbox_id ?? row.id))].toSorted();
    const lists = [
      "inboxes",
      "messages",
      "messages?q=hello",
      "messages?q=is:unread",
      "events",
      "outbox",
      "suppressions",
    ];
    const pages = await Promise.all(lists.map((list) => get(`/v1/${list}`)));
    const [used, byInbox, { perMinute, outbox }] = [
      await get("/v1/usage"),
      await get("/v1/usage?group_by=inbox"),
      await get("/v1/stats"),
    ];
    return {
      lists: pages.map(({ data }) => inboxIds(data)),
      totals: pages.flatMap(({ total }) => total ?? []),
      usage: [used.totals.received, used.totals.sent, used.current.inboxes, used.current.messages],
      usageOf: [inboxIds(byInbox.data), byInbox.totals.received],
      stats: [perMinute.reduce((sum: number, { received }: { received: number }) => sum + received, 0), outbox.count],
      counts: (await get("/v1/account")).counts,
    };
  }
  const both = [one, two].toSorted();
  expect(await seenBy(apiKey)).toEqual({
    lists: Array.from({ length: 7 }, () => both),
    totals: [2, 4, 4, 2],
    usage: [2, 2, 2, 4],
    usageOf: [both, 2],
    stats: [2, 2],
    counts: { inboxes: 2, unreadThreads: 2, awaitingApproval: 0, outbox: 2 },
  });
  expect(await seenBy(token)).toEqual({
    lists: Array.from({ length: 7 }, () => [one]),
    totals: [1, 2, 2, 1],
    usage: [1, 1, 1, 2],
    usageOf: [[one], 1],
    stats: [1, 1],
    counts: { inboxes: 1, unreadThreads: 1, awaitingApproval: 0, outbox: 1 },
  });
});

test("more than 1,000 items in the outbox count as 1,000", async () => {
  const apiKey = await newAccount(world);
  const { id } = (await world.api("/v1/account", { apiKey })).body;
  const waiting = (count: number) =>
    query(
      world.service.deps.db.api,
      sql`insert into outbox (subject_id, kind, account_id, inbox_id, lane, state, due_at, created_at)
          select 'evt_' || ${id} || number, 'webhook', ${id}, ${id}, ${id}, 'waiting', 'infinity', now()
          from generate_series(1, ${count}) number on conflict do nothing`,
    );
  await waiting(999);
  expect((await counts(apiKey)).outbox).toBe(999);
  await waiting(1_005);
  expect((await counts(apiKey)).outbox).toBe(1_000);
});
