import { afterEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../../src/database/db.ts";
import { newDefaultEndpoint } from "../../../../src/flows/events/manage-webhook.ts";
import { webhookFault } from "../../../../src/standards/signature.ts";
import { insertEndpoint } from "../../../../src/store/events/endpoints.ts";
import { enginesHere } from "../../../support/engines.ts";
import { eventsDoor } from "../../../support/events-door.ts";
import { answer, type ReceivedRequest, type Receiver, startReceiver } from "../../../support/receiver.ts";
import { setUpEngine } from "../../../support/set-up-engine.ts";

const dayMs = 86_400_000;

for (const engine of enginesHere()) {
  describe(`The webhook endpoints of an account, with the ${engine} database`, () => {
    const under = setUpEngine(engine);
    let door: Awaited<ReturnType<typeof eventsDoor>>;
    const receivers: Receiver[] = [];
    afterEach(async () => {
      await door.stop(0);
      for (const receiver of receivers.splice(0)) await receiver.close();
      await query(under.db.api, sql`truncate outbox`);
    });

    async function begin(options: Parameters<typeof eventsDoor>[1] = {}) {
      door = await eventsDoor(under.db, options);
      const inbox = await door.newInbox();
      return { inbox, id: inbox.accountId };
    }

    async function receiver(): Promise<Receiver> {
      const started = await startReceiver();
      receivers.push(started);
      return started;
    }

    const url = "https://receiver.example/hook";
    const list = async (id: string) => (await door.ask(id, "GET", "/v1/webhooks")).body.data;
    const create = async (id: string, body: object) => {
      const made = await door.ask(id, "POST", "/v1/webhooks", { url, ...body });
      expect([made.status, made.body]).toEqual([201, expect.objectContaining({ isDefault: false })]);
      return made.body;
    };
    const told = (request: ReceivedRequest) => JSON.parse(request.body);

    test("are created with their settings, listed oldest first, and show their secret once", async () => {
      const { id, inbox } = await begin();
      expect(await list(id)).toEqual([]);
      const { status, headers, body } = await door.ask(id, "POST", "/v1/webhooks", {
        url,
        description: "Desk",
        eventTypes: ["message.failed", "message.sent", "message.failed"],
        inboxIds: [inbox.id],
        skipAutomated: true,
        include: ["extracted", "html"],
      });
      const { secret, ...shown } = body;
      expect([status, headers.get("location")]).toEqual([201, `/v1/webhooks/${body.id}`]);
      expect(secret).toMatch(/^whsec_/);
      expect(shown).toEqual({
        id: expect.stringMatching(/^whk_/),
        url,
        description: "Desk",
        eventTypes: ["message.failed", "message.sent"],
        inboxIds: [inbox.id],
        skipAutomated: true,
        include: ["html", "extracted"],
        isDefault: false,
        secretLast4: secret.slice(-4),
        createdAt: "2026-03-21T10:05:00.000Z",
        disabledAt: null,
        disabledReason: null,
        failingSince: null,
        lastDelivery: null,
        headers: [],
        externalIds: null,
      });
      expect(Object.keys(body).slice(-4)).toEqual(["secret", "lastDelivery", "headers", "externalIds"]);
      expect(await list(id)).toEqual([shown]);
      expect((await door.ask(id, "GET", `/v1/webhooks/${shown.id}`)).body).toEqual(shown);

      door.clock.pass(1000);
      await door.ask(id, "PUT", "/v1/webhook", { url });
      const plain = { eventTypes: ["message.received"], inboxIds: null, skipAutomated: false, include: [] };
      expect(await list(id)).toMatchObject([shown, { ...plain, url, isDefault: true, description: null }]);
      expect(await create(id, { eventTypes: ["*", "message.sent"] })).toMatchObject({ eventTypes: ["*"] });
    });

    test("belong to one account", async () => {
      const { id, inbox } = await begin();
      const stranger = await door.newInbox();
      const { id: theirs } = await create(stranger.accountId, {});
      for (const [method, path] of [
        ...([
          ["GET", ""],
          ["PATCH", ""],
          ["DELETE", ""],
          ["GET", "/deliveries"],
        ] as const),
        ...([
          ["POST", "/rotate-secret"],
          ["POST", "/test"],
          ["POST", "/recover"],
        ] as const),
      ]) {
        const { status, body } = await door.ask(id, method, `/v1/webhooks/${theirs}${path}`);
        expect([method, path, status, body.resource]).toEqual([method, path, 404, "webhook"]);
      }
      const foreign = await door.ask(id, "POST", "/v1/webhooks", { url, inboxIds: [inbox.id, stranger.id] });
      expect([foreign.status, foreign.body.resource]).toEqual([404, "inbox"]);
      expect(await list(id)).toEqual([]);
    });

    test.each([
      [{ url, eventTypes: ["message.eaten"] }, 400, "validation_error"],
      [{ url, eventTypes: [] }, 400, "validation_error"],
      [{ url, inboxIds: [] }, 400, "validation_error"],
      [{ url, externalIds: [] }, 400, "validation_error"],
      [{ url, externalIds: ["x".repeat(256)] }, 400, "validation_error"],
      [{ url, include: ["soul"] }, 400, "validation_error"],
      [{ url, description: "x".repeat(201) }, 400, "validation_error"],
      [{ url, disabled: true }, 400, "validation_error"],
      [{ url, headers: { "X-Signature": "mine" } }, 400, "validation_error"],
      [{ url, headers: ["X-Key: 1"] }, 400, "validation_error"],
      [{}, 400, "validation_error"],
      [{ url: "ftp://receiver.example/" }, 422, "invalid_webhook_url"],
    ])("are refused as %p", async (body, status, code) => {
      const { id } = await begin();
      const refused = await door.ask(id, "POST", "/v1/webhooks", body);
      expect([refused.status, refused.body.code]).toEqual([status, code]);
    });

    test("have a limit, also for requests at the same time; the default one is never refused", async () => {
      const { id } = await begin({ webhooksPerAccount: 4 });
      await door.ask(id, "PUT", "/v1/webhook", { url });
      const asked = Array.from({ length: 10 }, () => door.ask(id, "POST", "/v1/webhooks", { url }));
      const answers = Map.groupBy(await Promise.all(asked), ({ status }) => status);
      expect([answers.get(201)?.length, answers.get(422)?.length]).toEqual([3, 7]);
      expect(answers.get(422)?.[0]?.body).toMatchObject({ code: "webhook_limit_reached", limit: 4 });
      await door.ask(id, "DELETE", "/v1/webhook");
      await create(id, {});
      expect((await door.ask(id, "PUT", "/v1/webhook", { url })).status).toBe(200);
      expect(await list(id)).toHaveLength(5);
    });

    test("are created once with one key, and a replay shows no secret", async () => {
      const { id } = await begin();
      const ask = (body: object) => door.ask(id, "POST", "/v1/webhooks", body, { "idempotency-key": "k" });
      const both = await Promise.all([ask({ url }), ask({ url, eventTypes: ["message.received"] })]);
      const first = both.find(({ body }) => body.secret !== undefined);
      const again = both.find(({ body }) => body.secret === undefined);
      expect([first?.status, again?.status, again?.headers.get("idempotent-replayed")]).toEqual([201, 201, "true"]);
      expect(again?.body.id).toBe(first?.body.id);
      expect((await ask({ url: `${url}/2` })).body.code).toBe("idempotency_key_reused");
      await door.ask(id, "DELETE", `/v1/webhooks/${first?.body.id}`);
      expect((await ask({ url })).body).toMatchObject({ code: "not_found", resource: "webhook" });
    });

    test("include the default one, which can be changed by both paths", async () => {
      const { id } = await begin();
      const { body: set } = await door.ask(id, "PUT", "/v1/webhook", { url });
      const [{ id: webhookId }] = await list(id);
      const path = `/v1/webhooks/${webhookId}`;
      const changed = await door.ask(id, "PATCH", path, { url: `${url}/2`, description: "Mine", disabled: true });
      expect(changed.body).toMatchObject({ url: `${url}/2`, description: "Mine", disabledReason: "manual" });
      const { body: rotated } = await door.ask(id, "POST", `${path}/rotate-secret`);
      expect(rotated.secret).not.toBe(set.secret);
      expect((await door.ask(id, "GET", "/v1/webhook")).body).toEqual({
        url: `${url}/2`,
        secretLast4: rotated.secret.slice(-4),
        createdAt: "2026-03-21T10:05:00.000Z",
        disabledAt: "2026-03-21T10:05:00.000Z",
        lastDelivery: null,
      });
      await door.ask(id, "PUT", "/v1/webhook", { url });
      expect(await list(id)).toMatchObject([{ url, description: "Mine", disabledAt: null, disabledReason: null }]);
      expect((await door.ask(id, "DELETE", path)).status).toBe(204);
      expect((await door.ask(id, "GET", "/v1/webhook")).body.url).toBe(null);
    });

    test("include the default one as soon as it has a URL", async () => {
      const { id } = await begin();
      const made = newDefaultEndpoint(door.deps, { accountId: id, url: null, secret: "whsec_x" });
      await insertEndpoint(under.db.api, made);
      expect(await list(id)).toEqual([]);
      const tested = await door.ask(id, "POST", `/v1/webhooks/${made.id}/test`);
      expect([tested.status, tested.body.code]).toEqual([400, "no_webhook_url"]);
      expect((await door.ask(id, "POST", `/v1/webhooks/${made.id}/rotate-secret`)).status).toBe(200);
      await door.ask(id, "PUT", "/v1/webhook", { url });
      expect(await list(id)).toMatchObject([{ id: made.id, isDefault: true }]);
    });

    test("of a tenant get the events of its inboxes, also of those that are created later", async () => {
      const { id } = await begin();
      const [theirs, others] = [await receiver(), await receiver()];
      const made = await create(id, { url: theirs.url, externalIds: ["user-7", "user-8", "user-7"] });
      await create(id, { url: others.url, externalIds: ["user-9"] });
      expect(made.externalIds).toEqual(["user-7", "user-8"]);
      await door.start();
      // The inboxes of the door have the external id user-7.
      const later = await door.newInbox(id);
      await door.receive(later);
      expect(told(await theirs.request(1))).toMatchObject({ inbox_id: later.id, external_id: "user-7" });
      const path = `/v1/webhooks/${made.id}`;
      expect((await door.ask(id, "PATCH", path, { externalIds: ["user-9"] })).body.externalIds).toEqual(["user-9"]);
      await door.receive(later);
      expect((await door.ask(id, "PATCH", path, { externalIds: null })).body.externalIds).toBe(null);
      await door.receive(later);
      const last = (await door.events(later.id)).at(-1);
      expect(told(await theirs.request(2)).event_id).toBe(last?.id);
      expect(others.requests).toHaveLength(0);
    });

    test("get their own header fields with each delivery and test, and show only the names", async () => {
      const { inbox, id } = await begin();
      const gateway = await receiver();
      const made = await create(id, {
        url: gateway.url,
        headers: { "X-Gateway-Key": "k-4711", Authorization: "Basic x" },
      });
      const path = `/v1/webhooks/${made.id}`;
      const seen = async (count: number) => {
        const { headers } = await gateway.request(count);
        return [headers["x-gateway-key"], headers.authorization, headers["content-type"]];
      };
      expect(made.headers).toEqual(["X-Gateway-Key", "Authorization"]);
      for (const text of [await list(id), await door.ask(id, "GET", path), await door.ask(id, "PATCH", path, {})]) {
        expect(JSON.stringify(text)).not.toContain("4711");
      }
      await door.start();
      await door.receive(inbox);
      expect(await seen(1)).toEqual(["k-4711", "Basic x", "application/json"]);
      await door.ask(id, "POST", `${path}/test`);
      expect(await seen(2)).toEqual(["k-4711", "Basic x", "application/json"]);
      // The object is replaced as a whole, and stays as it is if a change leaves it out.
      const changed = await door.ask(id, "PATCH", path, { headers: { "X-Gateway-Key": "k-4712" } });
      expect(changed.body.headers).toEqual(["X-Gateway-Key"]);
      await door.ask(id, "PATCH", path, { description: "Gateway" });
      await door.receive(inbox);
      expect(await seen(3)).toEqual(["k-4712", undefined, "application/json"]);
      expect((await door.ask(id, "PATCH", path, { headers: {} })).body.headers).toEqual([]);
      await door.receive(inbox);
      expect(await seen(4)).toEqual([undefined, undefined, "application/json"]);
    });

    test("get each event of their types, signed with their own secret, and can be tested", async () => {
      const { inbox, id } = await begin();
      const [one, other] = [await receiver(), await receiver()];
      const { secret } = await create(id, { url: one.url });
      const { secret: others, id: otherId } = await create(id, { url: other.url, include: ["automated"] });
      await door.start();
      await door.receive(inbox);
      const [first, second] = [await one.request(1), await other.request(1)];
      expect(first.headers["webhook-id"]).toBe(second.headers["webhook-id"] ?? "");
      expect(first.headers["webhook-id"]).toBe((await door.events(inbox.id))[0]?.id ?? "");
      const now = door.clock.now();
      expect(await webhookFault({ ...first, secret, now })).toBe(undefined);
      expect(await webhookFault({ ...second, secret: others, now })).toBe(undefined);
      expect(await webhookFault({ ...second, secret, now })).toBe("X-Signature does not match");
      const { automated, ...message } = told(second).message;
      expect([automated, told(first)]).toEqual([null, { ...told(second), message }]);

      const tried = await door.ask(id, "POST", `/v1/webhooks/${otherId}/test`);
      expect(tried.body).toMatchObject({ delivered: true, status: 200 });
      expect(await webhookFault({ ...(await other.request(2)), secret: others, now })).toBe(undefined);
    });

    test("that are down do not delay others on the same host", async () => {
      const { inbox, id } = await begin();
      const shared = await receiver();
      shared.behave((socket, request) => {
        if (request.path === "/good") answer(200)(socket, request);
      });
      const at = (path: string) => shared.url.replace("/hook", path);
      await create(id, { url: at("/hangs") });
      await create(id, { url: at("/good") });
      await door.start();
      await door.receive(inbox);
      const goodOnes = () => shared.requests.filter(({ path }) => path === "/good").length;
      for (let count = 1; count <= 5; count += 1) {
        while (goodOnes() < count) await shared.request(shared.requests.length + 1);
        await door.receive(inbox);
      }
      // The one that hangs has one delivery in progress all the time.
      expect(shared.requests.filter(({ path }) => path === "/hangs")).toHaveLength(1);
    });

    test("list the state of each event, newest first, page by page", async () => {
      const { inbox, id } = await begin();
      await door.receive(inbox, { subject: "before" });
      const hook = await receiver();
      const { id: webhookId } = await create(id, { url: hook.url, eventTypes: ["message.received"] });
      await door.start();
      await door.receive(inbox, { subject: "delivered" });
      await hook.request(1);
      await door.rested();
      hook.behave(answer(503, { "retry-after": "60" }));
      door.clock.pass(1000);
      await door.receive(inbox, { subject: "pending" });
      await hook.request(2);
      await door.rested();
      const [before, delivered, pending] = (await door.events(inbox.id)).slice(-3).map((event) => event.id);
      const path = `/v1/webhooks/${webhookId}/deliveries`;
      const rows = [
        {
          event_id: pending,
          event: "message.received",
          state: "pending",
          attempts: 1,
          lastStatus: 503,
          lastAttemptAt: "2026-03-21T10:05:01.000Z",
          lastError: "answered 503",
          nextAttemptAt: "2026-03-21T10:06:01.000Z",
          occurred_at: "2026-03-21T10:05:01.000Z",
          subject: "pending",
          lastLatencyMs: expect.any(Number),
        },
        {
          event_id: delivered,
          event: "message.received",
          state: "delivered",
          attempts: 1,
          lastStatus: 200,
          lastAttemptAt: "2026-03-21T10:05:00.000Z",
          lastError: null,
          nextAttemptAt: null,
          occurred_at: "2026-03-21T10:05:00.000Z",
          subject: "delivered",
          lastLatencyMs: expect.any(Number),
        },
        {
          event_id: before,
          event: "message.received",
          state: "none",
          attempts: 0,
          lastStatus: null,
          lastAttemptAt: null,
          lastError: null,
          nextAttemptAt: null,
          occurred_at: "2026-03-21T10:05:00.000Z",
          subject: "before",
          lastLatencyMs: null,
        },
      ];
      expect((await door.ask(id, "GET", path)).body).toEqual({ data: rows, nextCursor: null });
      const { body: page } = await door.ask(id, "GET", `${path}?limit=2`);
      expect(page.data).toEqual(rows.slice(0, 2));
      const { body: next } = await door.ask(id, "GET", `${path}?limit=2&cursor=${page.nextCursor}`);
      expect(next).toEqual({ data: rows.slice(2), nextCursor: null });
      expect((await door.ask(id, "GET", `${path}?state=delivered`)).body.data).toEqual([rows[1]]);
      expect((await door.ask(id, "GET", `${path}?state=delivered&cursor=${page.nextCursor}`)).status).toBe(400);

      const { body: ofEvent } = await door.ask(id, "GET", `/v1/events/${pending}/deliveries`);
      expect(ofEvent.data).toMatchObject([{ attempt: 1, status: 503, webhookId }]);
    });

    test("show their last attempt, of whichever event it was", async () => {
      const { inbox, id } = await begin();
      const [well, badly] = [await receiver(), await receiver()];
      badly.behave(answer(503, { "retry-after": "60" }));
      await door.setWebhook(id, well.url);
      const { id: webhookId } = await create(id, { url: badly.url });
      await create(id, { eventTypes: ["inbox.deleted"] });
      const lasts = async () => (await list(id)).map(({ lastDelivery }: { lastDelivery: unknown }) => lastDelivery);
      expect(await lasts()).toEqual([null, null, null]);
      await door.start();
      await door.receive(inbox);
      await Promise.all([well.request(1), badly.request(1)]);
      await door.rested();
      door.clock.pass(30_000);
      await door.receive(inbox);
      await Promise.all([well.request(2), badly.request(2)]);
      await door.rested();
      const [first, second] = (await door.events(inbox.id)).slice(-2).map((event) => event.id);
      const delivered = { event_id: second, at: "2026-03-21T10:05:30.000Z", status: 200, error: null };
      expect(await lasts()).toEqual([
        delivered,
        { event_id: second, at: "2026-03-21T10:05:30.000Z", status: 503, error: "answered 503" },
        null,
      ]);
      expect((await door.ask(id, "GET", "/v1/webhook")).body.lastDelivery).toEqual(delivered);

      // The retry of the older event is the last attempt.
      await badly.close();
      door.clock.pass(30_000);
      const retried = { event_id: first, at: "2026-03-21T10:06:00.000Z", status: null, error: "connection refused" };
      await door.rested();
      expect((await lasts())[1]).toEqual(retried);
      const path = `/v1/webhooks/${webhookId}`;
      expect((await door.ask(id, "GET", path)).body.lastDelivery).toEqual(retried);
      expect((await door.ask(id, "PATCH", path, { disabled: true })).body.lastDelivery).toEqual(retried);

      // A new default endpoint has no attempts, although its line is that of the one before.
      door.clock.pass(1000);
      await door.ask(id, "DELETE", "/v1/webhook");
      const { body: again } = await door.ask(id, "PUT", "/v1/webhook", { url: well.url });
      expect([Object.keys(again).slice(-2), again.lastDelivery]).toEqual([["secret", "lastDelivery"], null]);
    });

    test("examine 1,000 events for one page, and return a cursor", async () => {
      const { inbox, id } = await begin();
      await door.receive(inbox, { subject: "the oldest" });
      const [oldest] = (await door.events(inbox.id)).slice(-1);
      await query(
        under.db.api,
        sql`insert into events (id, account_id, inbox_id, type, occurred_at, data)
            select 'evt_1' || lpad(n::text, 25, '0'), account_id, inbox_id, 'inbox.created', occurred_at,
              '{"address": "a@b", "externalId": null, "createdAt": ""}'
            from events, generate_series(1, 1005) n where events.id = ${oldest?.id}`,
      );
      const { id: webhookId } = await create(id, {});
      const path = `/v1/webhooks/${webhookId}/deliveries`;
      const { body: nothing } = await door.ask(id, "GET", path);
      expect([nothing.data, nothing.nextCursor]).toEqual([[], expect.any(String)]);
      const { body: rest } = await door.ask(id, "GET", `${path}?cursor=${nothing.nextCursor}`);
      expect([rest.data.length, rest.data[0].event_id, rest.nextCursor]).toEqual([1, oldest?.id, null]);
      await query(under.db.api, sql`delete from events where id like 'evt_10%' and account_id = ${id}`);
    });

    test("have their own attempts of an event, and can be selected for a redelivery", async () => {
      const { inbox, id } = await begin();
      const [first, second] = [await receiver(), await receiver()];
      await door.setWebhook(id, first.url);
      const { id: webhookId } = await create(id, { url: second.url });
      await door.start();
      await door.receive(inbox);
      await Promise.all([first.request(1), second.request(1)]);
      await door.rested();
      const eventId = (await door.events(inbox.id)).at(-1)?.id;
      const path = `/v1/events/${eventId}`;
      const again = await door.ask(id, "POST", `${path}/redeliver`, { webhookId });
      expect([again.status, again.body]).toEqual([202, { event_id: eventId, status: "queued" }]);
      expect(told(await second.request(2))).toMatchObject({ event_id: eventId, attempt: 2 });
      await door.rested();
      expect(first.requests).toHaveLength(1);
      const [{ id: defaultId }] = (await list(id)).filter(({ isDefault }: { isDefault: boolean }) => isDefault);
      const seen: [string, number][] = [];
      for (let cursor = ""; ; ) {
        const { status, body } = await door.ask(id, "GET", `${path}/deliveries?limit=1${cursor}`);
        expect(status).toBe(200);
        seen.push(...body.data.map((row: { webhookId: string; attempt: number }) => [row.webhookId, row.attempt]));
        if (body.nextCursor === null) break;
        cursor = `&cursor=${body.nextCursor}`;
      }
      expect(seen).toEqual([
        [defaultId, 1],
        [webhookId, 1],
        [webhookId, 2],
      ]);
      const unknown = await door.ask(id, "POST", `${path}/redeliver`, { webhookId: "whk_x" });
      expect([unknown.status, unknown.body.resource]).toEqual([404, "webhook"]);
    });

    test("that are deleted lose their waiting deliveries, and keep their attempts", async () => {
      const { inbox, id } = await begin();
      const hook = await receiver();
      hook.behave(answer(500));
      const { id: webhookId } = await create(id, { url: hook.url });
      await door.start();
      await door.receive(inbox);
      await hook.request(1);
      await door.rested();
      await door.stop();
      await door.receive(inbox);
      expect((await door.ask(id, "DELETE", `/v1/webhooks/${webhookId}`)).status).toBe(204);
      expect(await door.waiting()).toEqual([]);
      const { body } = await door.ask(id, "GET", `/v1/events/${(await door.events(inbox.id)).at(-2)?.id}/deliveries`);
      expect(body.data).toMatchObject([{ attempt: 1, status: 500, webhookId }]);
      expect((await door.ask(id, "DELETE", `/v1/webhooks/${webhookId}`)).status).toBe(404);
    });

    describe("that fail", () => {
      const failing = async (days: number, path: "endpoint" | "default" = "endpoint") => {
        const { inbox, id } = await begin({ deps: { webhookDisableDays: days } });
        const [hook, sibling] = [await receiver(), await receiver()];
        hook.behave(answer(500));
        if (path === "default") await door.setWebhook(id, hook.url);
        else await create(id, { url: hook.url });
        await create(id, { url: sibling.url, eventTypes: ["webhook.disabled"] });
        await door.start();
        const [{ id: webhookId }] = await list(id);
        return { inbox, id, hook, sibling, webhookId };
      };
      const get = async (id: string, webhookId: string) =>
        (await door.ask(id, "GET", `/v1/webhooks/${webhookId}`)).body;

      test("for five days are disabled by the next failure, with an event; missed events can be recovered", async () => {
        const { inbox, id, hook, sibling, webhookId } = await failing(5);
        await door.receive(inbox, { subject: "1" });
        await hook.request(1);
        await door.rested();
        expect(await get(id, webhookId)).toMatchObject({ failingSince: "2026-03-21T10:05:00.000Z", disabledAt: null });
        await query(under.db.api, sql`truncate outbox`);
        door.clock.pass(5 * dayMs - 1);
        await door.receive(inbox, { subject: "2" });
        await hook.request(2);
        await door.rested();
        expect((await get(id, webhookId)).disabledAt).toBe(null);
        door.clock.pass(1);
        await door.receive(inbox, { subject: "3" });
        await hook.request(3);
        const { webhook, event_id } = told(await sibling.request(1));
        expect(webhook).toEqual({
          id: webhookId,
          url: hook.url,
          reason: "failing",
          disabled_at: "2026-03-26T10:05:00.000Z",
        });
        expect(await get(id, webhookId)).toMatchObject({ disabledAt: webhook.disabled_at, disabledReason: "failing" });
        expect((await door.ask(id, "GET", "/v1/events?types=webhook.disabled")).body.data).toMatchObject([
          { event_id },
        ]);
        // While it is disabled nothing is promised to it.
        await door.receive(inbox, { subject: "4" });
        await door.pass(60_000);
        await door.rested();
        expect(hook.requests).toHaveLength(3);
        const [, second] = (await door.events(inbox.id)).slice(-4);
        const { body: log } = await door.ask(id, "GET", `/v1/events/${second?.id}/deliveries`);
        expect(log.data).toMatchObject([{ status: 500 }, { error: "not sent: the webhook is disabled" }]);

        const path = `/v1/webhooks/${webhookId}`;
        expect((await door.ask(id, "POST", `${path}/recover`, { after: "start" })).status).toBe(400);
        hook.behave(answer(200));
        const enabled = await door.ask(id, "PATCH", path, { disabled: false });
        expect(enabled.body).toMatchObject({ disabledAt: null, disabledReason: null, failingSince: null });
        const [first] = (await door.events(inbox.id)).slice(-4);
        // It has never answered with 2xx: one event shows whether it does now.
        const one = await door.ask(id, "POST", `${path}/recover`, { after: "start" });
        expect([one.status, one.body]).toEqual([202, { queued: 1, hasMore: true, last: first?.id }]);
        await hook.request(4);
        await door.rested();
        const { status, body } = await door.ask(id, "POST", `${path}/recover`, { after: one.body.last });
        expect([status, body]).toEqual([202, { queued: 3, hasMore: false, last: expect.any(String) }]);
        const subjects = [];
        for (let number = 4; number <= 7; number += 1) subjects.push(told(await hook.request(number)).message.subject);
        expect(subjects).toEqual(["1", "2", "3", "4"]);
        await door.rested();
        const again = { queued: 0, hasMore: false, last: body.last };
        expect((await door.ask(id, "POST", `${path}/recover`, { after: first?.id })).body).toEqual(again);
        expect((await door.ask(id, "POST", `${path}/recover`, { after: body.last })).body).toEqual(again);
        const unknown = await door.ask(id, "POST", `${path}/recover`, { after: "evt_x" });
        expect([unknown.status, unknown.body.resource]).toEqual([404, "event"]);
      });

      test.each([
        ["the default one", 5, "default"],
        ["one that is never to be disabled", 0, "endpoint"],
      ] as const)("are not disabled by it: %s", async (_, days, path) => {
        const { inbox, id, hook, webhookId } = await failing(days, path);
        await door.receive(inbox);
        await hook.request(1);
        await door.rested();
        await query(under.db.api, sql`truncate outbox`);
        door.clock.pass(10 * dayMs);
        await door.receive(inbox);
        await hook.request(2);
        await door.rested();
        expect(await get(id, webhookId)).toMatchObject({ failingSince: "2026-03-21T10:05:00.000Z", disabledAt: null });
        hook.behave(answer(200));
        await door.receive(inbox);
        await hook.request(3);
        await door.rested();
        expect((await get(id, webhookId)).failingSince).toBe(null);
      });

      test.each(["default", "endpoint"] as const)(
        "with 410 are disabled at once, but not for an old URL: %s",
        async (path) => {
          const { inbox, id, hook, sibling, webhookId } = await failing(5, path);
          const held = Promise.withResolvers<void>();
          hook.behave((socket, request) => void held.promise.then(() => answer(410)(socket, request)));
          await door.receive(inbox);
          await hook.request(1);
          const moved = await receiver();
          await door.ask(id, "PATCH", `/v1/webhooks/${webhookId}`, { url: moved.url });
          held.resolve();
          await door.rested();
          expect(await get(id, webhookId)).toMatchObject({ url: moved.url, disabledAt: null, failingSince: null });
          moved.behave(answer(410));
          await door.receive(inbox);
          expect(told(await sibling.request(1)).webhook).toMatchObject({
            id: webhookId,
            url: moved.url,
            reason: "gone",
          });
          expect(await get(id, webhookId)).toMatchObject({ disabledReason: "gone" });
        },
      );

      test("that never answered get one event by recover, however often and of whichever is made anew", async () => {
        const { inbox, id } = await begin();
        for (const subject of ["1", "2", "3"]) await door.receive(inbox, { subject });
        const made: { status: number; queued: number }[] = [];
        for (let round = 0; round < 12; round += 1) {
          const { id: webhookId } = await create(id, {});
          const path = `/v1/webhooks/${webhookId}`;
          const { status, body } = await door.ask(id, "POST", `${path}/recover`, { after: "start" });
          made.push({ status, queued: body.queued ?? 0 });
          if (status === 429) expect(body).toMatchObject({ code: "rate_limit_exceeded", limit: 10, used: 10 });
          expect((await door.ask(id, "DELETE", path)).status).toBe(204);
        }
        expect(made.map(({ status }) => status)).toEqual([...Array(10).fill(202), 429, 429]);
        expect(made.map(({ queued }) => queued)).toEqual([...Array(10).fill(1), 0, 0]);
      });

      test("that answered at one address get one event by recover at the next", async () => {
        const { inbox, id } = await begin();
        for (const subject of ["1", "2", "3"]) await door.receive(inbox, { subject });
        const [first, second] = [await receiver(), await receiver()];
        const { id: webhookId } = await create(id, { url: first.url });
        const path = `/v1/webhooks/${webhookId}`;
        await door.start();
        await door.receive(inbox, { subject: "4" });
        await first.request(1);
        await door.rested();
        await door.ask(id, "PATCH", path, { url: second.url });
        const moved = await door.ask(id, "POST", `${path}/recover`, { after: "start" });
        expect(moved.body).toMatchObject({ queued: 1, hasMore: true });
        expect(told(await second.request(1)).message.subject).toBe("1");
        await door.rested();
        // The new address has answered by now.
        const known = await door.ask(id, "POST", `${path}/recover`, { after: moved.body.last });
        expect(known.body).toMatchObject({ queued: 2, hasMore: false });
      });

      test("can be created at most 20 times an hour, and a replay does not count", async () => {
        const { id } = await begin({ webhooksPerAccount: 100 });
        const keyed = { "idempotency-key": "the-first" };
        for (let number = 0; number < 20; number += 1)
          expect((await door.ask(id, "POST", "/v1/webhooks", { url }, number === 0 ? keyed : {})).status).toBe(201);
        const { status, body, headers } = await door.ask(id, "POST", "/v1/webhooks", { url });
        expect([status, body.code, body.limit]).toEqual([429, "rate_limit_exceeded", 20]);
        expect(Number(headers.get("retry-after"))).toBeWithin(3_500, 3_601);
        expect((await door.ask(id, "POST", "/v1/webhooks", { url }, keyed)).status).toBe(201);
      });

      test("by hand cause one event, and do not get it themselves", async () => {
        const { id } = await begin();
        const [hook, sibling] = [await receiver(), await receiver()];
        const { id: webhookId } = await create(id, { url: hook.url, eventTypes: ["*"] });
        await create(id, { url: sibling.url, eventTypes: ["*"] });
        await door.start();
        const path = `/v1/webhooks/${webhookId}`;
        for (const disabled of [true, true]) await door.ask(id, "PATCH", path, { disabled });
        expect(told(await sibling.request(1))).toMatchObject({ inbox_id: null, webhook: { reason: "manual" } });
        await door.ask(id, "PATCH", path, { disabled: false });
        for (const hasMore of [true, false]) {
          expect((await door.ask(id, "POST", `${path}/recover`, { after: "start" })).body.hasMore).toBe(hasMore);
          await door.rested();
        }
        expect(hook.requests.map((request) => told(request).event)).not.toContain("webhook.disabled");
        expect(sibling.requests.filter((request) => told(request).event === "webhook.disabled")).toHaveLength(1);
      });
    });
  });
}
