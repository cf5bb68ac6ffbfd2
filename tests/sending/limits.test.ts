import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { settable } from "../support/clock.ts";
import { enginesHere } from "../support/engines.ts";
import { type MailFields, mailOf } from "../support/mail.ts";
import { newAccount, newInbox, send, tally } from "../support/sends.ts";
import { countRows } from "../support/stored.ts";
import type { Answer, World } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const second = 1000;

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** Sends one mail after another, with time between them. */
async function sendOneByOne(world: World, inboxId: string, count: number, everyMs = 0, body: object = {}) {
  const answers: Answer[] = [];
  for (let index = 0; index < count; index += 1) {
    if (index > 0) world.clock.pass(everyMs);
    answers.push(await send(world, inboxId, body));
  }
  return answers;
}

describe.each(enginesHere())("limits of an inbox (%s)", (engine) => {
  const startWorld = worldsOn(engine);
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
  }, 30_000);
  afterAll(() => world[Symbol.asyncDispose]());

  test("of 50 sends at the same time, exactly 10 are accepted and 40 refused", async () => {
    const inboxId = await newInbox(world);
    const answers = await Promise.all(times(50, (index) => send(world, inboxId, { to: `jane${index}@example.com` })));
    expect(tally(answers)).toEqual({ "200": 10, "429 rate_limit_exceeded": 40 });
    expect(await countRows(world.service.deps.db.api, "messages", inboxId)).toBe(10);
    for (const { status, headers, body } of answers) {
      expect(headers.get("ratelimit-policy")).toBe('"burst";q=10;w=60, "daily";q=200;w=86400');
      if (status !== 429) continue;
      expect(headers.get("ratelimit")).toStartWith('"burst";r=0;t=60, "daily";r=190;');
      expect(headers.get("retry-after")).toBe("60");
      const resetsAt = new Date(world.clock.now().getTime() + 60 * second).toISOString();
      // Sends at the same time get dates at most one millisecond apart.
      expect(body).toMatchObject({ limit: 10, used: 10, resets_at: resetsAt });
    }
  });

  test("inboxes do not share a limit, even in one batch", async () => {
    const inboxIds = await Promise.all(times(4, () => newInbox(world)));
    const answers = await Promise.all(times(48, (index) => send(world, inboxIds[index % 4] ?? "")));
    expect(tally(answers)).toEqual({ "200": 40, "429 rate_limit_exceeded": 8 });
  });

  test("the minute slides: each send allows another one 60 seconds later", async () => {
    const inboxId = await newInbox(world);
    expect(tally(await sendOneByOne(world, inboxId, 10, 5 * second))).toEqual({ "200": 10 });
    const refused = await send(world, inboxId);
    expect([refused.body.code, refused.headers.get("retry-after")]).toEqual(["rate_limit_exceeded", "15"]);

    world.clock.pass(15 * second - 1);
    const early = await send(world, inboxId);
    expect([early.body.code, early.headers.get("retry-after")]).toEqual(["rate_limit_exceeded", "1"]);
    world.clock.pass(1);
    expect((await send(world, inboxId)).headers.get("ratelimit")).toStartWith('"burst";r=0;t=5, ');
    expect((await send(world, inboxId)).headers.get("retry-after")).toBe("5");
    world.clock.pass(5 * second);
    expect(tally(await sendOneByOne(world, inboxId, 2))).toEqual({ "200": 1, "429 rate_limit_exceeded": 1 });
  });

  test("the response shows what is left: nine after the first send, for a minute", async () => {
    const inboxId = await newInbox(world);
    const none = await send(world, inboxId, { to: "nobody" });
    expect(none.headers.get("ratelimit")).toStartWith('"burst";r=10;t=0, "daily";r=200;');
    const [first, next] = await sendOneByOne(world, inboxId, 2, 20 * second);
    expect(first?.headers.get("ratelimit")).toStartWith('"burst";r=9;t=60, "daily";r=199;');
    expect(next?.headers.get("ratelimit")).toStartWith('"burst";r=8;t=40, "daily";r=198;');
  });
});

