import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { prune } from "../../src/workers/prune.ts";
import { enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { newInbox, send } from "../support/sends.ts";
import { untilSo } from "../support/until.ts";
import type { World, WorldInbox } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const includes = ["html", "extracted", "automated", "recipients", "authentication", "spam"];
const file = { filename: "list.txt", content: btoa("one") };

describe.each(enginesHere())("The event of mail that ends unsent (%s)", (engine) => {
  const startWorld = worldsOn(engine);
  let world: World;
  let receiver: Receiver;

  beforeAll(async () => {
    world = await startWorld({ env: { SENDS_PER_DAY: "1", COLD_RECIPIENT_DAILY: "0", ALLOW_PRIVATE_WEBHOOKS: "1" } });
    receiver = await startReceiver();
    const body = { url: receiver.url, eventTypes: ["message.failed"], include: includes };
    expect((await world.api("/v1/webhooks", { method: "POST", body })).status).toBe(201);
  });
  afterAll(async () => {
    await receiver.close();
    await world[Symbol.asyncDispose]();
  });

  const inMs = (ms: number) => new Date(world.clock.now().getTime() + ms).toISOString();
  const post = (path: string, body: object = {}) =>
    world.api(path, { method: "POST", body, headers: { "idempotency-key": crypto.randomUUID() } });
  const schedule = async (inboxId: string, more: object = {}): Promise<string> =>
    (await send(world, inboxId, { sendAt: inMs(hourMs), ...more })).body.messageId;
  const isOver = async (id: string) => (await world.api(`/v1/messages/${id}`)).body.state === null;
  const events = async (inboxId: string, more = "") =>
    (await world.api(`/v1/events?types=message.sent,message.failed&inbox_id=${inboxId}&after=start${more}`)).body.data;
  const delivered = (id: string) =>
    receiver.requests.map(({ body }) => JSON.parse(body)).find(({ message }) => message.id === id);

  test("has the fields of a message, in the log and for webhooks", async () => {
    const inbox = await world.inbox();
    const id = await schedule(inbox.id, {
      to: [{ address: "jane@example.com", name: "Jane" }],
      cc: ["joe@example.com"],
      fromName: "Ada",
      bodyHtml: "<p>Hello <b>Jane</b></p>",
      metadata: { order: "7" },
      attachments: [file],
    });
    const before = (await world.api(`/v1/messages/${id}`)).body;
    const rule = { direction: "outbound", action: "block", pattern: "joe@example.com", inboxId: inbox.id };
    await post("/v1/rules", rule);
    world.clock.pass(hourMs);
    await untilSo(() => isOver(id));
    const [event, ...others] = await events(inbox.id, `&include=${includes}`);
    expect(others).toEqual([]);
    const failure = { code: null, enhanced_code: null, message: event.message.failure.message, reason: "disabled" };
    const of = (address: string, name: string | null, type: string) => ({
      address,
      name,
      type,
      status: "failed",
      provider_message_id: null,
      failure,
    });
    expect(failure.message).toStartWith("Cannot send: ");
    expect(event).toEqual({
      event: "message.failed",
      event_id: event.event_id,
      occurred_at: event.occurred_at,
      inbox_id: inbox.id,
      external_id: null,
      thread_id: before.threadId,
      message: {
        id,
        rfc_message_id: before.rfcMessageId,
        from: inbox.address,
        to: "jane@example.com",
        cc: ["joe@example.com"],
        subject: "Hello",
        body_text: "Hello Jane",
        attachments: [expect.objectContaining({ filename: "list.txt", url: expect.stringContaining(`/${id}/`) })],
        status: "failed",
        provider_message_id: before.rfcMessageId,
        created_at: before.createdAt,
        failed_at: event.occurred_at,
        failure,
        body_html: "<p>Hello <b>Jane</b></p>",
        from_name: "Ada",
        reply_to: null,
        extracted_text: "Hello Jane",
        extracted_html: expect.any(String),
        codes: [],
        links: [],
        automated: null,
        to_list: ["jane@example.com"],
        tag: null,
        thread_metadata: {},
        authentication: null,
        spam: null,
        recipients: [of("jane@example.com", "Jane", "to"), of("joe@example.com", null, "cc")],
        metadata: { order: "7" },
      },
    });
    expect(Object.keys(event.message).slice(-2)).toEqual(["recipients", "metadata"]);
    await untilSo(() => delivered(id) !== undefined);
    const { delivered_at, attempt, ...payload } = delivered(id);
    const withoutUrls = ({ message, ...head }: typeof event) => ({ ...head, message: { ...message, attachments: [] } });
    expect([attempt, withoutUrls(payload)]).toEqual([1, withoutUrls(event)]);
    expect(payload.message.attachments).toHaveLength(1);
    expect((await world.api(`/v1/events/${event.event_id}`)).body.message.subject).toBe("Hello");

    // A delivery that has not ended yet is not repeated.
    await untilSo(async () => (await world.api("/v1/outbox?kind=webhook")).body.data.length === 0);
    const count = receiver.requests.length;
    const redelivered = await post(`/v1/events/${event.event_id}/redeliver`, {
      webhookId: (await world.api("/v1/webhooks")).body.data[0].id,
    });
    expect(redelivered.status).toBe(202);
    expect((await receiver.request(count + 1)).body).toContain(id);
  });

  async function thread(inbox: WorldInbox): Promise<string> {
    await world.deliver(mailOf({ subject: "Question" }), inbox.address);
    return (await world.api(`/v1/inboxes/${inbox.id}/threads`)).body.data[0].threadId;
  }

  test.each<[reason: string, how: string, end: (inbox: WorldInbox) => Promise<string>]>([
    [
      "canceled",
      "is canceled",
      async ({ id: inboxId }) => {
        const id = await schedule(inboxId);
        await post(`/v1/messages/${id}/cancel`);
        return id;
      },
    ],
    [
      "canceled",
      "is discarded",
      async ({ id: inboxId }) => {
        const id = await schedule(inboxId);
        await world.api(`/v1/drafts/${id}`, { method: "DELETE" });
        return id;
      },
    ],
    [
      "replied",
      "was answered",
      async (inbox) => {
        const threadId = await thread(inbox);
        const reply = { threadId, to: undefined, subject: undefined, unlessReplied: true };
        const id = await schedule(inbox.id, reply);
        const [question] = (await world.api(`/v1/threads/${threadId}/messages`)).body.data;
        const headers = [`In-Reply-To: ${question.rfcMessageId}`];
        await world.deliver(mailOf({ subject: "Re: Question", headers }), inbox.address);
        world.clock.pass(hourMs);
        return id;
      },
    ],
    [
      "suppressed",
      "goes to a suppressed address",
      async ({ id: inboxId }) => {
        const id = await schedule(inboxId, { to: "gone@example.com" });
        await post("/v1/suppressions", { address: "gone@example.com" });
        world.clock.pass(hourMs);
        return id;
      },
    ],
    [
      "disabled",
      "is of a disabled inbox",
      async ({ id: inboxId }) => {
        const id = await schedule(inboxId);
        await world.api(`/v1/inboxes/${inboxId}`, { method: "PATCH", body: { disabled: true } });
        world.clock.pass(hourMs + dayMs);
        return id;
      },
    ],
  ])("comes once with the reason %s if it %s", async (reason, _, end) => {
    const inbox = await world.inbox();
    const id = await end(inbox);
    await untilSo(() => isOver(id));
    const told = await events(inbox.id);
    expect(told.map(({ message }: { message: { id: string } }) => message.id)).toEqual([id]);
    expect(told[0].message).toMatchObject({
      status: "failed",
      failure: { reason },
      recipients: [{ status: "failed" }],
    });
    await untilSo(() => delivered(id) !== undefined);
    expect((await world.api(`/v1/messages/${id}`)).body.failure.reason).toBe(reason);
  });

  test("comes with the reason limit if no limit let it out for a day", async () => {
    const inboxId = await newInbox(world);
    const ids: string[] = [];
    for (const ms of [1000, 2000, 3000]) ids.push(await schedule(inboxId, { sendAt: inMs(ms) }));
    const [first = "", second = "", third = ""] = ids;
    world.clock.pass(5000);
    await untilSo(() => isOver(first));
    world.clock.pass(dayMs);
    await untilSo(async () => (await isOver(second)) && (await isOver(third)));
    const told = (await events(inboxId)).filter(({ event }: { event: string }) => event === "message.failed");
    expect(told).toMatchObject([{ message: { id: third, failure: { reason: "limit" } } }]);
  });

  test("does not come for a draft that nobody has sent, or that is a draft again, or is sent", async () => {
    await using other = await startWorld({ env: { SENDS_PER_MINUTE: "0" } });
    const inbox = await other.inbox();
    const to = inbox.address;
    const drafts = `/v1/inboxes/${inbox.id}/drafts`;
    const headers = () => ({ "idempotency-key": crypto.randomUUID() });
    const { id } = (await other.api(drafts, { method: "POST", body: {}, headers: headers() })).body;
    await other.api(`/v1/drafts/${id}`, { method: "DELETE" });
    const sendAt = new Date(other.clock.now().getTime() + hourMs).toISOString();
    const back = (await send(other, inbox.id, { to, sendAt })).body.messageId;
    await other.api(`/v1/drafts/${back}`, { method: "PATCH", body: { sendAt: null } });
    await other.api(`/v1/drafts/${back}`, { method: "DELETE" });
    const sent = (await send(other, inbox.id, { to, sendAt })).body.messageId;
    other.clock.pass(hourMs);
    await untilSo(async () => (await other.api(`/v1/messages/${sent}`)).body.status === "sent");
    const { body } = await other.api("/v1/events?types=message.sent,message.failed&after=start");
    expect(body.data).toMatchObject([{ event: "message.sent", message: { id: sent } }]);
  });

  test("stays after its content is removed, and leaves the log with its inbox", async () => {
    const inbox = await world.inbox();
    const id = await schedule(inbox.id, { attachments: [file], sendAt: inMs(hourMs) });
    await post(`/v1/messages/${id}/cancel`);
    world.clock.pass(31 * dayMs);
    await prune({ ...world.service.deps, eventRetentionDays: 90 });
    expect(await events(inbox.id)).toMatchObject([
      {
        message: {
          id,
          subject: "",
          body_text: "",
          attachments: [],
          failure: { reason: "canceled" },
          recipients: [{ address: "jane@example.com" }],
        },
      },
    ]);
    await world.api(`/v1/inboxes/${inbox.id}`, { method: "DELETE" });
    const { body } = await world.api("/v1/events?types=message.failed&after=start&limit=100");
    expect(JSON.stringify(body)).not.toContain(id);
  });
});
