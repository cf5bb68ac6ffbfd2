import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { enginesHere } from "../support/engines.ts";
import { newInbox, send } from "../support/sends.ts";
import { untilSo } from "../support/until.ts";
import type { Answer, World } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

describe.each(enginesHere())("Mail that is sent later (%s)", (engine) => {
  const startWorld = worldsOn(engine);
  let world: World;

  beforeAll(async () => {
    world = await startWorld({ env: { SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0", LOOP_ECHOES: "0" } });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const inMs = (ms: number) => new Date(world.clock.now().getTime() + ms).toISOString();
  const get = (id: string) => world.api(`/v1/messages/${id}`);
  const cancel = (id: string) => world.api(`/v1/messages/${id}/cancel`, { method: "POST" });
  const isOver = async (id: string) => (await get(id)).body.state === null;

  async function schedule(inboxId: string, more: object = {}, key?: string): Promise<Answer> {
    return send(world, inboxId, { sendAt: inMs(hourMs), ...more }, key === undefined ? {} : { key });
  }

  /** A thread with one mail from Jane. */
  async function newThread(inbox: { id: string; address: string }): Promise<string> {
    await world.deliver(
      `From: jane@example.com\r\nTo: ${inbox.address}\r\nSubject: Question\r\n\r\nWhen?\r\n`,
      inbox.address,
    );
    return (await world.api(`/v1/inboxes/${inbox.id}/threads`)).body.data[0].threadId;
  }
  const threadOf = async (inboxId: string) => (await world.api(`/v1/inboxes/${inboxId}/threads`)).body.data[0];

  test("waits outside of the inbox until its time, and is then a message with that time", async () => {
    const inboxId = await newInbox(world);
    const asked = await schedule(inboxId, {}, "later");
    const { messageId, threadId } = asked.body;
    expect(asked).toMatchObject({ status: 200, body: { status: "pending", state: "scheduled" } });
    expect(asked.body.providerMessageId).toBe(`<${messageId}@inbox.localhost>`);
    expect(asked.headers.get("ratelimit")).toContain('"burst";r=10');
    expect((await get(messageId)).body).toMatchObject({ status: "pending", state: "scheduled", subject: "Hello" });
    expect((await world.api(`/v1/inboxes/${inboxId}/messages`)).body.total).toBe(0);
    expect((await world.api(`/v1/inboxes/${inboxId}/threads`)).body.total).toBe(0);

    expect((await schedule(inboxId, { sendAt: asked.body.sendAt }, "later")).body).toMatchObject({
      messageId,
      state: "scheduled",
    });
    world.clock.pass(hourMs);
    await untilSo(() => isOver(messageId));
    const { body: sent } = await get(messageId);
    expect(sent).toMatchObject({ id: messageId, threadId, failure: null, rfcMessageId: asked.body.providerMessageId });
    expect(sent.createdAt >= asked.body.sendAt).toBe(true);
    expect((await world.api(`/v1/inboxes/${inboxId}/messages`)).body.total).toBe(1);
    const replay = await schedule(inboxId, { sendAt: asked.body.sendAt }, "later");
    expect(replay.headers.get("idempotent-replayed")).toBe("true");
    expect(replay.body.messageId).toBe(messageId);
    expect(replay.body.state).toBeUndefined();
  });

  test.each([
    ["a day", "2030-01-01"],
    ["a time without an offset", "2030-01-01T09:00:00"],
    ["more than 366 days ahead", new Date(Date.now() + 400 * dayMs * 3).toISOString()],
    ["no time", "soon"],
  ])("is refused for %s", async (_, sendAt) => {
    const { status, body } = await schedule(await newInbox(world), { sendAt });
    expect([status, body.errors?.[0]?.pointer]).toEqual([400, "#/sendAt"]);
  });

  test("of a time that has passed goes at once", async () => {
    const { body } = await schedule(await newInbox(world), { sendAt: inMs(-hourMs) });
    expect(body.state).toBeUndefined();
  });

  test("is canceled, and never sent", async () => {
    const inboxId = await newInbox(world);
    const { messageId } = (await schedule(inboxId)).body;
    const canceled = await cancel(messageId);
    expect(canceled).toMatchObject({
      status: 200,
      body: { status: "failed", state: null, failure: { reason: "canceled" } },
    });
    expect(canceled.body.mayHaveBeenSent).toBeUndefined();
    world.clock.pass(hourMs);
    const other = (await schedule(inboxId, { sendAt: inMs(1) })).body.messageId;
    world.clock.pass(minuteMs);
    await untilSo(() => isOver(other));
    expect((await world.api(`/v1/inboxes/${inboxId}/messages`)).body.total).toBe(1);
    expect((await cancel(messageId)).body).toMatchObject({ code: "not_cancelable", message_status: "failed" });
  });

  test("marks its thread as read when it is accepted, and as unread again if it is canceled", async () => {
    const inbox = await world.inbox();
    const threadId = await newThread(inbox);
    expect(await threadOf(inbox.id)).toMatchObject({ isRead: false, draftCount: 0 });
    const { messageId } = (await schedule(inbox.id, { threadId, to: undefined, subject: undefined })).body;
    expect(await threadOf(inbox.id)).toMatchObject({ isRead: true, messageCount: 1, draftCount: 1 });
    expect((await get(messageId)).body).toMatchObject({ subject: "Re: Question", to: ["jane@example.com"], threadId });
    await cancel(messageId);
    expect(await threadOf(inbox.id)).toMatchObject({ isRead: false, draftCount: 0 });
    expect((await world.api(`/v1/inboxes/${inbox.id}/threads?is_read=false`)).body.total).toBe(1);
  });

  test("answers the message that was the last one when it was accepted, and leaves a thread unread that newer mail made so", async () => {
    const inbox = await world.inbox();
    const threadId = await newThread(inbox);
    const first = (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body.data[0];
    const { messageId } = (await schedule(inbox.id, { threadId, to: undefined, subject: undefined })).body;
    world.clock.pass(1000);
    await world.deliver(
      `From: joe@example.com\r\nTo: ${inbox.address}\r\nIn-Reply-To: ${first.rfcMessageId}\r\nMessage-ID: <joe@example.com>\r\nSubject: Re: Question\r\n\r\nA secret of Joe\r\n`,
      inbox.address,
    );
    expect(await threadOf(inbox.id)).toMatchObject({ isRead: false, messageCount: 2 });
    world.clock.pass(hourMs);
    await untilSo(() => isOver(messageId));
    const raw = await (await world.fetch(`/v1/messages/${messageId}/raw`)).text();
    expect(raw).toContain(`In-Reply-To: ${first.rfcMessageId}`);
    expect(raw).not.toContain("secret");
    expect(raw).not.toContain("joe@example.com");
    expect(raw).toContain("> When?");
    expect(await threadOf(inbox.id)).toMatchObject({ isRead: false, messageCount: 3 });
  });

  test("with unlessReplied is canceled if mail has come", async () => {
    const inbox = await world.inbox();
    const threadId = await newThread(inbox);
    const reply = { threadId, to: undefined, subject: undefined, unlessReplied: true };
    const { messageId } = (await schedule(inbox.id, reply)).body;
    const first = (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body.data[0];
    await world.deliver(
      `From: jane@example.com\r\nTo: ${inbox.address}\r\nIn-Reply-To: ${first.rfcMessageId}\r\nSubject: Re: Question\r\n\r\nNever mind\r\n`,
      inbox.address,
    );
    const quiet = await world.inbox();
    const later = (await schedule(quiet.id, { ...reply, threadId: await newThread(quiet) })).body.messageId;
    world.clock.pass(hourMs);
    await untilSo(async () => (await isOver(messageId)) && (await isOver(later)));
    expect((await get(messageId)).body).toMatchObject({ status: "failed", failure: { reason: "replied" } });
    expect((await get(later)).body.failure).toBeNull();
  });

  test("over the burst limit goes out ten a minute, in the order of its times", async () => {
    const inboxId = await newInbox(world);
    const ids: string[] = [];
    for (let number = 0; number < 25; number += 1) {
      ids.push(
        (await schedule(inboxId, { sendAt: inMs(hourMs - number * 1000), subject: `Number ${number}` })).body.messageId,
      );
    }
    const messages = async () => (await world.api(`/v1/inboxes/${inboxId}/messages`)).body;
    world.clock.pass(hourMs);
    await untilSo(async () => (await messages()).total === 10);
    world.clock.pass(minuteMs + 1000);
    await untilSo(async () => (await messages()).total === 20);
    world.clock.pass(minuteMs + 1000);
    await untilSo(async () => (await messages()).total === 25);
    expect((await messages()).data.map(({ id }: { id: string }) => id)).toEqual(ids);
  });

  test("is indexed for searches in the background, although newer ids were looked at before", async () => {
    const inboxId = await newInbox(world);
    const { messageId } = (await schedule(inboxId)).body;
    const newer = (await send(world, await newInbox(world))).body.messageId;
    const { api: db } = world.service.deps.db;
    world.clock.pass(minuteMs);
    await untilSo(async () => {
      const parts = await query<{ isPast: boolean }>(
        db,
        sql`select seen_id >= ${newer} as "isPast" from search_indexing`,
      );
      return parts.length > 0 && parts.every(({ isPast }) => isPast);
    });
    world.clock.pass(hourMs);
    await untilSo(
      async () => (await query(db, sql`select from message_search where message_id = ${messageId}`)).length === 1,
      20_000,
    );
  });

  test("fails if a limit delays it for a day", async () => {
    await using limited = await startWorld({ env: { SENDS_PER_DAY: "1" } });
    const inboxId = await newInbox(limited);
    const at = (ms: number) => new Date(limited.clock.now().getTime() + ms).toISOString();
    const ids: string[] = [];
    for (const ms of [1000, 2000, 3000]) ids.push((await send(limited, inboxId, { sendAt: at(ms) })).body.messageId);
    const stateOf = async (id = "") => (await limited.api(`/v1/messages/${id}`)).body;
    limited.clock.pass(5000);
    await untilSo(async () => (await stateOf(ids[0])).state === null);
    limited.clock.pass(dayMs);
    await untilSo(async () => (await stateOf(ids[1])).state === null && (await stateOf(ids[2])).state === null);
    expect((await stateOf(ids[1])).failure).toBeNull();
    expect((await stateOf(ids[2])).failure).toMatchObject({ reason: "limit" });
  });
});