describe.each(enginesHere())("limits of a day (%s)", (engine) => {
  const startWorld = worldsOn(engine);
  const env = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "30", COLD_RECIPIENT_DAILY: "0" };

  test("the count of a day ends at midnight UTC", async () => {
    await using world = await startWorld({ env });
    const inboxId = await newInbox(world);
    world.clock.set("2026-03-21T23:59:30.000Z");
    const answers = await Promise.all(times(35, () => send(world, inboxId)));
    expect(tally(answers)).toEqual({ "200": 30, "429 daily_limit_exceeded": 5 });
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.headers.get("retry-after")).toBe("30");
    expect(refused?.headers.get("ratelimit-policy")).toBe('"daily";q=30;w=86400');
    expect(refused?.headers.get("ratelimit")).toBe('"daily";r=0;t=30');
    expect(refused?.body).toMatchObject({ limit: 30, used: 30, resets_at: "2026-03-22T00:00:00.000Z" });

    world.clock.set("2026-03-22T00:00:00.000Z");
    const next = await send(world, inboxId);
    expect([next.status, next.headers.get("ratelimit")]).toEqual([200, '"daily";r=29;t=86400']);
  });

  test("the refusal names the first limit that is reached: burst, day, cold recipient", async () => {
    const limits = { SENDS_PER_MINUTE: "2", SENDS_PER_DAY: "3", COLD_RECIPIENT_DAILY: "1" };
    await using world = await startWorld({ env: limits });
    const inboxId = await newInbox(world);
    const codes = async () => (await send(world, inboxId)).body.code;
    expect(await codes()).toBeUndefined();
    expect(await codes()).toBe("cold_outreach_limit");
    expect((await send(world, inboxId, { to: "joe@example.com" })).status).toBe(200);
    expect(await codes()).toBe("rate_limit_exceeded");
    world.clock.pass(60 * second);
    expect((await send(world, inboxId, { to: "jim@example.com" })).status).toBe(200);
    expect(await codes()).toBe("daily_limit_exceeded");
  });
});

describe.each(enginesHere())("a clock that is set back (%s)", (engine) => {
  const startWorld = worldsOn(engine);

  test("by a day does not reset the limit of the day: the latest day counts", async () => {
    const limits = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "5", COLD_RECIPIENT_DAILY: "3", INBOXES_PER_DAY: "3" };
    await using world = await startWorld({ env: limits });
    world.clock.set("2026-03-22T10:00:00.000Z");
    const inboxId = await newInbox(world);
    expect(tally(await sendOneByOne(world, inboxId, 4))).toEqual({ "200": 3, "429 cold_outreach_limit": 1 });

    world.clock.set("2026-03-21T10:00:00.000Z");
    expect(tally([await send(world, inboxId)])).toEqual({ "429 cold_outreach_limit": 1 });
    const others = await Promise.all(times(4, (index) => send(world, inboxId, { to: `joe${index}@example.com` })));
    expect(tally(others)).toEqual({ "200": 2, "429 daily_limit_exceeded": 2 });
    const refused = others.find(({ status }) => status === 429);
    expect(refused?.body).toMatchObject({ limit: 5, used: 5, resets_at: "2026-03-23T00:00:00.000Z" });
    expect(refused?.headers.get("retry-after")).toBe(String(38 * 3600));
    expect(refused?.headers.get("ratelimit")).toBe(`"daily";r=0;t=${38 * 3600}`);

    for (let made = 1; made < 3; made += 1) await newInbox(world);
    const one = await world.api("/v1/inboxes", { method: "POST", body: {} });
    expect(one.body).toMatchObject({ code: "inbox_creation_limit", used: 3, resets_at: "2026-03-23T00:00:00.000Z" });

    world.clock.set("2026-03-23T00:00:00.000Z");
    expect((await send(world, inboxId)).status).toBe(200);
    await newInbox(world);
  });

  test("by an hour does not count earlier sends within the minute, but all later ones", async () => {
    await using world = await startWorld({ env: { SENDS_PER_MINUTE: "5", COLD_RECIPIENT_DAILY: "0" } });
    const inboxId = await newInbox(world);
    expect(tally(await sendOneByOne(world, inboxId, 6))).toEqual({ "200": 5, "429 rate_limit_exceeded": 1 });
    world.clock.pass(-3600 * second);
    const answers = await sendOneByOne(world, inboxId, 6, 10 * second);
    expect(tally(answers)).toEqual({ "200": 5, "429 rate_limit_exceeded": 1 });
    expect(answers[4]?.headers.get("ratelimit")).toStartWith('"burst";r=0;t=20');
    expect(answers[5]?.headers.get("retry-after")).toBe("10");
    world.clock.pass(10 * second);
    expect(tally(await Promise.all(times(4, () => send(world, inboxId))))).toEqual({
      "200": 1,
      "429 rate_limit_exceeded": 3,
    });
  });
});

