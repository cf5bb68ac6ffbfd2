import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query, transaction } from "../../../../src/database/db.ts";
import { createAccount, createKey, revokeKey } from "../../../../src/flows/account/manage-accounts.ts";
import { findFirstAccount } from "../../../../src/store/account/accounts.ts";
import { openStream, type StreamClient } from "../../../support/event-stream.ts";
import { untilAnswered } from "../../../support/until.ts";
import { wholeLog } from "../../../support/whole-log.ts";
import { startWorld, type World, type WorldInbox } from "../../../support/world.ts";

let world: World;
let ada: WorldInbox;
let bob: WorldInbox;
const clients: StreamClient[] = [];
const isShared = process.env.TEST_DATABASE_URL !== undefined;

beforeAll(async () => {
  world = await startWorld({ env: { METRICS_TOKEN: "token-of-the-metrics-in-tests" } });
  ada = await world.inbox("ada");
  bob = await world.inbox("bob");
}, 60_000);
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});
afterAll(() => world[Symbol.asyncDispose]());

async function stream(query = "", { apiKey = world.apiKey, lastId = "", on = world } = {}): Promise<StreamClient> {
  const headers = {
    ...(apiKey !== "" && { authorization: `Bearer ${apiKey}` }),
    ...(lastId !== "" && { "last-event-id": lastId }),
  };
  const client = await openStream(new URL(`/v1/events/stream${query}`, on.service.apiUrl), headers);
  clients.push(client);
  return client;
}

async function mail(inbox: WorldInbox, subject: string): Promise<void> {
  const reply = await world.deliver(`From: jane@example.com\r\nSubject: ${subject}\r\n\r\nHello\r\n`, inbox.address);
  expect(reply).toStartWith("250");
}

/** A separate account, whose key may be revoked. */
async function ownAccount(name: string) {
  const { deps } = world.service;
  const { account, apiKey } = await createAccount(deps, { name, plan: "developer" });
  const key = await createKey(deps, deps.db.api, { accountId: account.id });
  return { account, apiKey, key };
}

