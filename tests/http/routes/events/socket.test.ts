import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { createAccount, createKey, revokeKey } from "../../../../src/flows/account/manage-accounts.ts";
import { until, untilAnswered } from "../../../support/until.ts";
import { startWorld, type World, type WorldInbox } from "../../../support/world.ts";

let world: World;
let ada: WorldInbox;
let bob: WorldInbox;
const opened: WebSocket[] = [];

beforeAll(async () => {
  world = await startWorld();
  ada = await world.inbox("ada");
  bob = await world.inbox("bob");
  // On a server that others use at the same time the log shows an event once older transactions are over.
  await untilAnswered(async () => (await world.api("/v1/events?types=inbox.created")).body.data[1]);
}, 60_000);
afterEach(() => {
  for (const socket of opened.splice(0)) socket.close();
});
afterAll(() => world[Symbol.asyncDispose]());

/** A standard WebSocket client that records its messages. */
async function connect({ apiKey = world.apiKey, query = "", on = world } = {}) {
  const url = new URL(`/v1/ws${query}`, on.service.apiUrl);
  url.protocol = "ws:";
  const options = apiKey === "" ? {} : { headers: { authorization: `Bearer ${apiKey}` } };
  const socket = new WebSocket(url, options as unknown as string[]);
  opened.push(socket);
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads it compares at once
  const heard: any[] = [];
  let code: number | undefined;
  socket.onmessage = ({ data }) => void heard.push(JSON.parse(data));
  socket.onclose = (closed) => {
    code = closed.code;
  };
  await new Promise((resolve) => {
    socket.onopen = resolve;
    socket.onerror = resolve;
  });
  return {
    heard,
    say: (message: unknown) => socket.send(typeof message === "string" ? message : JSON.stringify(message)),
    async answer(type: string) {
      await until(() => heard.some((message) => message.type === type) || code !== undefined);
      const at = heard.findIndex((message) => message.type === type);
      return at === -1 ? undefined : heard.splice(at, 1)[0];
    },
    async events(count: number) {
      const events = () => heard.filter(({ event }) => event !== undefined);
      await until(() => events().length >= count || code !== undefined);
      return events();
    },
    async closed() {
      await until(() => code !== undefined);
      return code;
    },
    leave: () => socket.close(),
  };
}

async function mail(inbox: WorldInbox, subject: string): Promise<void> {
  const reply = await world.deliver(`From: jane@example.com\r\nSubject: ${subject}\r\n\r\nHello\r\n`, inbox.address);
  expect(reply).toStartWith("250");
}

const subjects = (events: { message?: { subject: string } }[]) => events.map(({ message }) => message?.subject);