describe.each(enginesHere())("cold recipients (%s)", (engine) => {
  const startWorld = worldsOn(engine);
  const env = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "3" };

  test("get three of many sends at the same time, whatever the case of the address", async () => {
    await using world = await startWorld({ env });
    const inboxId = await newInbox(world);
    const answers = await Promise.all(
      times(20, (index) => send(world, inboxId, { to: index % 2 ? "Jane@example.com" : "jane@EXAMPLE.com" })),
    );
    expect(tally(answers)).toEqual({ "200": 3, "429 cold_outreach_limit": 17 });
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body).toMatchObject({ limit: 3, used: 3, resets_at: "2026-03-22T00:00:00.000Z" });
    expect(refused?.headers.has("ratelimit")).toBe(false);
    expect((await send(world, inboxId, { to: "joe@example.com" })).status).toBe(200);
    expect((await send(world, await newInbox(world))).status).toBe(200);

    world.clock.set("2026-03-22T00:00:00.000Z");
    expect(tally(await sendOneByOne(world, inboxId, 4))).toEqual({ "200": 3, "429 cold_outreach_limit": 1 });
  });

  test("that have replied to the inbox once are no longer cold or counted", async () => {
    await using world = await startWorld({ env });
    const { id, address } = await world.inbox("ada");
    const other = await newInbox(world, world.apiKey, "bob");
    const sent = await sendOneByOne(world, id, 4);
    expect(tally(sent)).toEqual({ "200": 3, "429 cold_outreach_limit": 1 });
    const answer = { from: "Jane <JANE@example.com>", messageId: "hi@example.com", inReplyTo: await idOf(world, sent) };
    expect(await world.deliver(mailOf(answer), address)).toStartWith("250");
    expect(tally(await sendOneByOne(world, id, 8))).toEqual({ "200": 8 });
    expect(tally(await sendOneByOne(world, other, 4))).toEqual({ "200": 3, "429 cold_outreach_limit": 1 });
  });

  test("do not become known by a forged sender", async () => {
    await using world = await startWorld({ env });
    const { id, address } = await world.inbox("ada");
    const toJane = await sendOneByOne(world, id, 4);
    const toJim = await sendOneByOne(world, id, 4, 0, { to: "jim@example.com" });
    const forged: MailFields[] = [
      { from: "jane@example.com" },
      { from: "jane@example.com", inReplyTo: "some.id@inbox.localhost" },
      { from: "jane@example.com", references: [await idOf(world, toJim)] },
      { from: "mallory@example.com", inReplyTo: await idOf(world, toJane) },
      { from: "jane@example.com", messageId: "came.in@example.com" },
      { from: "jane@example.com", inReplyTo: "came.in@example.com" },
    ];
    for (const [number, mail] of forged.entries()) {
      const reply = await world.deliver(mailOf({ messageId: `forged.${number}@example.com`, ...mail }), address);
      expect(reply).toStartWith("250");
    }
    expect((await send(world, id)).body.code).toBe("cold_outreach_limit");
    expect((await send(world, id, { to: "jim@example.com" })).body.code).toBe("cold_outreach_limit");
    const toMallory = await sendOneByOne(world, id, 4, 0, { to: "mallory@example.com" });
    expect(tally(toMallory)).toEqual({ "200": 3, "429 cold_outreach_limit": 1 });
  });

  test("that reply to one inbox are still cold for another", async () => {
    await using world = await startWorld({ env });
    const ada = await world.inbox("ada");
    const bob = await world.inbox("bob");
    const sent = await sendOneByOne(world, ada.id, 4);
    const answer = { from: "jane@example.com", messageId: "hi@example.com", inReplyTo: await idOf(world, sent) };
    expect(await world.deliver(mailOf(answer), bob.address)).toStartWith("250");
    expect((await send(world, ada.id)).body.code).toBe("cold_outreach_limit");
  });

  test("do not include inboxes of this service", async () => {
    await using world = await startWorld({ env });
    const ada = await world.inbox("ada");
    const bob = await world.inbox("bob");
    expect(tally(await sendOneByOne(world, ada.id, 6, 0, { to: bob.address }))).toEqual({ "200": 6 });
  });

  /** The Message-ID of the first sent mail. */
  async function idOf(world: World, [sent]: readonly Answer[]): Promise<string> {
    const { body } = await world.api(`/v1/messages/${sent?.body.messageId}`);
    return body.rfcMessageId.slice(1, -1);
  }
});

