import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { enginesHere } from "../../../support/engines.ts";
import { mailOf } from "../../../support/mail.ts";
import { readMetrics } from "../../../support/metrics.ts";
import { untilAnswered } from "../../../support/until.ts";
import type { World, WorldInbox } from "../../../support/world.ts";
import { worldsOn } from "../../../support/world-on.ts";

describe.each(enginesHere())("A wait (%s)", (engine) => {
  const startWorld = worldsOn(engine);
  let world: World;
  beforeAll(async () => {
    world = await startWorld({ env: { METRICS_PORT: "0", LISTENERS_PER_ACCOUNT: "5" } });
  }, 30_000);
  afterAll(() => world?.[Symbol.asyncDispose]());

  const wait = (inbox: Pick<WorldInbox, "id">, query = "") => world.api(`/v1/inboxes/${inbox.id}/wait?${query}`);
  const cursorNow = async (inbox: WorldInbox) => (await wait(inbox, "timeout=0")).body.cursor as string;
  const open = async () => (await readMetrics(world)).get('inboxd_listeners{kind="wait"}');

  /** Waits until there are this many waits. */
  function listening(count: number): Promise<true> {
    return untilAnswered(async () => ((await open()) === count ? true : undefined));
  }

  test("returns the mail that arrives, as in its own resource, with a cursor", async () => {
    const inbox = await world.inbox();
    const answer = wait(inbox);
    await listening(1);
    await world.deliver(mailOf({ subject: "Your order" }), inbox.address);
    const { status, body } = await answer;
    expect([status, body.message.subject]).toEqual([200, "Your order"]);
    expect(body.message).toEqual((await world.api(`/v1/messages/${body.message.id}`)).body);
    expect(Object.keys(body)).toEqual(["message", "cursor"]);
    expect(await cursorNow(inbox)).toBe(body.cursor);
    expect(await open()).toBe(0);
  });

  test("returns null after its time, at once with a time of 0", async () => {
    const inbox = await world.inbox();
    const { status, body } = await wait(inbox, "timeout=0");
    expect([status, body]).toEqual([200, { message: null, cursor: expect.any(String) }]);
    expect((await wait(inbox, "timeout=1")).body).toEqual(body);
  });

  test("returns the newest mail of the last minute, and no older one", async () => {
    const inbox = await world.inbox();
    await world.deliver(mailOf({ subject: "First" }), inbox.address);
    world.clock.pass(50_000);
    await world.deliver(mailOf({ subject: "Second" }), inbox.address);
    expect((await wait(inbox)).body.message.subject).toBe("Second");
    expect((await wait(inbox, "subject=first")).body.message.subject).toBe("First");
    world.clock.pass(20_000);
    expect((await wait(inbox, "timeout=0&subject=first")).body.message).toBeNull();
    expect((await wait(inbox, "since=2026-03-21&subject=first")).body.message.subject).toBe("First");
  });

  test("with a cursor returns one mail after another, each once", async () => {
    const inbox = await world.inbox();
    let cursor = await cursorNow(inbox);
    for (const subject of ["One", "Two", "Three"]) await world.deliver(mailOf({ subject }), inbox.address);
    const seen: string[] = [];
    for (let asked = 0; asked < 4; asked += 1) {
      const { body } = await wait(inbox, `timeout=0&after=${cursor}`);
      cursor = body.cursor;
      if (body.message !== null) seen.push(body.message.subject);
    }
    expect(seen).toEqual(["One", "Two", "Three"]);
  });

  test("continues after a message, also a sent one", async () => {
    const inbox = await world.inbox();
    await world.deliver(mailOf({ subject: "Before" }), inbox.address);
    const first = (await wait(inbox)).body.message;
    const sent = await world.api(`/v1/inboxes/${inbox.id}/send`, {
      method: "POST",
      headers: { "idempotency-key": inbox.id },
      body: { to: "jane@example.com", subject: "Ask", body: "Hello" },
    });
    await world.deliver(mailOf({ subject: "Behind" }), inbox.address);
    for (const id of [first.id, sent.body.messageId]) {
      expect((await wait(inbox, `after=${id}`)).body.message.subject).toBe("Behind");
    }
    expect((await wait(inbox, `timeout=0&thread_id=${first.threadId}`)).body.message.subject).toBe("Before");
  });

  test("skips mail that does not match", async () => {
    const inbox = await world.inbox("bea");
    const answer = wait(inbox, "from=@acme.example&subject=CODE&to=bea%2Bshop@inbox.localhost");
    await listening(1);
    const tagged = "bea+shop@inbox.localhost";
    await world.deliver(mailOf({ from: "Jane <jane@example.com>", subject: "Your code" }), tagged);
    await world.deliver(mailOf({ from: "Acme <no-reply@mail.acme.example>", subject: "Welcome" }), tagged);
    await world.deliver(mailOf({ from: "Acme <no-reply@mail.acme.example>", subject: "Your code" }), inbox.address);
    const right = mailOf({ from: "Acme <no-reply@mail.acme.example>", subject: "Your code", messageId: "x@y" });
    await world.deliver(right, tagged);
    expect((await answer).body.message.rfcMessageId).toBe("<x@y>");
  });

  test("can be one of several that get the same mail", async () => {
    const inbox = await world.inbox();
    const answers = [wait(inbox), wait(inbox), wait(inbox)];
    await listening(3);
    await world.deliver(mailOf(), inbox.address);
    const ids = (await Promise.all(answers)).map(({ body }) => body.message.id);
    expect(new Set(ids).size).toBe(1);
  });

  const wrong: [query: string, parameter: string, says: RegExp][] = [
    ["timeout=61", "timeout", /0 to 60/],
    ["timeout=-1", "timeout", /0 to 60/],
    ["timeout=1.5", "timeout", /whole number/],
    ["has=code,money", "has", /"code", "link", "attachment"/],
    ["has=", "has", /"code", "link", "attachment"/],
    ["automated=maybe", "automated", /true or false/],
    ["from=", "from", /1 to 500/],
    ["since=tomorrow", "since", /must be a day/],
    ["after=yesterday", "after", /`cursor` of a wait/],
    ["after=msg_1&since=2026-03-21", "since", /without|left out/],
    ["until=2026-03-21", "until", /not known/],
  ];
  test.each(wrong)("refuses %s", async (query, parameter, says) => {
    const inbox = await world.inbox();
    const { status, body } = await wait(inbox, query);
    expect([status, body.code, body.errors[0].parameter]).toEqual([400, "invalid_query", parameter]);
    expect(body.detail).toMatch(says);
    expect((await wait({ id: "inb_none" }, query)).body.resource).toBe("inbox");
  });

  test("refuses the cursor of another inbox, and a message or thread that is not of this one", async () => {
    const [inbox, other] = [await world.inbox(), await world.inbox()];
    await world.deliver(mailOf(), other.address);
    const { message, cursor } = (await wait(other)).body;
    expect((await wait(inbox, `after=${cursor}`)).body.errors[0].parameter).toBe("after");
    const notHere = [`after=${message.id}`, "after=msg_none", `thread_id=${message.threadId}`, "thread_id=x"];
    const answers = await Promise.all(notHere.map((query) => wait(inbox, query)));
    expect(answers.map(({ status, body }) => [status, body.resource])).toEqual([
      [404, "message"],
      [404, "message"],
      [404, "thread"],
      [404, "thread"],
    ]);
  });

  test("ends with 404 when its inbox is deleted", async () => {
    const inbox = await world.inbox();
    const answer = wait(inbox, "timeout=60");
    await listening(1);
    await world.api(`/v1/inboxes/${inbox.id}`, { method: "DELETE" });
    expect((await answer).body).toMatchObject({ status: 404, resource: "inbox" });
    expect((await wait(inbox)).status).toBe(404);
  });

  test("above the account's limit is refused, unless its time is 0", async () => {
    const inbox = await world.inbox();
    const abort = new AbortController();
    const waiting = Array.from({ length: 5 }, () =>
      fetch(new URL(`/v1/inboxes/${inbox.id}/wait`, world.service.apiUrl), {
        headers: { authorization: `Bearer ${world.apiKey}` },
        signal: abort.signal,
      }).catch(() => "gone"),
    );
    await listening(5);
    const { status, headers, body } = await wait(inbox);
    expect([status, headers.get("retry-after")]).toEqual([429, "1"]);
    expect(body).toMatchObject({ code: "too_many_listeners", limit: 5, scope: "account" });
    expect((await wait({ id: "inb_none" })).status).toBe(404);
    expect((await wait(inbox, "timeout=0")).status).toBe(200);
    const goneBefore = (await readMetrics(world)).get('inboxd_waits_total{outcome="gone"}') ?? 0;
    // A wait whose client has disconnected no longer counts.
    abort.abort();
    await Promise.all(waiting);
    await listening(0);
    expect((await readMetrics(world)).get('inboxd_waits_total{outcome="gone"}')).toBe(goneBefore + 5);
    const answer = wait(inbox);
    await listening(1);
    await world.deliver(mailOf(), inbox.address);
    expect((await answer).body.message.subject).toBe("Hello");
  });

  test("is counted by its result", async () => {
    const counts = await readMetrics(world);
    expect(counts.get('inboxd_waits_total{outcome="found"}')).toBeGreaterThan(5);
    expect(counts.get('inboxd_waits_total{outcome="timeout"}')).toBeGreaterThan(1);
    expect(counts.has("inboxd_wait_wake_seconds_count")).toBe(true);
  });
});