describe("A stream of events", () => {
  test("begins after the last event, and names it", async () => {
    await mail(ada, "before");
    const last = (await wholeLog(world)).at(-1);
    const client = await stream();
    expect(client.status).toBe(200);
    expect(client.headers.get("content-type")).toBe("text/event-stream");
    expect(client.headers.get("cache-control")).toBe("no-store");
    expect(client.headers.get("x-accel-buffering")).toBe("no");
    await client.frame(({ event }) => event === "ready");
    expect(client.frames.slice(0, 2)).toEqual([
      { retry: "1000" },
      { event: "ready", id: last ?? "", data: JSON.stringify({ after: last }) },
    ]);
  });

  test("of a tenant sends the events of its inboxes, from the log and live, also of one that is created later", async () => {
    const made = async (username: string, externalId: string): Promise<WorldInbox> =>
      (await world.api("/v1/inboxes", { method: "POST", body: { username, externalId } })).body;
    const first = await made("tenant-first", "tenant-1");
    await mail(first, "of the first");
    await mail(bob, "of nobody's");
    const client = await stream("?external_id=tenant-1,tenant-2&after=start");
    await client.frame((frame) => frame.data?.includes("of the first") === true);
    const later = await made("tenant-later", "tenant-2");
    await mail(bob, "of nobody's, again");
    await mail(later, "of the later");
    await client.frame((frame) => frame.data?.includes("of the later") === true);
    const told = client.frames.filter(({ event }) => event === "message.received");
    expect(told.map(({ data }) => JSON.parse(data ?? "").message.subject)).toEqual(["of the first", "of the later"]);
  });

  test("sends the same payload as the first attempt of a webhook", async () => {
    const client = await stream();
    await mail(ada, "as a webhook");
    const { id, event, data } = await client.frame((frame) => frame.data?.includes("as a webhook") === true);
    const told = JSON.parse(data ?? "");
    expect({ id, event }).toEqual({ id: told.event_id, event: "message.received" });
    expect(Object.keys(told)).toEqual([
      "event",
      "event_id",
      "occurred_at",
      "delivered_at",
      "attempt",
      "inbox_id",
      "external_id",
      "thread_id",
      "message",
    ]);
    expect(told).toMatchObject({
      attempt: 1,
      inbox_id: ada.id,
      message: { subject: "as a webhook", body_text: "Hello" },
    });
  });

  test("sends the whole log in order, from the start or after an event", async () => {
    for (const subject of ["one", "two", "three"]) await mail(bob, subject);
    const all = await wholeLog(world);
    const fromStart = await stream("?types=*&after=start");
    expect(await fromStart.untilTold(all.length)).toEqual(all);
    const [, second = ""] = all;
    const behind = await stream(`?types=*&after=${second}`);
    expect(await behind.untilTold(all.length - 2)).toEqual(all.slice(2));
    const again = await stream("?types=*&after=start", { lastId: second });
    expect(await again.untilTold(all.length - 2)).toEqual(all.slice(2));
  });

  test("sends only the requested events", async () => {
    const wanted = await stream(`?inbox_id=${bob.id}&after=start`);
    expect(await wanted.untilTold(3)).toEqual(await wholeLog(world, `inbox_id=${bob.id}`));
    const made = await stream("?types=inbox.created&after=start");
    expect(await made.untilTold(2)).toEqual(await wholeLog(world, "types=inbox.created"));
    const included = await stream("?after=start&include=automated,html");
    const { data } = await included.frame(({ event }) => event === "message.received");
    expect(JSON.parse(data ?? "").message).toMatchObject({ body_html: null, from_name: null, automated: null });
  });

  test("refuses a missing key, an unknown position, a foreign inbox or an unknown name before the first frame", async () => {
    const { apiKey } = await ownAccount("a stranger");
    expect((await stream("", { apiKey: "" })).status).toBe(401);
    const [first = ""] = await wholeLog(world);
    for (const query of [`?after=${first}`, "?after=evt_1", `?inbox_id=${ada.id}`]) {
      expect([query, (await stream(query, { apiKey })).status]).toEqual([query, 404]);
    }
    expect((await stream("", { apiKey, lastId: first })).status).toBe(404);
    expect((await stream("?since=1")).status).toBe(400);
    expect((await stream("?types=message.read")).status).toBe(400);
  });

  test("sends only events of its own account", async () => {
    const { apiKey } = await ownAccount("a neighbour");
    const theirs = await stream("?types=*&after=start", { apiKey });
    await theirs.frame(({ event }) => event === "ready");
    await mail(ada, "not theirs");
    const own = await world.api("/v1/inboxes", { method: "POST", body: { username: "neighbour" }, apiKey });
    expect(await theirs.untilTold(1)).toHaveLength(1);
    expect(theirs.frames.at(-1)?.data).toContain(own.body.id);
  });

  test("answers HEAD without listening", async () => {
    const { status, headers } = await world.fetch("/v1/events/stream", { method: "HEAD" });
    expect({ status, type: headers.get("content-type") }).toEqual({ status: 200, type: "text/event-stream" });
  });

  test("counts towards the account's limit", async () => {
    await using small = await startWorld({ env: { LISTENERS_PER_ACCOUNT: "1" } });
    const first = await stream("", { on: small });
    const { status, body, headers } = await small.api("/v1/events/stream");
    expect({ status, code: body.code, scope: body.scope, limit: body.limit }).toEqual({
      status: 429,
      code: "too_many_listeners",
      scope: "account",
      limit: 1,
    });
    expect(headers.get("retry-after")).toBe("1");
    first.close();
    const next = await untilAnswered(async () => {
      const client = await stream("", { on: small });
      return client.status === 200 ? client : undefined;
    });
    expect(next.status).toBe(200);
  }, 60_000);

  test("ends with a reason when its key is revoked", async () => {
    const { account, apiKey, key } = await ownAccount("to be revoked");
    const [stays, goes] = [await stream("", { apiKey }), await stream("", { apiKey: key.key })];
    await revokeKey(world.service.deps, key.id);
    await goes.over;
    expect(goes.frames.at(-1)).toEqual({ event: "end", data: '{"reason":"unauthorized"}' });
    const made = await createKey(world.service.deps, world.service.deps.db.api, { accountId: account.id });
    await world.api("/v1/inboxes", { method: "POST", body: {}, apiKey: made.key });
    const types = await stream("?types=*&after=start", { apiKey });
    await types.untilTold(1);
    expect(stays.frames.some(({ event }) => event === "end")).toBe(false);
  });

  test("is counted in the metrics", async () => {
    const { body } = await world.api("/metrics", { apiKey: "token-of-the-metrics-in-tests" });
    expect(body).toMatch(/^inboxd_stream_events_total [1-9]/m);
    expect(body).toMatch(/^inboxd_feed_reads_total [1-9]/m);
    expect(body).toMatch(/^inboxd_stream_closes_total\{reason="unauthorized"\} 1$/m);
    expect(body).toMatch(/^inboxd_listeners\{kind="sse"\} \d+$/m);
    expect(body).toMatch(/^inboxd_log_lag_seconds \d/m);
  });
});