describe("limits of a plan", () => {
  const startWorld = worldsOn("embedded");

  test("each plan has its own, and 0 means no limit", async () => {
    const env = {
      SENDS_PER_MINUTE: "2,enterprise=0,free=1",
      SENDS_PER_DAY: "0,free=5",
      COLD_RECIPIENT_DAILY: "0",
      INBOXES_PER_DAY: "0",
    };
    await using world = await startWorld({ env });
    const outcomes: Record<string, Record<string, number>> = {};
    const policies: Record<string, string | null> = {};
    for (const plan of ["free", "developer", "enterprise"] as const) {
      const apiKey = await newAccount(world, plan);
      const inboxId = await newInbox(world, apiKey);
      const answers = await Promise.all(times(12, () => send(world, inboxId, {}, { apiKey })));
      outcomes[plan] = tally(answers);
      policies[plan] = answers[0]?.headers.get("ratelimit-policy") ?? null;
    }
    expect(outcomes).toEqual({
      free: { "200": 1, "429 rate_limit_exceeded": 11 },
      developer: { "200": 2, "429 rate_limit_exceeded": 10 },
      enterprise: { "200": 12 },
    });
    expect(policies).toEqual({
      free: '"burst";q=1;w=60, "daily";q=5;w=86400',
      developer: '"burst";q=2;w=60',
      enterprise: null,
    });
  });
});

describe.skipIf(!enginesHere().includes("postgres"))("limits with two processes on one Postgres", () => {
  const startWorld = worldsOn("postgres");

  test("of 50 sends at the same time over both, exactly 10 are accepted, ten times", async () => {
    await using first = await startWorld();
    await using another = await first.another();
    for (let round = 0; round < 10; round += 1) {
      const inboxId = await newInbox(first);
      const answers = await Promise.all(times(50, (index) => send(index % 2 ? first : another, inboxId)));
      expect(tally(answers)).toEqual({ "200": 10, "429 rate_limit_exceeded": 40 });
    }
  });

  test("the limit of a day is exact, although midnight comes two seconds earlier in one process", async () => {
    const env = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "20", COLD_RECIPIENT_DAILY: "0" };
    await using late = await startWorld({ env, clock: settable("2026-03-21T23:59:58.500Z") });
    await using early = await late.another({ clock: settable("2026-03-22T00:00:00.500Z") });
    const inboxId = await newInbox(late);
    const yesterdays = await Promise.all(times(5, () => send(late, inboxId)));
    expect(tally(yesterdays)).toEqual({ "200": 5 });
    const answers: Answer[] = [];
    for (let index = 0; index < 54; index += 1) answers.push(await send(index % 2 ? late : early, inboxId));
    expect(tally(answers)).toEqual({ "200": 20, "429 daily_limit_exceeded": 34 });
  });

  test("the limits of a day and of cold recipients are exact over both, too", async () => {
    const env = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "40", COLD_RECIPIENT_DAILY: "7" };
    await using first = await startWorld({ env });
    await using another = await first.another();
    const inboxId = await newInbox(first);
    const cold = await Promise.all(times(30, (index) => send(index % 2 ? first : another, inboxId)));
    expect(tally(cold)).toEqual({ "200": 7, "429 cold_outreach_limit": 23 });
    const many = await Promise.all(
      times(60, (index) => send(index % 2 ? first : another, inboxId, { to: `jane${index}@example.com` })),
    );
    expect(tally(many)).toEqual({ "200": 33, "429 daily_limit_exceeded": 27 });
  });

  test("of 50 sends to five recipients at the same time over both, exactly the rest of the limit of a day is accepted", async () => {
    const env = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "98", COLD_RECIPIENT_DAILY: "3" };
    await using first = await startWorld({ env });
    await using another = await first.another();
    const toFive = (name: string, index: number) => ({
      to: times(5, (place) => `${name}-${index}-${place}@example.com`),
    });
    const both = (inboxId: string, bodyOf: (index: number) => object) =>
      Promise.all(times(50, (index) => send(index % 2 ? first : another, inboxId, bodyOf(index))));

    const inboxId = await newInbox(first);
    const many = await both(inboxId, (index) => toFive("jane", index));
    expect(tally(many)).toEqual({ "200": 19, "429 daily_limit_exceeded": 31 });
    // Three are left: a mail to four is refused, one to three is accepted.
    const [four, three] = [
      times(4, (place) => `four-${place}@example.com`),
      times(3, (place) => `${place}@example.com`),
    ];
    expect(tally([await send(another, inboxId, { to: four })])).toEqual({ "429 daily_limit_exceeded": 1 });
    expect(tally([await send(first, inboxId, { to: three })])).toEqual({ "200": 1 });
    expect(tally([await send(another, inboxId)])).toEqual({ "429 daily_limit_exceeded": 1 });

    // One of the five is the same in each mail, and gets three.
    const other = await newInbox(first);
    const cold = await both(other, (index) => ({ to: [...toFive("joe", index).to.slice(1), "ann@example.com"] }));
    expect(tally(cold)).toEqual({ "200": 3, "429 cold_outreach_limit": 47 });
    for (const { body } of cold.filter(({ status }) => status === 429)) {
      expect(body.recipients).toEqual(["ann@example.com"]);
    }
  });
});
