import { afterEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query, transaction } from "../../../../src/database/db.ts";
import { service } from "../../../../src/domain/access/actor.ts";
import { deleteInbox } from "../../../../src/flows/account/delete-inbox.ts";
import { insertEvents } from "../../../../src/store/events/fan-out.ts";
import { settleDeliveries } from "../../../../src/store/outbox/delivery-settlements.ts";
import { enginesHere } from "../../../support/engines.ts";
import { eventsDoor } from "../../../support/events-door.ts";
import { untilLogShowsAll } from "../../../support/log-horizon.ts";
import { answer, type Receiver, startReceiver } from "../../../support/receiver.ts";
import { setUpEngine } from "../../../support/set-up-engine.ts";

for (const engine of enginesHere()) {
  describe(`The log of events, with the ${engine} database`, () => {
    const under = setUpEngine(engine);
    let door: Awaited<ReturnType<typeof eventsDoor>>;
    const receivers: Receiver[] = [];
    afterEach(async () => {
      await door.stop();
      for (const receiver of receivers.splice(0)) await receiver.close();
    });

    async function begin() {
      door = await eventsDoor(under.db);
      const inbox = await door.newInbox();
      return { inbox, id: inbox.accountId };
    }

    async function receiver(): Promise<Receiver> {
      const started = await startReceiver();
      receivers.push(started);
      return started;
    }

    const list = (id: string, search = "") => door.ask(id, "GET", `/v1/events${search}`);
    const subjects = (body: { data: { message: { subject: string } }[] }) =>
      body.data.map(({ message }) => message.subject);

    test("has each event in order, page by page, whether or not there is a webhook", async () => {
      const { inbox, id } = await begin();
      for (const subject of ["1", "2", "3", "4", "5"]) await door.receive(inbox, { subject });
      const seen: string[] = [];
      let after = "";
      for (;;) {
        const { status, body } = await list(id, `?limit=2${after}`);
        expect(status).toBe(200);
        seen.push(...subjects(body));
        after = `&after=${body.data.at(-1)?.event_id}`;
        if (!body.hasMore) break;
      }
      expect(seen).toEqual(["1", "2", "3", "4", "5"]);
      expect((await list(id, `?limit=2${after}`)).body).toEqual({ data: [], hasMore: false });
    });

    test("is read backwards page by page, from the newest event to the first", async () => {
      const { inbox, id } = await begin();
      const other = await door.newInbox(id);
      for (const subject of ["1", "2", "3", "4", "5"]) await door.receive(subject === "2" ? other : inbox, { subject });
      const read = async (words: string) => {
        const seen: string[] = [];
        for (let before = ""; ; ) {
          const { status, body } = await list(id, `?order=desc&limit=2${words}${before}`);
          expect([status, body.data.length > 0]).toEqual([200, true]);
          seen.push(...subjects(body));
          if (!body.hasMore) return seen;
          before = `&before=${body.last ?? body.data.at(-1).event_id}`;
        }
      };
      expect(await read("")).toEqual(["5", "4", "3", "2", "1"]);
      expect(await read("&types=message.received")).toEqual(["5", "4", "3", "2", "1"]);
      expect(await read(`&inbox_id=${inbox.id}`)).toEqual(["5", "4", "3", "1"]);
      expect(await read(`&inbox_id=${inbox.id},${other.id}`)).toEqual(["5", "4", "3", "2", "1"]);
      const { body: forward } = await list(id);
      const { body: backward } = await list(id, "?order=desc");
      expect(backward).toEqual({ data: forward.data.toReversed(), hasMore: false });
      const [first] = forward.data;
      expect((await list(id, `?order=desc&before=${first.event_id}`)).body).toEqual({ data: [], hasMore: false });
      expect((await list(id, "?order=asc")).body).toEqual(forward);
    });

    test.each([
      [
        "after",
        "order=desc&after=",
        'Cannot list events: "after" must not be given with "order" of "desc": use "before"',
      ],
      ["before", "before=", 'Cannot list events: "before" must be given with "order" of "desc"'],
      ["before", "order=asc&before=", 'Cannot list events: "before" must be given with "order" of "desc"'],
      ["order", "order=up&before=", undefined],
    ])("refuses %s in %s", async (parameter, words, detail) => {
      const { inbox, id } = await begin();
      await door.receive(inbox);
      const [event] = await door.events(inbox.id);
      const { status, body } = await list(id, `?${words}${event?.id}`);
      expect([status, body.code, body.errors[0].parameter]).toEqual([400, "invalid_query", parameter]);
      if (detail !== undefined) expect(body.detail).toBe(detail);
    });

    test("has each event by its id, as in the list", async () => {
      const { inbox, id } = await begin();
      await door.receive(inbox, { subject: "one" });
      await door.receive(inbox, { subject: "other" });
      const get = (eventId: string, words = "") => door.ask(id, "GET", `/v1/events/${eventId}${words}`);
      for (const words of ["", "include=html,automated"]) {
        for (const shown of (await list(id, `?${words}`)).body.data) {
          const { status, body } = await get(shown.event_id, `?${words}`);
          expect([status, JSON.stringify(body)]).toEqual([200, JSON.stringify(shown)]);
        }
      }
      const [event] = await door.events(inbox.id);
      const wrong = await get(event?.id ?? "", "?include=soul");
      expect([wrong.status, wrong.body.code]).toEqual([400, "invalid_query"]);

      const stranger = await door.newInbox();
      await door.receive(stranger);
      const [theirs] = await door.events(stranger.id);
      await deleteInbox(door.deps, { accountId: id, actor: service }, inbox.id);
      const unknown = "evt_01jpw7z1x2e9a8r5k3m0t6vqhd";
      for (const other of [theirs?.id ?? "", event?.id ?? "", unknown, "evt_1", `${unknown}?include=soul`]) {
        const { status, body } = await get(other);
        expect([other, status, body.code, body.resource]).toEqual([other, 404, "not_found", "event"]);
      }
      const { body: created } = await list(id, "?types=inbox.deleted");
      const [deleted] = created.data;
      expect((await get(deleted.event_id)).body).toEqual(deleted);
    });

    test("shows an event like a delivery, with fresh links and without fields of the delivery", async () => {
      const { inbox, id } = await begin();
      const bytes = new Uint8Array(3);
      const attachment = {
        filename: "a.pdf",
        contentType: "application/pdf",
        contentId: undefined,
        inline: false,
        bytes,
      };
      await door.receive(inbox, { attachments: [attachment] });
      door.clock.pass(5000);
      const { body } = await list(id);
      expect(Object.keys(body.data[0]).join()).toBe(
        "event,event_id,occurred_at,inbox_id,external_id,thread_id,message",
      );
      expect(body.data[0]).toMatchObject({
        event: "message.received",
        occurred_at: "2026-03-21T10:05:00.000Z",
        inbox_id: inbox.id,
        external_id: "user-7",
      });
      const [shown] = body.data[0].message.attachments;
      expect(shown).toMatchObject({ filename: "a.pdf", sizeBytes: 3, expiresAt: "2026-03-21T10:20:05.000Z" });
      expect(shown.url).toMatch(
        /^http:\/\/localhost:3000\/v1\/attachments\/msg_.*\/a\.pdf\?expires=\d+&signature=[0-9a-f]{64}&cell=00$/,
      );
    });

    test("never shows an event before one that was written earlier and commits later", async () => {
      if (under.db.engine === "embedded") return; // It runs one transaction at a time.
      const { inbox, id } = await begin();
      const written = Promise.withResolvers<void>();
      const mayCommit = Promise.withResolvers<void>();
      const slow = transaction(under.db.mail, async (tx) => {
        await door.receive(inbox, { subject: "model" });
        const [model] = await query<{ threadId: string; messageId: string }>(
          under.db.api,
          sql`select thread_id as "threadId", message_id as "messageId" from events where inbox_id = ${inbox.id} and type = 'message.received'`,
        );
        if (model === undefined) throw new Error("No event to copy");
        await untilLogShowsAll(under.db.api);
        const late = { id: door.deps.newId("evt", door.clock.now()), accountId: id, inboxId: inbox.id, ...model };
        await insertEvents(tx, [{ ...late, type: "message.received", occurredAt: door.clock.now(), data: null }]);
        written.resolve();
        await mayCommit.promise;
      });
      await written.promise;
      await door.receive(inbox, { subject: "quick" });
      const before = (await door.askNow(id, "GET", "/v1/events")).body;
      const backwards = (await door.askNow(id, "GET", "/v1/events?order=desc")).body;
      mayCommit.resolve();
      await slow;
      const after = (await list(id)).body;
      expect([subjects(before), subjects(backwards)]).toEqual([["model"], ["model"]]);
      expect(subjects(after)).toEqual(["model", "model", "quick"]);
    });

    test("can be read for one inbox, and only by its account", async () => {
      const { inbox, id } = await begin();
      const second = await door.newInbox(id);
      const stranger = await door.newInbox();
      await door.receive(inbox, { subject: "mine" });
      await door.receive(second, { subject: "mine too" });
      await door.receive(stranger, { subject: "not mine" });
      expect(subjects((await list(id)).body)).toEqual(["mine", "mine too"]);
      expect(subjects((await list(id, `?inbox_id=${second.id}`)).body)).toEqual(["mine too"]);
      const [event] = await door.events(stranger.id);
      for (const search of [`?inbox_id=${stranger.id}`, `?after=${event?.id}`, "?after=evt_1", "?inbox_id=x"]) {
        expect((await list(id, search)).status).toBe(404);
      }
      for (const [method, path] of [
        ["GET", "deliveries"],
        ["POST", "redeliver"],
      ] as const) {
        const { status, body } = await door.ask(id, method, `/v1/events/${event?.id}/${path}`);
        expect({ status, resource: body.resource }).toEqual({ status: 404, resource: "event" });
      }
    });

    test.each(["0", "101", "x", "1.5"])("refuses a limit of %s", async (limit) => {
      const { id } = await begin();
      expect((await list(id, `?limit=${limit}`)).body.code).toBe("invalid_query");
    });

    test("leaves out a deleted inbox, and still accepts the ids of its events", async () => {
      const { inbox, id } = await begin();
      const kept = await door.newInbox(id);
      await door.receive(inbox, { subject: "gone" });
      await door.receive(kept, { subject: "kept" });
      const [gone] = await door.events(inbox.id);
      await deleteInbox(door.deps, { accountId: id, actor: service }, inbox.id);
      expect(subjects((await list(id)).body)).toEqual(["kept"]);
      expect(subjects((await list(id, `?after=${gone?.id}`)).body)).toEqual(["kept"]);
      expect((await door.ask(id, "POST", `/v1/events/${gone?.id}/redeliver`)).status).toBe(404);
    });

    test("shows each attempt, and delivers again on request with the same id and all retries", async () => {
      const { inbox, id } = await begin();
      const hook = await receiver();
      await door.setWebhook(id, hook.url);
      hook.behave(answer(500, {}, "no"));
      await door.start();
      await door.receive(inbox);
      const [event] = await door.events(inbox.id);
      const path = `/v1/events/${event?.id}`;
      await hook.request(1);
      await door.rested();
      expect((await door.ask(id, "GET", `${path}/deliveries`)).body.data).toEqual([
        {
          attempt: 1,
          attemptedAt: "2026-03-21T10:05:00.000Z",
          status: 500,
          latencyMs: expect.any(Number),
          error: "answered 500",
          response: "no",
          webhookId: expect.stringMatching(/^whk_/),
        },
      ]);

      hook.behave(answer(204));
      const { status, body } = await door.ask(id, "POST", `${path}/redeliver`);
      expect({ status, body }).toEqual({ status: 202, body: { event_id: event?.id, status: "queued" } });
      const again = JSON.parse((await hook.request(2)).body);
      expect(again).toMatchObject({ event_id: event?.id, attempt: 2 });
      const { delivered_at: _at, attempt: _attempt, ...told } = again;
      expect((await list(id)).body.data).toEqual([told]);
      await door.rested();

      hook.behave(answer(503));
      await door.ask(id, "POST", `${path}/redeliver`);
      expect(JSON.parse((await hook.request(3)).body).attempt).toBe(3);
      await door.rested();
      const [waiting] = await door.waiting();
      expect(waiting).toMatchObject({ attempt: 3, state: "waiting", dueAt: new Date("2026-03-21T10:05:30.000Z") });
    });

    test("can be delivered again 60 times in 60 seconds, by the clock of the database", async () => {
      const { inbox, id } = await begin();
      const hook = await receiver();
      await door.setWebhook(id, hook.url);
      await door.receive(inbox);
      const [event] = await door.events(inbox.id);
      const path = `/v1/events/${event?.id}/redeliver`;
      const answers = await Promise.all(Array.from({ length: 70 }, () => door.ask(id, "POST", path)));
      const statuses = Map.groupBy(answers, ({ status }) => status);
      expect([statuses.get(202)?.length, statuses.get(429)?.length]).toEqual([60, 10]);
      const { body, headers } = statuses.get(429)?.[0] ?? {};
      expect(body).toMatchObject({
        code: "rate_limit_exceeded",
        detail: "Cannot redeliver event: the limit of 60 redeliveries a minute is reached",
        limit: 60,
        used: 60,
      });
      const seconds = Number(headers?.get("retry-after"));
      expect(seconds).toBeWithin(50, 61);
      // The limit is separate for each account and action, but not for each event.
      const stranger = await door.newInbox();
      await door.setWebhook(stranger.accountId, hook.url);
      await door.receive(stranger);
      const [theirs] = await door.events(stranger.id);
      expect((await door.ask(stranger.accountId, "POST", `/v1/events/${theirs?.id}/redeliver`)).status).toBe(202);
      expect((await door.ask(id, "POST", "/v1/webhook/test")).status).toBe(200);
      await door.receive(inbox);
      const second = (await door.events(inbox.id))[1];
      expect((await door.ask(id, "POST", `/v1/events/${second?.id}/redeliver`)).status).toBe(429);

      // Refused requests do not count, and the window slides: five more are allowed after the five oldest leave it.
      await query(
        under.db.api,
        sql`update recent_requests set asked_at = array(select case when n <= 5 then at - interval '61 s' else at end
            from unnest(asked_at) with ordinality as asked (at, n)) where account_id = ${id} and action = 'redeliver'`,
      );
      const later = await Promise.all(Array.from({ length: 8 }, () => door.ask(id, "POST", path)));
      expect(later.filter(({ status }) => status === 202).length).toBe(5);
      // After the clock was set back, requests from its future are in no window.
      await query(
        under.db.api,
        sql`update recent_requests set asked_at = array(select at + interval '1 h' from unnest(asked_at) at)`,
      );
      expect((await door.ask(id, "POST", path)).status).toBe(202);
      expect((await door.ask(id, "POST", `/v1/events/evt_x/redeliver`)).status).toBe(404);
    });

    test("has its attempts page by page, at most the last hundred", async () => {
      const { inbox, id } = await begin();
      await door.receive(inbox);
      const [event] = await door.events(inbox.id);
      const eventId = event?.id ?? "";
      for (let attempt = 1; attempt <= 103; attempt += 1) {
        const logged = {
          attemptedAt: door.clock.now(),
          status: 500,
          latencyMs: 1,
          error: "answered 500",
          response: "",
        };
        await settleDeliveries(under.db.work, [
          {
            subjectId: eventId,
            eventId,
            lane: inbox.accountId,
            attempt,
            dueAt: null,
            logged,
            isForgiven: false,
            answer: null,
          },
        ]);
      }
      const path = `/v1/events/${eventId}/deliveries`;
      const numbers = (body: { data: { attempt: number }[] }) => body.data.map(({ attempt }) => attempt);
      const kept = Array.from({ length: 100 }, (_, index) => index + 4);
      const all = (await door.ask(id, "GET", path)).body;
      expect([numbers(all), all.nextCursor]).toEqual([kept, null]);
      const seen: number[] = [];
      for (let cursor = ""; ; ) {
        const { status, body } = await door.ask(id, "GET", `${path}?limit=40${cursor}`);
        expect(status).toBe(200);
        seen.push(...numbers(body));
        if (body.nextCursor === null) break;
        cursor = `&cursor=${body.nextCursor}`;
      }
      expect(seen).toEqual(kept);
      const { body } = await door.ask(id, "GET", `${path}?limit=40`);
      await door.receive(inbox);
      const other = `/v1/events/${(await door.events(inbox.id))[1]?.id}/deliveries`;
      for (const wrong of [
        `${other}?cursor=${body.nextCursor}`,
        `${path}?cursor=x`,
        `${path}?limit=101`,
        `${path}?limit=0`,
      ]) {
        expect([wrong, (await door.ask(id, "GET", wrong)).body.code]).toEqual([wrong, "invalid_query"]);
      }
    });

    test("cannot deliver again without a URL", async () => {
      const { inbox, id } = await begin();
      await door.receive(inbox);
      const [event] = await door.events(inbox.id);
      const { status, body } = await door.ask(id, "POST", `/v1/events/${event?.id}/redeliver`);
      expect({ status, code: body.code }).toEqual({ status: 400, code: "no_webhook_url" });
    });
  });
}