describe("A stream by a token", () => {
  const token = async (body: object = {}) => (await world.api("/v1/tokens", { method: "POST", body })).body.token;

  test("accepts it in the URL, and sees only its inbox: requesting more is refused", async () => {
    const ofAda = await token({ inboxId: ada.id });
    const client = await stream(`?types=*&after=start&token=${ofAda}`, { apiKey: "" });
    const wanted = await wholeLog(world, `types=*&inbox_id=${ada.id}`);
    expect(await client.untilTold(wanted.length)).toEqual(wanted);
    expect((await stream(`?inbox_id=${bob.id}&token=${ofAda}`, { apiKey: "" })).status).toBe(404);
    expect((await stream(`?inbox_id=${ada.id},${bob.id}&token=${ofAda}`, { apiKey: "" })).status).toBe(404);
    await mail(bob, "not for this token");
    await mail(ada, "for this token");
    expect(await client.untilTold(wanted.length + 1)).toHaveLength(wanted.length + 1);
    expect(client.frames.some(({ data }) => data?.includes("not for this token"))).toBe(false);
  });

  test("accepts no key in the URL, and no token valid for more than an hour", async () => {
    const refused = await world.api(`/v1/events/stream?token=${world.apiKey}`, { apiKey: null });
    expect([refused.status, refused.body.detail]).toEqual([
      401,
      "Cannot authenticate: a URL must have a valid token that only reads and expires within an hour, and never a key",
    ]);
    const long = await token({ ttlSeconds: 3601 });
    expect((await stream(`?token=${long}`, { apiKey: "" })).status).toBe(401);
    expect((await stream("", { apiKey: long })).status).toBe(200);
    expect((await stream(`?token=${await token({ ttlSeconds: 3600 })}`, { apiKey: "" })).status).toBe(200);
  });

  test("ends with it", async () => {
    const client = await stream(`?token=${await token({ ttlSeconds: 60 })}`, { apiKey: "" });
    await client.frame(({ event }) => event === "ready");
    world.clock.pass(60_000);
    await client.over;
    expect(client.frames.at(-1)).toEqual({ event: "end", data: '{"reason":"expired"}' });
  });
});

test("a client that reconnects after a restart continues where it was", async () => {
  await using own = await startWorld();
  const inbox = await own.inbox("ada");
  const deliver = (subject: string) => own.deliver(`Subject: ${subject}\r\n\r\nHello\r\n`, inbox.address);
  const before = await stream("?types=*&after=start", { on: own });
  await deliver("before");
  await before.untilTold(2);
  await own.restart();
  await before.over;
  expect(before.frames.at(-1)).toEqual({ event: "end", data: '{"reason":"shutting_down"}' });
  await deliver("while it was away");
  const after = await stream("?types=*", { on: own, lastId: before.lastId ?? "" });
  await deliver("after");
  await after.untilTold(2);
  const { body } = await own.api("/v1/events?types=*&after=start");
  expect([...before.told(), ...after.told()]).toEqual(body.data.map(({ event_id: id }: { event_id: string }) => id));
}, 60_000);

describe.skipIf(!isShared)("Streams of two processes on one database", () => {
  test("send the events committed by the other", async () => {
    await using other = await world.another();
    const client = await stream("", { on: other });
    await mail(ada, "by the other process");
    const { data } = await client.frame((frame) => frame.data?.includes("by the other process") === true);
    expect(JSON.parse(data ?? "").message.subject).toBe("by the other process");
  }, 60_000);

  test("wait for an older transaction in progress, and then send all in order", async () => {
    const { db } = world.service.deps;
    const client = await stream("?types=*");
    const account = await findFirstAccount(db.api);
    const olderId = "evt_01km57j4m0eh7awf6pjemv292z";
    const told = JSON.stringify({ webhookId: "whk_1", url: "https://example.com", reason: "gone" });
    const begun = Promise.withResolvers<void>();
    const mayEnd = Promise.withResolvers<void>();
    const older = transaction(db.work, async (tx) => {
      await query(tx, sql`select pg_current_xact_id()`);
      begun.resolve();
      await mayEnd.promise;
      await query(
        tx,
        sql`insert into events (id, account_id, type, occurred_at, data)
            values (${olderId}, ${account?.id}, 'webhook.disabled', now(), ${told}::jsonb)`,
      );
    });
    await begun.promise;
    await mail(ada, "younger");
    expect(client.told()).toEqual([]);
    mayEnd.resolve();
    await older;
    await client.untilTold(2);
    expect(client.told()).toEqual((await wholeLog(world)).slice(-2));
    // Which of them is first depends on the transactions that other tests end meanwhile on the same server.
    expect(client.told()).toContain(olderId);
  }, 60_000);
});