describe.each(enginesHere())("When the service stops (%s)", (engine) => {
  const startWorld = worldsOn(engine);

  test("each wait returns null with a cursor for the next process", async () => {
    await using world = await startWorld({ env: { METRICS_PORT: "0" } });
    const inbox = await world.inbox();
    await world.deliver(mailOf({ subject: "Before" }), inbox.address);
    const url = () => new URL(`/v1/inboxes/${inbox.id}/wait?subject=later&timeout=60`, world.service.apiUrl);
    const headers = { authorization: `Bearer ${world.apiKey}` };
    const waiting = Array.from({ length: 20 }, () => fetch(url(), { headers }));
    await untilAnswered(async () =>
      (await readMetrics(world)).get('inboxd_listeners{kind="wait"}') === 20 ? true : undefined,
    );
    await world.restart();
    const answers = await Promise.all(waiting);
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(new Set(answers.map((answer) => answer.headers.get("connection")))).toEqual(new Set(["close"]));
    const bodies = await Promise.all(
      answers.map((answer) => answer.json() as Promise<{ message: null; cursor: string }>),
    );
    expect(bodies.every(({ message }) => message === null)).toBe(true);
    await world.deliver(mailOf({ subject: "Later" }), inbox.address);
    const next = await world.api(`/v1/inboxes/${inbox.id}/wait?after=${bodies[0]?.cursor}`);
    expect(next.body.message.subject).toBe("Later");
  }, 30_000);
});
