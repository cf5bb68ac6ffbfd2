import { afterEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { Webhook } from "standardwebhooks";
import { query } from "../../src/database/db.ts";
import { service } from "../../src/domain/access/actor.ts";
import { deleteInbox } from "../../src/flows/account/delete-inbox.ts";
import { redeliverEvent } from "../../src/flows/events/redeliver-event.ts";
import { webhookFault } from "../../src/standards/signature.ts";
import type { WebhookClient, WebhookReply } from "../../src/webhook/client.ts";
import { enginesHere } from "../support/engines.ts";
import { type OutboxWorldOptions, outboxWorld } from "../support/outbox-world.ts";
import { answer, type Behaviour, hang, type Receiver, reset, startReceiver } from "../support/receiver.ts";
import { setUpEngine } from "../support/set-up-engine.ts";
import { watchesClock } from "../support/watches-clock.ts";

type World = Awaited<ReturnType<typeof outboxWorld>>;

for (const engine of enginesHere()) {
  describe(`An event, with the ${engine} database`, () => {
    const under = setUpEngine(engine);
    const worlds: World[] = [];
    const receivers: Receiver[] = [];

    afterEach(async () => {
      for (const world of worlds.splice(0)) await world.stop(0);
      for (const receiver of receivers.splice(0)) await receiver.close();
      await query(under.db.api, sql`truncate outbox`);
    });

    async function newWorld(options: OutboxWorldOptions = {}): Promise<World> {
      const world = await outboxWorld(under.db, options);
      worlds.push(world);
      return world;
    }

    async function begin(behaviour: Behaviour = answer(200), options: OutboxWorldOptions = {}) {
      const receiver = await startReceiver({ behaviour });
      receivers.push(receiver);
      const world = await newWorld(options);
      const inbox = await world.newInbox();
      const secret = await world.setWebhook(inbox.accountId, receiver.url);
      await world.start();
      return { receiver, world, inbox, secret };
    }

    async function eventOf(world: World, inbox: { id: string }): Promise<string> {
      const [event] = await world.events(inbox.id);
      if (event === undefined) throw new Error("No event");
      return event.id;
    }

    test("is told whole however large it is, and a receiver that hangs on a large one is sent no second meanwhile", async () => {
      const { receiver, world, inbox } = await begin(answer(200), { deps: { webhookTimeoutMs: 60_000 } });
      const other = await world.newInbox();
      const quick = await startReceiver();
      receivers.push(quick);
      await world.setWebhook(other.accountId, quick.url);
      // A receiver of which nothing is known gets one delivery at a time.
      await world.receive(inbox);
      await receiver.request(1);
      await world.rested();

      receiver.behave(hang);
      const large = "x".repeat(5_000_000);
      for (const bodyText of [large, large, large]) await world.receive(inbox, { bodyText });
      await receiver.request(2);
      await world.receive(other, { bodyText: large });
      await world.receive(inbox, { bodyText: "small" });
      expect(JSON.parse((await quick.request(1)).body).message.body_text).toBe(large);
      // What is small overtakes the large ones before it, after the second that they may hold it up for.
      expect(JSON.parse((await receiver.request(3)).body).message.body_text).toBe("small");
      expect(receiver.requests.length).toBe(3);
    });

    test("goes to the receiver signed in both schemes, with the payload of the contract", async () => {
      const { receiver, world, inbox, secret } = await begin();
      const bytes = new TextEncoder().encode("%PDF");
      await world.receive(inbox, {
        messageId: "a@b.example",
        subject: "Hi",
        cc: [{ address: "joe@mail.example" }],
        attachments: [
          { filename: "a b.pdf", contentType: "application/pdf", contentId: "logo@x", inline: true, bytes },
        ],
      });
      const { body, headers, method } = await receiver.request(1);
      const payload = JSON.parse(body);
      const id = payload.message.id;
      expect(method).toBe("POST");
      expect(payload).toEqual({
        event: "message.received",
        event_id: await eventOf(world, inbox),
        occurred_at: "2026-03-21T10:05:00.000Z",
        delivered_at: "2026-03-21T10:05:00.000Z",
        attempt: 1,
        inbox_id: inbox.id,
        external_id: "user-7",
        thread_id: expect.stringMatching(/^thr_/),
        message: {
          id: expect.stringMatching(/^msg_/),
          rfc_message_id: "<a@b.example>",
          from: "jane@mail.example",
          to: "bot@inbox.localhost",
          cc: ["joe@mail.example"],
          subject: "Hi",
          body_text: "Hello",
          attachments: [
            {
              filename: "a b.pdf",
              contentType: "application/pdf",
              sizeBytes: 4,
              url: expect.stringContaining(
                `http://localhost:3000/v1/attachments/${id}/a%20b.pdf?expires=1774088400&signature=`,
              ),
              id: expect.stringMatching(/^att_/),
              contentId: "logo@x",
              inline: true,
              expiresAt: "2026-03-21T10:20:00.000Z",
            },
          ],
          received_at: "2026-03-21T10:05:00.000Z",
        },
      });
      expect(body).toBe(JSON.stringify(payload));
      expect(Object.keys(payload).join()).toBe(
        "event,event_id,occurred_at,delivered_at,attempt,inbox_id,external_id,thread_id,message",
      );
      expect(Object.keys(payload.message).join()).toBe(
        "id,rfc_message_id,from,to,cc,subject,body_text,attachments,received_at",
      );
      expect(await webhookFault({ headers, body, secret, now: world.clock.now() })).toBe(undefined);
      expect(await webhookFault({ headers, body: `${body} `, secret, now: world.clock.now() })).toBeString();
    });

    test("is taken by the library of Standard Webhooks, with today's clock", async () => {
      const options = { deps: { now: () => new Date() } };
      const { receiver, world, inbox, secret } = await begin(answer(204), options);
      await world.receive(inbox);
      const { body, headers } = await receiver.request(1);
      expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
    });

    test("is tried again at the times of the contract, six times in all, each attempt fresh and in the log", async () => {
      const { receiver, world, inbox, secret } = await begin(answer(500, {}, "oops"));
      await world.receive(inbox);
      const waits = [30_000, 180_000, 1_080_000, 6_480_000, 38_880_000];
      const startMs = world.clock.now().getTime();
      let passedMs = 0;
      for (const [index, waitMs] of waits.entries()) {
        await receiver.request(index + 1);
        await world.rested();
        expect(await world.waiting()).toMatchObject([
          { attempt: index + 1, state: "waiting", dueAt: new Date(startMs + passedMs + waitMs) },
        ]);
        world.pass(waitMs);
        passedMs += waitMs;
      }
      await receiver.request(6);
      await world.emptied();
      const payloads = receiver.requests.map(({ body }) => JSON.parse(body));
      expect(payloads.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(new Set(payloads.map(({ event_id }) => event_id)).size).toBe(1);
      expect(new Set(payloads.map(({ delivered_at }) => delivered_at)).size).toBe(6);
      const last = receiver.requests[5];
      expect(
        await webhookFault({ headers: last?.headers ?? {}, body: last?.body ?? "", secret, now: world.clock.now() }),
      ).toBe(undefined);
      const log = await world.deliveries(await eventOf(world, inbox));
      expect(log.map(({ attempt, status, error, response }) => [attempt, status, error, response])).toEqual(
        [1, 2, 3, 4, 5, 6].map((attempt) => [attempt, 500, "answered 500", "oops"]),
      );
    });

    const failures: [what: string, behaviour: Behaviour, status: number | null, error: string][] = [
      ["a reset", reset, null, "connection reset"],
      [
        "a redirect",
        answer(302, { location: "http://169.254.169.254/" }),
        302,
        "answered 302: redirects are not followed",
      ],
      ["a 404", answer(404), 404, "answered 404"],
    ];
    test.each(failures)("is tried again after %s", async (_, behaviour, status, error) => {
      const { receiver, world, inbox } = await begin(behaviour);
      await world.receive(inbox);
      await receiver.request(1);
      await world.rested();
      expect(await world.deliveries(await eventOf(world, inbox))).toMatchObject([{ attempt: 1, status, error }]);
      expect(await world.waiting()).toHaveLength(1);
    });

    describe("whose kept connection is reset once it was read", () => {
      /** Takes the first request of each connection, and resets the connection at the next. */
      async function resetsWhatIsKept() {
        const seen = new Set<number>();
        const begun = await begin((socket, request) => {
          const behave = seen.has(request.connection) ? reset : answer(200);
          seen.add(request.connection);
          behave(socket, request);
        });
        await begun.world.receive(begun.inbox);
        await begun.world.emptied();
        await begun.world.receive(begun.inbox);
        return begun;
      }
      const attemptsAt = (receiver: Receiver) =>
        receiver.requests.map(({ body, connection }) => {
          const { event_id, attempt } = JSON.parse(body);
          return { event_id, attempt, connection };
        });

      test("is tried again at once, as an attempt of its own, over a connection of its own", async () => {
        const { receiver, world, inbox } = await resetsWhatIsKept();
        await world.emptied();
        const [first, second] = (await world.events(inbox.id)).map(({ id }) => id);
        expect(attemptsAt(receiver)).toEqual([
          { event_id: first, attempt: 1, connection: 1 },
          { event_id: second, attempt: 1, connection: 1 },
          { event_id: second, attempt: 2, connection: 2 },
        ]);
        expect(await world.deliveries(second ?? "")).toMatchObject([
          { attempt: 1, status: null, error: "connection reset" },
          { attempt: 2, status: 200, error: null },
        ]);
      });

      test("has lost none of its retries by that", async () => {
        const { receiver, world } = await resetsWhatIsKept();
        receiver.behave(reset);
        await receiver.request(3);
        await world.rested();
        const dueAt = new Date(world.clock.now().getTime() + 30_000);
        expect(await world.waiting()).toMatchObject([{ attempt: 2, dueAt }]);
        world.pass(30_000);
        await receiver.request(4);
        await world.rested();
        expect(attemptsAt(receiver).map(({ attempt }) => attempt)).toEqual([1, 1, 2, 3]);
      });
    });

    test("waits as long as a 429 or 503 asks, and no less than the schedule says", async () => {
      const { receiver, world, inbox } = await begin(answer(503, { "retry-after": "3600" }));
      await world.receive(inbox);
      await receiver.request(1);
      await world.rested();
      expect(await world.waiting()).toMatchObject([{ dueAt: new Date("2026-03-21T11:05:00.000Z") }]);
    });

    test("is the last when the receiver says 410: the webhook is disabled, and what still waits is dropped", async () => {
      const { receiver, world, inbox } = await begin(answer(500));
      await world.receive(inbox, { subject: "first" });
      await receiver.request(1);
      await world.rested();
      receiver.behave(answer(410));
      await world.receive(inbox, { subject: "second" });
      await receiver.request(2);
      await world.rested();
      const webhook = sql`select disabled_at from endpoints where account_id = ${inbox.accountId}`;
      expect(await query(under.db.api, webhook)).toEqual([{ disabled_at: world.clock.now() }]);
      world.pass(30_000);
      await world.emptied();
      expect(receiver.requests).toHaveLength(2);
      const [first, second] = await world.events(inbox.id);
      expect(await world.deliveries(first?.id ?? "")).toMatchObject([
        { attempt: 1, status: 500 },
        { attempt: 2, status: null, error: "not sent: the webhook is disabled" },
      ]);
      expect(await world.deliveries(second?.id ?? "")).toMatchObject([{ attempt: 1, status: 410 }]);
      await world.receive(inbox, { subject: "third" });
      expect(await world.waiting()).toEqual([]);
      expect(await world.events(inbox.id)).toHaveLength(3);
    });

    test("is dropped when its inbox is deleted before it could be delivered", async () => {
      const { receiver, world, inbox } = await begin(answer(500));
      await world.receive(inbox);
      await receiver.request(1);
      await world.rested();
      await deleteInbox(world.deps, { accountId: inbox.accountId, actor: service }, inbox.id);
      world.pass(30_000);
      await world.emptied();
      expect(receiver.requests).toHaveLength(1);
    });

    test("starts in the order of arrival in its inbox, and a retry holds nothing back", async () => {
      const fails = new Set(["Mail 3"]);
      const { receiver, world, inbox } = await begin((socket, request) =>
        answer(fails.has(JSON.parse(request.body).message.subject) ? 500 : 200)(socket, request),
      );
      const posts = () => receiver.requests.map(({ body }) => JSON.parse(body));
      for (let mail = 0; mail < 30; mail += 1) await world.receive(inbox);
      await world.rested();
      expect(posts().map(({ message }) => message.subject)).toEqual(
        Array.from({ length: 30 }, (_, n) => `Mail ${n + 1}`),
      );
      fails.clear();
      world.pass(30_000);
      await world.receive(inbox, { subject: "later" });
      await world.emptied();
      expect(
        posts()
          .slice(30)
          .map(({ attempt, message }) => `${message.subject} ${attempt}`)
          .toSorted(),
      ).toEqual(["Mail 3 2", "later 1"]);
    });

    test("of a process that died goes out again from another, and the log has every attempt", async () => {
      const { receiver, inbox, world } = await begin(hang);
      await world.receive(inbox);
      await receiver.request(1);
      // The first process is not stopped: it hangs, and nobody hears of it.
      receiver.behave(answer(200));
      const other = await newWorld({ clock: world.clock });
      await other.start();
      world.clock.pass(30_000);
      other.deps.nudge("webhook");
      await receiver.request(2);
      await other.emptied();
      expect(receiver.requests.map(({ body }) => JSON.parse(body).attempt)).toEqual([1, 2]);
      expect(await other.deliveries(await eventOf(other, inbox))).toMatchObject([
        { attempt: 1, status: null, error: "no outcome was recorded: the process ended during the attempt" },
        { attempt: 2, status: 200, error: null },
      ]);
    });

    test("that a stopped process delivered after its lease is logged, and nothing else is overwritten", async () => {
      const held = Promise.withResolvers<WebhookReply>();
      const posting = Promise.withResolvers<void>();
      const slow: WebhookClient = {
        post() {
          posting.resolve();
          return held.promise;
        },
        close: () => undefined,
      };
      const { receiver, inbox, world } = await begin(answer(500), { deps: { webhooks: slow } });
      await world.receive(inbox);
      await posting.promise;
      // It claims and renews nothing more, but has this in hand still.
      const stopped = world.stop();
      const other = await newWorld({ clock: world.clock });
      await other.start();
      world.clock.pass(30_000);
      other.deps.nudge("webhook");
      await receiver.request(1);
      await other.rested();
      held.resolve({ kind: "answered", status: 200, body: "late", retryAfter: undefined, latencyMs: 31_000 });
      await stopped;
      expect(await other.deliveries(await eventOf(other, inbox))).toMatchObject([
        { attempt: 1, status: 200, response: "late" },
        { attempt: 2, status: 500 },
      ]);
      expect(await other.waiting()).toMatchObject([{ attempt: 2, state: "waiting" }]);
      expect(world.warnings()).toContain("claim was lost: the row was claimed again or deleted");
    });

    test("in hand at the end is let go on, and cut off when the grace is over: due again at once", async () => {
      const { receiver, inbox, world } = await begin(hang);
      await world.receive(inbox);
      await receiver.request(1);
      await world.stop(20);
      expect(await world.waiting()).toMatchObject([{ attempt: 1, state: "waiting", dueAt: world.clock.now() }]);
      expect(await world.deliveries(await eventOf(world, inbox))).toMatchObject([{ error: "the attempt was aborted" }]);
      receiver.behave(answer(200));
      const next = await newWorld({ clock: world.clock });
      await next.start();
      expect(JSON.parse((await receiver.request(2)).body).attempt).toBe(2);
    });

    test("is delivered again on demand from a fresh schedule, the attempts going on", async () => {
      const { receiver, inbox, world } = await begin(answer(200));
      await world.receive(inbox);
      await receiver.request(1);
      await world.rested();
      receiver.behave(answer(500));
      const id = await eventOf(world, inbox);
      await redeliverEvent(world.deps, { accountId: inbox.accountId, actor: service }, id);
      await receiver.request(2);
      await world.rested();
      expect(await world.waiting()).toMatchObject([{ attempt: 2, dueAt: new Date("2026-03-21T10:05:30.000Z") }]);
      await redeliverEvent(world.deps, { accountId: inbox.accountId, actor: service }, id);
      await receiver.request(3);
      await world.rested();
      expect(await world.deliveries(id)).toMatchObject([{ attempt: 1 }, { attempt: 2 }, { attempt: 3 }]);
    });

    test("finds a healthy receiver while others hang", { ...watchesClock, timeout: 20_000 }, async () => {
      const { receiver: healthy, world, inbox } = await begin();
      const hanging = await startReceiver({ behaviour: hang });
      receivers.push(hanging);
      const others = [];
      for (let number = 0; number < 30; number += 1) others.push(await world.newInbox());
      await query(
        under.db.api,
        sql`insert into endpoints (id, account_id, is_default, url, secret, created_at, event_types, skip_automated, include)
            select 'whk_' || id, account_id, true, ${hanging.url}, ${"s".repeat(24)}, now(), '{message.received}', false, '{}'
            from inboxes where id in (select json_array_elements_text(${JSON.stringify(others.map(({ id }) => id))}::json))`,
      );
      for (const other of others) for (let mail = 0; mail < 2; mail += 1) await world.receive(other);
      const latencies: number[] = [];
      for (let mail = 1; mail <= 5; mail += 1) {
        const startMs = performance.now();
        await world.receive(inbox);
        await healthy.request(mail);
        latencies.push(performance.now() - startMs);
      }
      expect(Math.max(...latencies)).toBeLessThan(1000);
    });
  });
}
