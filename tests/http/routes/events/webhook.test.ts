import { beforeAll, describe, expect, test } from "bun:test";
import { webhookFault } from "../../../../src/standards/signature.ts";
import { enginesHere } from "../../../support/engines.ts";
import { eventsDoor } from "../../../support/events-door.ts";
import { expectWholeDocument } from "../../../support/openapi.ts";
import { answer, startReceiver } from "../../../support/receiver.ts";
import { setUpEngine } from "../../../support/set-up-engine.ts";

for (const engine of enginesHere()) {
  describe(`The webhook of an account, with the ${engine} database`, () => {
    const under = setUpEngine(engine);
    let door: Awaited<ReturnType<typeof eventsDoor>>;
    beforeAll(async () => {
      door = await eventsDoor(under.db);
    });

    const account = async () => (await door.newInbox()).accountId;
    const url = "https://receiver.example/hook";

    test("has only nulls before it is set", async () => {
      const { status, body } = await door.ask(await account(), "GET", "/v1/webhook");
      expect({ status, body }).toEqual({
        status: 200,
        body: { url: null, secretLast4: null, createdAt: null, disabledAt: null, lastDelivery: null },
      });
    });

    test("shows its secret when it first gets a URL, and never again", async () => {
      const id = await account();
      const first = await door.ask(id, "PUT", "/v1/webhook", { url });
      expect(first.status).toBe(200);
      expect(first.body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      const { secret, ...shape } = first.body;
      expect(shape).toEqual({
        url,
        secretLast4: secret.slice(-4),
        createdAt: "2026-03-21T10:05:00.000Z",
        disabledAt: null,
        lastDelivery: null,
      });
      const second = await door.ask(id, "PUT", "/v1/webhook", { url: `${url}/2` });
      expect(second.body).toEqual({ ...shape, url: `${url}/2` });
      expect((await door.ask(id, "GET", "/v1/webhook")).body).toEqual({ ...shape, url: `${url}/2` });
    });

    test("belongs to one account", async () => {
      const [one, other] = [await account(), await account()];
      await door.ask(one, "PUT", "/v1/webhook", { url });
      expect((await door.ask(other, "GET", "/v1/webhook")).body.url).toBe(null);
    });

    test("is deleted with its secret", async () => {
      const id = await account();
      const { body: before } = await door.ask(id, "PUT", "/v1/webhook", { url });
      expect((await door.ask(id, "DELETE", "/v1/webhook")).status).toBe(204);
      expect((await door.ask(id, "DELETE", "/v1/webhook")).status).toBe(204);
      const { body: after } = await door.ask(id, "PUT", "/v1/webhook", { url });
      expect(after.secret).toMatch(/^whsec_/);
      expect(after.secret).not.toBe(before.secret);
    });

    test.each([
      ["file:///etc/passwd", "must start with https://"],
      ["http://receiver.example/", "must start with https://"],
      ["https://127.0.0.1/", "must not lead to 127.0.0.1, which is not a public address"],
      ["https://[::ffff:169.254.169.254]/", "not a public address"],
      ["https://u:p@receiver.example/", "must not have a user name or password"],
      ["not a url", "must not have white space"],
    ])("cannot be %s in production", async (wrong, why) => {
      const production = await eventsDoor(under.db, { allowPrivateWebhooks: false });
      const { status, body } = await production.ask(await account(), "PUT", "/v1/webhook", { url: wrong });
      expect({ status, code: body.code }).toEqual({ status: 422, code: "invalid_webhook_url" });
      expect(body.detail).toContain(why);
    });

    test.each(["/v1/webhook/test", "/v1/webhook/rotate-secret"])("must have a URL for %s", async (path) => {
      const { status, body } = await door.ask(await account(), "POST", path);
      expect({ status, code: body.code }).toEqual({ status: 400, code: "no_webhook_url" });
    });

    test("can be tested with a signed delivery, whatever the response", async () => {
      const receiver = await startReceiver();
      const id = await account();
      const { body: set } = await door.ask(id, "PUT", "/v1/webhook", { url: receiver.url });
      const tried = await door.ask(id, "POST", "/v1/webhook/test");
      expect(tried).toMatchObject({ status: 200, body: { delivered: true, status: 200, error: null } });
      const { headers, body } = await receiver.request(1);
      expect(JSON.parse(body)).toEqual({
        event: "webhook.test",
        event_id: expect.stringMatching(/^evt_/),
        occurred_at: "2026-03-21T10:05:00.000Z",
        delivered_at: "2026-03-21T10:05:00.000Z",
        attempt: 1,
      });
      expect([headers["x-event-id"], headers["webhook-id"]]).toEqual([
        JSON.parse(body).event_id,
        headers["x-event-id"],
      ]);
      expect(await webhookFault({ headers, body, secret: set.secret, now: door.clock.now() })).toBe(undefined);

      receiver.behave(answer(500));
      const refused = await door.ask(id, "POST", "/v1/webhook/test");
      expect(refused.body).toMatchObject({ delivered: false, status: 500, error: "answered 500" });
      await receiver.close();
      const unheard = await door.ask(id, "POST", "/v1/webhook/test");
      expect(unheard.body).toMatchObject({ delivered: false, status: null, error: "connection refused" });
    });

    test("can be tested ten times in 60 seconds", async () => {
      const receiver = await startReceiver();
      const id = await account();
      await door.ask(id, "PUT", "/v1/webhook", { url: receiver.url });
      const tries = await Promise.all(Array.from({ length: 13 }, () => door.ask(id, "POST", "/v1/webhook/test")));
      const refused = tries.filter(({ status }) => status === 429);
      expect([tries.filter(({ status }) => status === 200).length, refused.length]).toEqual([10, 3]);
      expect(receiver.requests.length).toBe(10);
      expect(refused[0]?.body).toMatchObject({
        code: "rate_limit_exceeded",
        detail: "Cannot test webhook: the limit of 10 tests a minute is reached",
        limit: 10,
        used: 10,
        resets_at: expect.stringMatching(/Z$/),
      });
      await receiver.close();
    });

    test("signs with both secrets during a rotation, then with the new one only", async () => {
      const receiver = await startReceiver();
      const id = await account();
      const { body: set } = await door.ask(id, "PUT", "/v1/webhook", { url: receiver.url });
      const { body: rotated } = await door.ask(id, "POST", "/v1/webhook/rotate-secret", { overlapSeconds: 60 });
      expect(rotated.secret).not.toBe(set.secret);
      await door.ask(id, "POST", "/v1/webhook/test");
      const during = await receiver.request(1);
      expect(during.headers["webhook-signature"]?.split(" ")).toHaveLength(2);
      expect(await webhookFault({ ...during, secret: set.secret, now: door.clock.now() })).toBe(undefined);
      door.clock.pass(60_000);
      await door.ask(id, "POST", "/v1/webhook/test");
      const after = await receiver.request(2);
      expect(await webhookFault({ ...after, secret: rotated.secret, now: door.clock.now() })).toBe(undefined);
      expect(await webhookFault({ ...after, secret: set.secret, now: door.clock.now() })).toBe(
        "X-Signature does not match",
      );
      await receiver.close();
    });

    test.each([-1, 604_801, 1.5, "60"])(
      "keeps the old secret for 0 to 604,800 seconds, not %p",
      async (overlapSeconds) => {
        const id = await account();
        await door.ask(id, "PUT", "/v1/webhook", { url });
        const { status, body } = await door.ask(id, "POST", "/v1/webhook/rotate-secret", { overlapSeconds });
        expect({ status, code: body.code }).toEqual({ status: 400, code: "validation_error" });
      },
    );

    test("and its events are documented completely", async () => {
      await expectWholeDocument((await door.ask("", "GET", "/openapi.json")).body);
    });
  });
}
