import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { webhookFault } from "../../src/domain/signature.ts";
import { migrate } from "../../src/store/migrate.ts";
import { type EngineUnderTest, enginesHere, openEngine } from "../support/engines.ts";
import { outboxWorld } from "../support/outbox-world.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

for (const engine of enginesHere()) {
  describe(`An event, with the ${engine} database`, () => {
    let under: EngineUnderTest;
    let world: Awaited<ReturnType<typeof outboxWorld>>;
    let receiver: Receiver;

    beforeAll(async () => {
      under = await openEngine(engine);
      await migrate(under.db);
    });
    afterAll(() => under?.remove());
    afterEach(async () => {
      await world.stop();
      await receiver.close();
    });

    async function begin() {
      receiver = await startReceiver();
      world = await outboxWorld(under.db);
      const inbox = await world.newInbox();
      const secret = await world.setWebhook(inbox.accountId, receiver.url);
      await world.start();
      return { inbox, secret };
    }

    test("goes to the receiver signed in both schemes, with the payload of the contract", async () => {
      const { inbox, secret } = await begin();
      await world.receive(inbox, { messageId: "a@b.example", subject: "Hi", cc: [{ address: "joe@mail.example" }] });
      const request = await receiver.request(1);
      const [event] = await world.events(inbox.id);
      const payload = JSON.parse(request.body);
      expect(payload).toEqual({
        event: "message.received",
        event_id: event?.id,
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
          attachments: [],
          received_at: "2026-03-21T10:05:00.000Z",
        },
      });
      expect(JSON.stringify(payload)).toBe(request.body);
      expect(await webhookFault({ headers: request.headers, body: request.body, secret, now: world.clock.now() })).toBe(
        undefined,
      );
    });
  });
}