describe("A socket", () => {
  test("sends the payloads of new events of its subscriptions", async () => {
    const client = await connect();
    client.say({ type: "subscribe" });
    expect(await client.answer("subscribed")).toEqual({
      type: "subscribed",
      inbox_ids: null,
      external_ids: null,
      event_types: ["message.received"],
      last_event_id: expect.stringMatching(/^evt_/),
    });
    await mail(ada, "to all");
    const [told] = await client.events(1);
    expect(told).toMatchObject({ event: "message.received", attempt: 1, message: { subject: "to all" } });
  });

  test("adds and removes subscriptions", async () => {
    const client = await connect();
    client.say({ type: "subscribe", inbox_ids: [ada.id] });
    expect((await client.answer("subscribed")).inbox_ids).toEqual([ada.id]);
    client.say({ type: "subscribe", inbox_ids: [bob.id], event_types: ["inbox.deleted"] });
    expect(await client.answer("subscribed")).toMatchObject({
      inbox_ids: [ada.id, bob.id],
      event_types: ["message.received", "inbox.deleted"],
    });
    await mail(bob, "to bob");
    await client.events(1);
    client.say({ type: "unsubscribe", inbox_ids: [bob.id] });
    expect((await client.answer("unsubscribed")).inbox_ids).toEqual([ada.id]);
    await mail(bob, "to nobody");
    await mail(ada, "to ada");
    expect(subjects(await client.events(2))).toEqual(["to bob", "to ada"]);
    client.say({ type: "unsubscribe" });
    expect(await client.answer("unsubscribed")).toMatchObject({ inbox_ids: [], event_types: [] });
    client.say({ type: "subscribe", event_types: ["*"] });
    expect(await client.answer("subscribed")).toMatchObject({ inbox_ids: null, event_types: null });
  });

  test("sends the events of tenants, which add up, and are in all subscriptions or in none", async () => {
    const made = async (externalId: string): Promise<WorldInbox> =>
      (await world.api("/v1/inboxes", { method: "POST", body: { externalId } })).body;
    const [one, two] = [await made("socket-1"), await made("socket-2")];
    const client = await connect();
    client.say({ type: "subscribe", external_ids: ["socket-1"] });
    expect(await client.answer("subscribed")).toMatchObject({ inbox_ids: null, external_ids: ["socket-1"] });
    await mail(two, "before");
    await mail(one, "first");
    await client.events(1);
    client.say({ type: "subscribe" });
    expect(await client.answer("error")).toMatchObject({ code: "validation_error" });
    client.say({ type: "subscribe", external_ids: ["socket-2", "socket-1"] });
    expect(await client.answer("subscribed")).toMatchObject({ external_ids: ["socket-1", "socket-2"] });
    await mail(ada, "of no tenant");
    await mail(two, "second");
    expect(subjects(await client.events(2))).toEqual(["first", "second"]);
    client.say({ type: "unsubscribe" });
    expect(await client.answer("unsubscribed")).toMatchObject({ inbox_ids: [], external_ids: null, event_types: [] });
    client.say({ type: "subscribe" });
    expect(await client.answer("subscribed")).toMatchObject({ inbox_ids: null, external_ids: null });
  });

  test("sends all events after a given one, however many", async () => {
    const first = await connect();
    first.say({ type: "subscribe", event_types: ["*"], last_event_id: "start" });
    expect((await first.answer("subscribed")).last_event_id).toBe("start");
    const { body } = await world.api("/v1/events?types=*&after=start");
    const all = body.data.map((event: { event_id: string }) => event.event_id);
    expect((await first.events(all.length)).map(({ event_id: id }) => id)).toEqual(all);
    const second = await connect();
    second.say({ type: "subscribe", event_types: ["*"], last_event_id: all[1] });
    expect((await second.events(all.length - 2)).map(({ event_id: id }) => id)).toEqual(all.slice(2));
  });

  test("answers a ping", async () => {
    const client = await connect();
    client.say({ type: "ping" });
    expect(await client.answer("pong")).toEqual({ type: "pong" });
  });

  test("reports an invalid message, and continues", async () => {
    const client = await connect();
    const { apiKey } = await createAccount(world.service.deps, { name: "somebody", plan: "developer" });
    const other = (await world.api("/v1/inboxes", { method: "POST", body: {}, apiKey })).body.id;
    for (const [message, code] of [
      ["{", "invalid_json"],
      ["[]", "validation_error"],
      [{ type: "shout" }, "validation_error"],
      [{ type: "subscribe", event_types: ["message.read"] }, "validation_error"],
      [{ type: "subscribe", pods: [] }, "validation_error"],
      [{ type: "subscribe", inbox_ids: [other] }, "not_found"],
    ]) {
      client.say(message);
      expect([message, (await client.answer("error")).code]).toEqual([message, code]);
    }
    client.say({ type: "subscribe" });
    await client.answer("subscribed");
    for (const message of [
      { type: "subscribe", last_event_id: "start" },
      { type: "unsubscribe", inbox_ids: [ada.id] },
    ]) {
      client.say(message);
      expect((await client.answer("error")).code).toBe("validation_error");
    }
  });

  test("is refused if the URL has parameters that belong in messages", async () => {
    const headers = { authorization: `Bearer ${world.apiKey}`, upgrade: "websocket", connection: "Upgrade" };
    const answer = await fetch(new URL("/v1/ws?event_types=message.sent", world.service.apiUrl), { headers });
    expect([answer.status, (await answer.json()).code]).toEqual([400, "invalid_query"]);
  });

  test("closes with 1009 after a message over 64 KiB", async () => {
    const client = await connect();
    client.say(" ".repeat((64 << 10) + 1));
    expect(await client.closed()).toBe(1009);
  });

  test("closes with 4004 for an unknown event", async () => {
    const client = await connect();
    client.say({ type: "subscribe", last_event_id: "evt_01km57j4m0eh7awf6pjemv292z" });
    expect(await client.closed()).toBe(4004);
  });

  test("closes with 4029 after too much input: 31 messages at once, or one over 4 KiB", async () => {
    const many = await connect();
    for (let count = 0; count < 31; count += 1) many.say({ type: "ping" });
    expect(await many.closed()).toBe(4029);
    const long = await connect();
    long.say(" ".repeat(4097));
    expect(await long.closed()).toBe(4029);
    const enough = await connect();
    for (let count = 0; count < 30; count += 1) enough.say({ type: "ping" });
    await until(() => enough.heard.length === 30);
  });

  test("closes with 4001 when its key is revoked", async () => {
    const { deps } = world.service;
    const { account } = await createAccount(deps, { name: "with a key", plan: "developer" });
    const key = await createKey(deps, deps.db.api, { accountId: account.id });
    const client = await connect({ apiKey: key.key });
    await revokeKey(deps, key.id);
    expect(await client.closed()).toBe(4001);
  });

  test("closes with 4008 above the limit, and counts until its client has disconnected", async () => {
    await using small = await startWorld({ env: { LISTENERS_PER_ACCOUNT: "1" } });
    const first = await connect({ on: small });
    const second = await connect({ on: small });
    expect(await second.closed()).toBe(4008);
    first.leave();
    for (;;) {
      const next = await connect({ on: small });
      next.say({ type: "ping" });
      if ((await next.answer("pong")) !== undefined) break;
    }
  }, 60_000);

  test("closes with 1001 when the service ends", async () => {
    await using own = await startWorld();
    const client = await connect({ on: own });
    await own.restart();
    expect(await client.closed()).toBe(1001);
  }, 60_000);

  test("accepts a token in the URL, sees only its inbox, and ends with the token", async () => {
    const body = { inboxId: bob.id, ttlSeconds: 60 };
    const { token } = (await world.api("/v1/tokens", { method: "POST", body })).body;
    const client = await connect({ apiKey: "", query: `?token=${token}` });
    client.say({ type: "subscribe", inbox_ids: [ada.id] });
    expect((await client.answer("error")).code).toBe("not_found");
    client.say({ type: "subscribe" });
    expect((await client.answer("subscribed")).inbox_ids).toEqual([bob.id]);
    await mail(ada, "not for bob");
    await mail(bob, "for bob");
    expect(subjects(await client.events(1))).toEqual(["for bob"]);
    world.clock.pass(60_000);
    expect(await client.closed()).toBe(4001);
  });

  test("is refused without a key, and without an upgrade request", async () => {
    const upgrade = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    };
    const stranger = await world.api("/v1/ws", { apiKey: null, headers: upgrade });
    expect([stranger.status, stranger.body.code]).toEqual([401, "unauthorized"]);
    expect(stranger.headers.get("www-authenticate")).toBe("Bearer");
    const key = await world.api(`/v1/ws?token=${world.apiKey}`, { apiKey: null, headers: upgrade });
    expect(key.status).toBe(401);
    const plain = await world.api("/v1/ws");
    expect([plain.status, plain.body.code, plain.headers.get("upgrade")]).toEqual([
      426,
      "upgrade_required",
      "websocket",
    ]);
  });
});

test("A socket whose subscription fails by an error of the server is closed with 1013", async () => {
  await using own = await startWorld();
  const client = await connect({ apiKey: own.apiKey, on: own });
  const { db } = own.service.deps;
  const whole = db.api;
  Object.assign(db, { api: undefined });
  client.say({ type: "subscribe" });
  const code = await client.closed();
  Object.assign(db, { api: whole });
  expect(code).toBe(1013);
});
