import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { refused } from "../../../mail/report/fixtures.ts";
import { enginesHere } from "../../../support/engines.ts";
import { mailOf } from "../../../support/mail.ts";
import { answer, type Receiver, startReceiver } from "../../../support/receiver.ts";
import { report, returnPathOf, signingKey } from "../../../support/reported.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../../../support/scripted-smtp.ts";
import { send } from "../../../support/sends.ts";
import { untilAnswered } from "../../../support/until.ts";
import type { World } from "../../../support/world.ts";
import { worldsOn } from "../../../support/world-on.ts";

/** The history of a message as the API lists it. */
describe.each(enginesHere())("The history of a message (%s):", (engine) => {
  const start = worldsOn(engine);
  let server: ScriptedSmtp;
  let receiver: Receiver;
  let world: World;
  let isGreylisting = true;

  beforeAll(async () => {
    server = await scriptedSmtp({
      extensions: ["STARTTLS", "ENHANCEDSTATUSCODES"],
      answer(command) {
        if (command.startsWith("RCPT TO:<late@") && isGreylisting) return "450 4.2.0 Greylisted";
        if (command.startsWith("RCPT TO:<nobody@")) return "550 5.1.1 No such user";
        return undefined;
      },
    });
    receiver = await startReceiver();
    world = await start({
      env: {
        SIGNING_KEY: signingKey,
        OUTBOUND: `smtp://localhost:${server.port}?tls=opportunistic`,
        SEND_WAIT_MS: "20000",
        SENDS_PER_MINUTE: "0",
        ALLOW_PRIVATE_WEBHOOKS: "1",
      },
    });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await receiver?.close();
    await server?.close();
  });

  const history = async (id: string, apiKey?: string) =>
    (await world.api(`/v1/messages/${id}/history`, { ...(apiKey !== undefined && { apiKey }) })).body;
  const steps = async (id: string) => (await history(id)).data.map(({ what }: { what: string }) => what);

  const until = (isSo: () => Promise<boolean>) => untilAnswered(async () => (await isSo()) || undefined);

  async function keyWith(more: object): Promise<string> {
    const { status, body } = await world.api("/v1/keys", { method: "POST", body: { name: "another", ...more } });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return body.key;
  }

  test("each attempt at each recipient, then the outcome", async () => {
    const inbox = await world.inbox();
    const to = ["jane@example.com", "late@example.com", "nobody@example.com"];
    const { messageId: id } = (await send(world, inbox.id, { to }, { waits: true })).body;
    await until(async () => (await steps(id)).length === 5);
    isGreylisting = false;
    world.clock.pass(3_600_000);
    await until(async () => (await steps(id)).includes("failed"));
    const { data, truncated } = await history(id);
    const server = { host: "localhost", tls: "TLSv1.3" };
    const attempted = { what: "attempted", eventId: null, attempt: 1, ...server };
    const [first, second, third] = to;
    const sentEvent = data.find(({ what }: { what: string }) => what === "sent").eventId;
    expect(truncated).toBe(false);
    expect(data).toMatchObject([
      { what: "accepted", eventId: null },
      {
        ...attempted,
        recipient: first,
        outcome: "sent",
        code: 250,
        enhancedCode: "2.0.0",
        message: "Ok: queued as 1A1",
      },
      { ...attempted, recipient: second, outcome: "put_off", code: 450, enhancedCode: "4.2.0", message: "Greylisted" },
      { ...attempted, recipient: third, outcome: "failed", code: 550, enhancedCode: "5.1.1", message: "No such user" },
      { what: "sent", eventId: expect.stringMatching(/^evt_/) },
      { ...attempted, attempt: 2, recipient: second, outcome: "sent", code: 250 },
      {
        what: "failed",
        eventId: expect.stringMatching(/^evt_/),
        failure: { code: 550, reason: "refused", type: "hard" },
      },
    ]);
    const times = data.map(({ at }: { at: string }) => Date.parse(at));
    expect(times).toEqual(times.toSorted((one: number, other: number) => one - other));
    const { body: event } = await world.api(`/v1/events/${sentEvent}`);
    expect(event).toMatchObject({ event: "message.sent", message: { id } });
  });

  test("only the last 20 attempts are kept", async () => {
    isGreylisting = true;
    const inbox = await world.inbox();
    const { messageId: id } = (await send(world, inbox.id, { to: "late@example.com" }, { waits: true })).body;
    const last = async () => (await history(id)).data.at(-1);
    for (let attempt = 1; attempt <= 22; attempt += 1) {
      await until(async () => (await last()).attempt === attempt);
      const retried = await world.api(`/v1/outbox/${id}/retry`, { method: "POST" });
      expect(retried.status).toBe(202);
    }
    await until(async () => (await last()).attempt === 23);
    const { data } = await history(id);
    expect(data.map(({ attempt }: { attempt?: number }) => attempt)).toEqual([
      undefined,
      ...Array.from({ length: 20 }, (_, index) => index + 4),
    ]);
  });

  test("a report about it, and what the webhook answered to each of its events", async () => {
    receiver.behave(answer(500));
    const { body: hook } = await world.api("/v1/webhooks", {
      method: "POST",
      body: { url: receiver.url, eventTypes: ["*"] },
    });
    const inbox = await world.inbox();
    const { messageId: id } = (await send(world, inbox.id, {}, { waits: true })).body;
    await until(async () => (await steps(id)).includes("told"));
    receiver.behave(answer(200));
    const mail = refused("smtp; 550 5.1.1 <jane@example.com>: User unknown", "5.1.1");
    expect(await report(world, mail, await returnPathOf(id))).toStartWith("250");
    const { data: reports } = (await world.api(`/v1/messages/${id}/reports`)).body;
    await until(async () => (await steps(id)).filter((what: string) => what === "told").length >= 2);
    const { data } = await history(id);
    expect(data.slice(0, 3).map(({ what }: { what: string }) => what)).toEqual(["accepted", "attempted", "sent"]);
    const sentEvent = data[2].eventId;
    const bounced = data.find(({ what }: { what: string }) => what === "bounced");
    expect(bounced).toMatchObject({
      eventId: expect.stringMatching(/^evt_/),
      reportId: reports[0].id,
      recipient: "jane@example.com",
      type: "hard",
      code: 550,
      source: "dsn",
    });
    const told = data.filter(({ what }: { what: string }) => what === "told");
    expect(told[0]).toMatchObject({ event: "message.sent", webhookId: hook.id, attempt: 1, status: 500 });
    expect(told[0].eventId).toBe(sentEvent);
    await world.api(`/v1/webhooks/${hook.id}`, { method: "DELETE" });
  });

  test("a mail is written as a draft, scheduled, and sent or canceled", async () => {
    const inbox = await world.inbox();
    const post = (path: string, body: object) =>
      world.api(path, { method: "POST", body, headers: { "idempotency-key": crypto.randomUUID() } });
    const mail = { to: "jim@example.com", subject: "Hello", body: "Hello Jim" };
    const { id } = (await post(`/v1/inboxes/${inbox.id}/drafts`, mail)).body;
    expect((await history(id)).code).toBe("not_found");
    world.clock.pass(1000);
    const sendAt = new Date(world.clock.now().getTime() + 60_000).toISOString();
    await post(`/v1/drafts/${id}/send`, { sendAt });
    expect((await history(id)).data).toMatchObject([{ what: "drafted" }, { what: "scheduled", sendAt, eventId: null }]);
    const canceled = (await send(world, inbox.id, { ...mail, sendAt })).body.messageId;
    await post(`/v1/messages/${canceled}/cancel`, {});
    const { data: events } = (await world.api("/v1/events?types=message.failed&order=desc")).body;
    expect((await history(canceled)).data).toMatchObject([
      { what: "scheduled" },
      { what: "failed", eventId: events[0].event_id, failure: { reason: "canceled" } },
    ]);
    world.clock.pass(60_000);
    await until(async () => (await steps(id)).includes("sent"));
    expect(await steps(id)).toEqual(["drafted", "scheduled", "accepted", "attempted", "sent"]);
    const other = await keyWith({ access: "read", inboxId: (await world.inbox()).id });
    expect((await history(canceled, other)).code).toBe("not_found");
  });

  test("a mail is received, and its thread is read and unread by a key", async () => {
    const inbox = await world.inbox();
    await world.deliver(mailOf({ messageId: `${inbox.id}@example.com` }), inbox.address, "jane@client.example");
    const { data: messages } = (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body;
    const [{ id, threadId, createdAt }] = messages;
    world.clock.pass(1000);
    await world.api(`/v1/threads/${threadId}`, { method: "PATCH", body: { is_read: true } });
    world.clock.pass(1000);
    await world.api(`/v1/threads/${threadId}`, { method: "PATCH", body: { is_read: false } });
    const by = { type: "key", id: expect.stringMatching(/^key_/), name: expect.any(String) };
    const envelope = { from: "jane@client.example", to: inbox.address };
    const expected = [
      {
        what: "received",
        at: createdAt,
        eventId: expect.stringMatching(/^evt_/),
        envelope,
        clientAddress: null,
        verdict: null,
      },
      { what: "read", eventId: null, by },
      { what: "unread", eventId: null, by },
    ];
    expect((await history(id)).data).toMatchObject(expected);

    // A caller of a part of the account learns neither of the account's endpoints nor of its keys.
    for (const more of [{ access: "read" }, { access: "agent", inboxId: inbox.id }]) {
      const { data } = await history(id, await keyWith(more));
      expect(data).toMatchObject([{ what: "received" }, { what: "read", by: null }, { what: "unread", by: null }]);
    }
  });

  test("is not found beyond the reach of the key, nor for an id of something else", async () => {
    const inbox = await world.inbox();
    const other = await world.inbox();
    await world.deliver(mailOf({ messageId: `${inbox.id}@example.com` }), inbox.address);
    const { data: messages } = (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body;
    const apiKey = await keyWith({ access: "read", inboxId: other.id });
    for (const [id, key] of [
      [messages[0].id, apiKey],
      [inbox.id, world.apiKey],
    ]) {
      const { status, body } = await world.api(`/v1/messages/${id}/history`, { apiKey: key });
      expect([status, body.code, body.resource]).toEqual([404, "not_found", "message"]);
    }
  });
});
