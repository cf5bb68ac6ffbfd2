import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query, transaction } from "../../src/database/db.ts";
import type { KeyUse } from "../../src/domain/idempotency.ts";
import { accountRules } from "../../src/flows/account-rules.ts";
import { emailSender } from "../../src/flows/send/send-email.ts";
import { databaseApart } from "../support/database.ts";
import { enginesHere } from "../support/engines.ts";
import { fairly } from "../support/fair-time.ts";
import { lockInbox } from "../support/lock-inbox.ts";
import { newAccount, newInbox, send, tally } from "../support/sends.ts";
import { countRows } from "../support/stored.ts";
import { watchesClock } from "../support/watches-clock.ts";
import { type Answer, startWorld, type World } from "../support/world.ts";
import { oneWorldOn, worldsOn } from "../support/world-on.ts";

const hour = 3_600_000;

/** The statuses, messages and replays of these responses. */
function outcome(answers: readonly Answer[]) {
  return {
    statuses: tally(answers),
    messages: [...new Set(answers.map(({ body }) => body.messageId))].length,
    replays: answers.filter(({ headers }) => headers.get("idempotent-replayed") === "true").length,
  };
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

describe.each(enginesHere())("one email for each key (%s)", (engine) => {
  const world = oneWorldOn(engine);
  const rows = (table: string, inboxId?: string) => countRows(world().service.deps.db.api, table, inboxId);

  test("50 requests at once with one key are one message and 49 replays", async () => {
    const inboxId = await newInbox(world());
    const answers = await Promise.all(times(50, () => send(world(), inboxId, {}, { key: "at-once" })));
    expect(outcome(answers)).toEqual({ statuses: { "200": 50 }, messages: 1, replays: 49 });
    expect(await rows("messages", inboxId)).toBe(1);
  });

  test("the same key with another body is refused, and the first response stays", async () => {
    const inboxId = await newInbox(world());
    const first = await send(world(), inboxId, {}, { key: "reused" });
    for (const change of [
      { subject: "Other" },
      { to: "joe@example.com" },
      { body: "Other" },
      { includeQuote: false },
    ]) {
      expect(tally([await send(world(), inboxId, change, { key: "reused" })])).toEqual({
        "422 idempotency_key_reused": 1,
      });
    }
    const again = await send(world(), inboxId, {}, { key: "reused" });
    expect(again.body.messageId).toBe(first.body.messageId);
    expect(await rows("messages", inboxId)).toBe(1);
  });

  test("of requests at the same time with one key and two bodies, one body is sent and the other refused", async () => {
    const inboxId = await newInbox(world());
    const answers = await Promise.all(
      times(20, (index) => send(world(), inboxId, { subject: index % 2 ? "odd" : "even" }, { key: "two-bodies" })),
    );
    expect(tally(answers)).toEqual({ "200": 10, "422 idempotency_key_reused": 10 });
    expect(await rows("messages", inboxId)).toBe(1);
  });

  test("the same key for two inboxes at the same time is one message, and the other request is refused", async () => {
    const inboxIds = await Promise.all(times(2, () => newInbox(world())));
    const answers = await Promise.all(inboxIds.map((inboxId) => send(world(), inboxId, {}, { key: "two-inboxes" })));
    expect(tally(answers)).toEqual({ "200": 1, "422 idempotency_key_reused": 1 });
  });

  test("the same key may be used by another account, and to create an inbox", async () => {
    const apiKey = await newAccount(world());
    const [mine, theirs] = [await newInbox(world()), await newInbox(world(), apiKey)];
    const body = { username: "shared-key" };
    const headers = { "idempotency-key": "shared" };
    const answers = [
      await world().api("/v1/inboxes", { method: "POST", body, headers }),
      await send(world(), mine, {}, { key: "shared" }),
      await send(world(), theirs, {}, { key: "shared", apiKey }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200]);
    expect(outcome(answers).replays).toBe(0);
  });

  const sameRequests: [what: string, first: object, second: object][] = [
    [
      "with its fields in another order",
      { to: "a@x.example", body: "b", subject: "c" },
      { subject: "c", body: "b", to: "a@x.example" },
    ],
    ["with defaults that the first left out", {}, { includeQuote: true }],
    ["with the domain in capitals", { to: "jane@example.com" }, { to: "jane@EXAMPLE.com" }],
  ];
  test.each(sameRequests)("the same request %s is a replay", async (what, first, second) => {
    const inboxId = await newInbox(world());
    const answers = [await send(world(), inboxId, first, { key: what.replaceAll(" ", "-") })];
    answers.push(await send(world(), inboxId, second, { key: what.replaceAll(" ", "-") }));
    expect(outcome(answers)).toEqual({ statuses: { "200": 2 }, messages: 1, replays: 1 });
  });

  test("white space between fields and quotes around the key do not matter", async () => {
    const inboxId = await newInbox(world());
    const fields = { to: "a@x.example", subject: "c", body: "b" };
    const answers: Answer[] = [];
    for (const [body, key] of [
      [JSON.stringify(fields), "quoted"],
      [JSON.stringify(fields, null, 4), '"quoted"'],
    ] as const) {
      const headers = { "idempotency-key": key, prefer: "respond-async" };
      answers.push(await world().api(`/v1/inboxes/${inboxId}/send`, { method: "POST", body, headers }));
    }
    expect(outcome(answers)).toEqual({ statuses: { "200": 2 }, messages: 1, replays: 1 });
  });

  test("a refused request does not use up its key", async () => {
    const inboxId = await newInbox(world());
    const refused = await send(world(), inboxId, { threadId: "thr_none" }, { key: "freed" });
    expect(refused.status).toBe(404);
    const accepted = await send(world(), inboxId, {}, { key: "freed" });
    expect(outcome([accepted])).toEqual({ statuses: { "200": 1 }, messages: 1, replays: 0 });
  });

  test("of a refused and a valid request at the same time with one key, the valid one is sent", async () => {
    const inboxId = await newInbox(world());
    const answers = await Promise.all([
      send(world(), inboxId, { threadId: "thr_none" }, { key: "mixed" }),
      send(world(), inboxId, {}, { key: "mixed" }),
    ]);
    expect(answers[1]?.status).toBe(200);
    expect(await rows("messages", inboxId)).toBe(1);
  });

  test("a replay sends nothing, and is not limited", async () => {
    const inboxId = await newInbox(world());
    const first = await send(world(), inboxId, {}, { key: "first" });
    await Promise.all(times(9, () => send(world(), inboxId)));
    const full = await send(world(), inboxId);
    expect(tally([full])).toEqual({ "429 rate_limit_exceeded": 1 });
    const again = await send(world(), inboxId, {}, { key: "first" });
    expect(again.body.messageId).toBe(first.body.messageId);
    expect(again.headers.get("ratelimit")).toBe(full.headers.get("ratelimit"));
    expect(await rows("messages", inboxId)).toBe(10);
  });

  test("a replay shows the current status of the message", async () => {
    const inboxId = await newInbox(world());
    const first = await send(world(), inboxId, {}, { key: "told-later" });
    expect(first.body.status).toBe("pending");
    await query(
      world().service.deps.db.api,
      sql`update messages set status = 'sent', provider_message_id = 'A1B2' where id = ${first.body.messageId}`,
    );
    const again = await send(world(), inboxId, {}, { key: "told-later" });
    expect(again.body).toMatchObject({ messageId: first.body.messageId, status: "sent", providerMessageId: "A1B2" });
  });
});

describe.each(enginesHere())("a key is kept for 24 hours (%s)", (engine) => {
  const startWorld = worldsOn(engine);

  test("also over a restart, and can then be used again", async () => {
    await using world = await startWorld();
    const inboxId = await newInbox(world);
    const first = await send(world, inboxId, {}, { key: "kept" });
    await world.restart();
    world.clock.pass(24 * hour - 1);
    const replay = await send(world, inboxId, {}, { key: "kept" });
    expect(outcome([first, replay])).toEqual({ statuses: { "200": 2 }, messages: 1, replays: 1 });

    world.clock.pass(1);
    const fresh = await Promise.all(times(5, () => send(world, inboxId, { subject: "Other" }, { key: "kept" })));
    expect(outcome(fresh)).toEqual({ statuses: { "200": 5 }, messages: 1, replays: 4 });
    expect(fresh[0]?.body.messageId).not.toBe(first.body.messageId);
  });
});

describe.skipIf(!enginesHere().includes("postgres"))("two processes on one Postgres", () => {
  let first: World;
  let second: World;
  beforeAll(async () => {
    first = await startWorld({ database: await databaseApart() });
    second = await first.another();
  });
  afterAll(async () => {
    await second[Symbol.asyncDispose]();
    await first[Symbol.asyncDispose]();
  });

  test("50 requests at once with one key are one message and 49 replays", async () => {
    const inboxId = await newInbox(first);
    const answers = await Promise.all(
      times(50, (index) => send(index % 2 ? first : second, inboxId, {}, { key: "two-processes" })),
    );
    expect(outcome(answers)).toEqual({ statuses: { "200": 50 }, messages: 1, replays: 49 });
    expect(await countRows(first.service.deps.db.api, "messages", inboxId)).toBe(1);
  });

  test("100 keys, each used in both at the same time, are 100 messages", async () => {
    const inboxIds = await Promise.all(times(20, () => newInbox(first)));
    const answers = await Promise.all(
      times(200, (index) => {
        const key = index >> 1;
        const inboxId = inboxIds[key % inboxIds.length] ?? "";
        return send(index % 2 ? first : second, inboxId, {}, { key: `pair-${key}` });
      }),
    );
    expect(outcome(answers)).toEqual({ statuses: { "200": 200 }, messages: 100, replays: 100 });
  });

  test("requests for a locked inbox are not carried out after they were answered, and delay no others", {
    ...watchesClock,
    timeout: 30_000,
  }, async () => {
    const [inboxId, other] = [await newInbox(first), await newInbox(first)];
    const release = await lockInbox(second.service.deps.db.api, inboxId);
    const startMs = performance.now();
    const firsts = times(8, (index) => send(first, inboxId, {}, { key: `hangs-${index}` }));
    const twins = times(4, () => send(first, inboxId, {}, { key: "hangs-too" }));
    const { result: others, fairMs } = await fairly(() => Promise.all(times(4, () => send(first, other))));
    expect(tally(others)).toEqual({ "200": 4 });
    expect(fairMs).toBeLessThan(2_000);

    const answers = await Promise.all(firsts);
    expect(tally(answers)).toEqual({ "503 service_unavailable": 8 });
    expect(performance.now() - startMs).toBeWithin(4_500, 8_000);
    for (const { headers } of answers) {
      expect(headers.get("retry-after")).toBe("1");
      expect(headers.has("ratelimit")).toBe(true);
    }
    const codes = (await Promise.all(twins)).map(({ body }) => body.code);
    expect(codes).toContain("service_unavailable");
    for (const code of codes) expect(code).toBeOneOf(["service_unavailable", "idempotency_in_progress"]);
    expect(await somebodyWaits()).toBe(false);
    const late = times(8, (index) => send(first, inboxId, {}, { key: `hangs-${index}` }));
    await untilSomebodyWaits();
    await release();
    expect(outcome(await Promise.all(late))).toEqual({
      statuses: { "200": 8 },
      messages: 8,
      replays: 0,
    });
    expect(await countRows(first.service.deps.db.api, "messages", inboxId)).toBe(8);
  });

  test("a request that waits a moment for a lock is accepted, once", async () => {
    const inboxId = await newInbox(first);
    const release = await lockInbox(second.service.deps.db.api, inboxId);
    const sends = times(6, (index) => send(index % 2 ? first : second, inboxId, {}, { key: "patient" }));
    await untilSomebodyWaits();
    await release();
    const answers = await Promise.all(sends);
    expect(outcome(answers)).toEqual({ statuses: { "200": 6 }, messages: 1, replays: 5 });
  });

  test("a request with the same key for another inbox, written between the check and the write, is still noticed", async () => {
    const [inboxId, twins] = [await newInbox(first), await newInbox(first)];
    const { deps } = second.service;
    await send(second, twins, {}, { key: "unseen" });
    const [use] = await query<KeyUse & Record<string, unknown>>(
      deps.db.api,
      sql`delete from idempotency_keys where key = 'unseen' returning *`,
    );
    const looked = Promise.withResolvers<void>();
    // The key is inserted but not committed: others cannot see it, and wait if they insert it too.
    const twin = transaction(deps.db.api, async (tx) => {
      await query(
        tx,
        sql`insert into idempotency_keys select * from json_populate_record(null::idempotency_keys, ${JSON.stringify(use)}::json)`,
      );
      looked.resolve();
      await untilSomebodyWaits();
    });
    await looked.promise;
    const answer = await send(first, inboxId, {}, { key: "unseen" });
    await twin;
    expect(tally([answer])).toEqual({ "422 idempotency_key_reused": 1 });
    expect(await countRows(deps.db.api, "messages", inboxId)).toBe(0);
  });

  test("a request whose key another process is inserting is refused for now, and the others of its batch are accepted", async () => {
    const inboxIds = await Promise.all(times(4, () => newInbox(first)));
    const { deps } = first.service;
    const [owner] = await query<{ accountId: string }>(
      deps.db.api,
      sql`select account_id as "accountId" from inboxes where id = ${inboxIds[0]}`,
    );
    const sendEmail = emailSender({ ...deps, rules: accountRules(deps) }, async () => undefined);
    const sends = () =>
      inboxIds.map((inboxId, index) =>
        sendEmail({
          account: { id: owner?.accountId ?? "", keyId: "key_1", plan: "developer" },
          inboxId,
          idempotencyKey: index === 1 ? "being-taken" : `not-taken-${index}`,
          recipients: [{ address: "jane@example.com", name: undefined, type: "to" as const }],
          subject: "Hello",
          body: "Hello Jane",
          includeQuote: false,
          bodyHtml: undefined,
          threadId: undefined,
          replyTo: undefined,
          readUpToMessageId: undefined,
          autoSubmitted: undefined,
          ignoreLoop: undefined,
        }),
      );
    const taken = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const taking = transaction(second.service.deps.db.api, async (tx) => {
      await query(
        tx,
        sql`insert into idempotency_keys values (${owner?.accountId}, 'send', 'being-taken', '', 'msg_x', now())`,
      );
      taken.resolve();
      await end.promise;
      await query(tx, sql`delete from idempotency_keys where key = 'being-taken'`);
    });
    await taken.promise;

    // Requests in one turn of the event loop are one batch.
    const results = await Promise.all(sends());
    expect(results.map(({ kind }) => kind)).toEqual(["accepted", "refused", "accepted", "accepted"]);
    expect(results[1]).toMatchObject({ refusal: { reason: "idempotency_in_progress" } });
    end.resolve();
    await taking;
    const again = await Promise.all(sends());
    expect(again.map(({ kind }) => kind)).toEqual(["replayed", "accepted", "replayed", "replayed"]);
    for (const inboxId of inboxIds) expect(await countRows(deps.db.api, "messages", inboxId)).toBe(1);
  });

  /** Whether a statement waits for a lock. */
  async function somebodyWaits(): Promise<boolean> {
    return (await query(second.service.deps.db.work, sql`select from pg_locks where not granted limit 1`)).length > 0;
  }

  async function untilSomebodyWaits(): Promise<void> {
    while (!(await somebodyWaits())) await Bun.sleep(5);
  }
});
