import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { answer, type Receiver, startReceiver } from "../../../support/receiver.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../../../support/scripted-smtp.ts";
import { newAccount, newInbox, send } from "../../../support/sends.ts";
import { untilAnswered } from "../../../support/until.ts";
import { startWorld, type World } from "../../../support/world.ts";

let world: World;
let relay: ScriptedSmtp;
let receiver: Receiver;
/** Whether the relay delays every recipient. */
let isGreylisting = true;
/** The text of its reply. */
const inShort = () => "451 4.7.1 Try later";
let saying: (command: string) => string = inShort;

beforeAll(async () => {
  relay = await scriptedSmtp({
    answer: (command) => (isGreylisting && command.startsWith("RCPT") ? saying(command) : undefined),
  });
  receiver = await startReceiver({ behaviour: answer(500) });
  world = await startWorld({
    env: { OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off`, SENDS_PER_MINUTE: "0", ALLOW_PRIVATE_WEBHOOKS: "1" },
  });
}, 60_000);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await Promise.all([relay.close(), receiver.close()]);
});

/** A separate account with an inbox. */
async function begin() {
  const apiKey = await newAccount(world);
  const inboxId = await newInbox(world, apiKey);
  const ask = (method: string, path: string, body?: object) =>
    world.api(path, { method, apiKey, ...(body && { body }) });
  const list = async (query = "") => (await ask("GET", `/v1/outbox${query}`)).body;
  /** Sends a mail that the relay delays. */
  const putOff = async (to = "jane@example.com") => {
    const { body } = await send(world, inboxId, { to }, { apiKey });
    return untilWaiting(body.messageId);
  };
  const untilWaiting = (id: string) =>
    untilAnswered(async () => {
      const { data } = await list("?state=waiting");
      return data.some((item: { id: string }) => item.id === id) ? id : undefined;
    });
  return { apiKey, inboxId, ask, list, putOff };
}

describe("The outbox", () => {
  test("lists waiting items, oldest first, page by page", async () => {
    isGreylisting = true;
    const { inboxId, list, putOff, ask } = await begin();
    const ids: string[] = [];
    for (const name of ["jane", "joe", "bob"]) {
      ids.push(await putOff(`${name}@${name}.example`));
      world.clock.pass(1000);
    }
    const { data, nextCursor } = await list();
    expect(nextCursor).toBeNull();
    expect(data.map(({ id }: { id: string }) => id)).toEqual(ids);
    expect(data[0]).toEqual({
      id: ids[0],
      kind: "relay",
      state: "waiting",
      messageId: ids[0],
      eventId: null,
      inboxId,
      to: ["jane@jane.example"],
      attempt: 1,
      lastError: "451 4.7.1 Try later",
      createdAt: expect.stringMatching(/^2026-03-21T10:/),
      dueAt: expect.stringMatching(/^2026-03-21T10:/),
    });
    const first = await list("?limit=2");
    const second = await list(`?limit=2&cursor=${first.nextCursor}`);
    expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(ids);
    expect(second.nextCursor).toBeNull();
    expect((await list(`?kind=webhook`)).data).toEqual([]);
    expect((await list(`?kind=relay&inbox_id=${inboxId}`)).data).toHaveLength(3);
    const elsewhere = await ask("GET", `/v1/outbox?kind=relay&cursor=${first.nextCursor}`);
    expect([elsewhere.status, elsewhere.body.code]).toEqual([400, "invalid_query"]);
  });

  test("shows the last error: with several recipients, that of the first one that waits, in one line", async () => {
    const { apiKey, inboxId, ask, list } = await begin();
    const to = ["ann@one.example", "bob@one.example", "joe@one.example"];
    const answers: Record<string, string> = {
      ann: "550 5.1.1 No Ann",
      bob: "450-4.2.1 Bob is\r\n450 4.2.1 \u202e away",
    };
    saying = (command) => answers[/<(\w+)@/.exec(command)?.[1] ?? ""] ?? `452 4.5.3 ${"later ".repeat(120)}`;
    const { body } = await send(world, inboxId, { to }, { apiKey });
    const itemAfter = (attempt: number) =>
      untilAnswered(async () => {
        const { data } = await list("?kind=relay&state=waiting");
        return data.find((item: { attempt: number }) => item.attempt === attempt);
      });
    expect(await itemAfter(1)).toMatchObject({
      messageId: body.messageId,
      to: to.slice(1),
      lastError: "450 4.2.1 Bob is away",
    });
    delete answers.bob;
    await ask("POST", `/v1/outbox/${body.messageId}/retry`);
    const { lastError } = await itemAfter(2);
    expect(lastError).toStartWith("452 4.5.3 later later");
    expect(lastError).toHaveLength(500);
    saying = inShort;
  });

  test("belongs to one account", async () => {
    const { inboxId, putOff } = await begin();
    const id = await putOff();
    const stranger = await begin();
    expect((await stranger.list()).data).toEqual([]);
    for (const [method, path, resource] of [
      ["POST", `/v1/outbox/${id}/retry`, "outbox_item"],
      ["DELETE", `/v1/outbox/${id}`, "outbox_item"],
      ["POST", `/v1/messages/${id}/cancel`, "message"],
      ["GET", `/v1/outbox?inbox_id=${inboxId}`, "inbox"],
    ] as const) {
      const { status, body } = await stranger.ask(method, path);
      expect([method, path, status, body.resource]).toEqual([method, path, 404, resource]);
    }
  });

  test("with access send a key cancels its own mail and that of its tokens, and sees its id and status alone", async () => {
    const { apiKey, inboxId, putOff, list } = await begin();
    const made = async (path: string, body: object, apiKey: string) =>
      (await world.api(path, { method: "POST", body, apiKey })).body;
    const { key: own } = await made("/v1/keys", { access: "send" }, apiKey);
    const { key: other } = await made("/v1/keys", { access: "send", inboxId }, apiKey);
    const { key: agent } = await made("/v1/keys", { access: "agent" }, apiKey);
    const { token } = await made("/v1/tokens", { access: "send" }, agent);
    const sent = async (apiKey: string) => (await send(world, inboxId, {}, { apiKey })).body.messageId;
    const cancel = (id: string, apiKey: string) =>
      world.api(`/v1/messages/${id}/cancel`, { method: "POST", body: {}, apiKey });
    const mails = { own: await sent(own), agent: await sent(agent), token: await sent(token) };
    const byAccount = await putOff();
    await untilAnswered(async () => ((await list("?state=waiting")).data.length === 4 ? true : undefined));

    for (const [id, key] of [
      [mails.own, other],
      [mails.own, token],
      [mails.agent, own],
      [mails.token, own],
      [byAccount, own],
      [byAccount, token],
    ]) {
      const { status, body } = await cancel(id, key);
      expect([status, body.resource]).toEqual([404, "message"]);
    }
    expect((await list()).data).toHaveLength(4);

    const ended = (id: string) => ({ id, status: "failed" });
    expect((await cancel(mails.own, own)).body).toEqual(ended(mails.own));
    expect((await cancel(mails.agent, token)).body).toEqual(ended(mails.agent));
    expect((await cancel(mails.token, token)).body).toEqual(ended(mails.token));
    const again = await cancel(mails.own, own);
    expect([again.status, again.body.code, again.body.message_status]).toEqual([409, "not_cancelable", "failed"]);
    expect((await list()).data.map(({ id }: { id: string }) => id)).toEqual([byAccount]);
    expect((await cancel(byAccount, agent)).body).toMatchObject({ id: byAccount, failure: { reason: "canceled" } });
  });

  test("is only read by a token that can only read", async () => {
    const { ask, putOff } = await begin();
    const id = await putOff();
    const { body } = await ask("POST", "/v1/tokens", {});
    for (const [method, path, status] of [
      ["GET", "/v1/outbox", 200],
      ["DELETE", `/v1/outbox/${id}`, 403],
      ["POST", `/v1/messages/${id}/cancel`, 403],
    ] as const) {
      expect([path, (await world.api(path, { method, apiKey: body.token })).status]).toEqual([path, status]);
    }
  });

  test("retries an item at once, and then no longer lists it", async () => {
    const { ask, putOff } = await begin();
    isGreylisting = true;
    const id = await putOff();
    isGreylisting = false;
    const { status, body } = await ask("POST", `/v1/outbox/${id}/retry`);
    expect([status, body.id]).toEqual([202, id]);
    await untilAnswered(async () =>
      (await ask("GET", `/v1/messages/${id}`)).body.status === "sent" ? true : undefined,
    );
    const again = await ask("POST", `/v1/outbox/${id}/retry`);
    expect([again.status, again.body.resource]).toEqual([404, "outbox_item"]);
    const canceled = await ask("POST", `/v1/messages/${id}/cancel`);
    expect([canceled.status, canceled.body.code, canceled.body.message_status]).toEqual([
      409,
      "not_cancelable",
      "sent",
    ]);
    isGreylisting = true;
  });

  test("cancels a mail", async () => {
    const { ask, putOff, list } = await begin();
    const id = await putOff();
    expect((await ask("DELETE", `/v1/outbox/${id}`)).status).toBe(204);
    expect((await list()).data).toEqual([]);
    const { body } = await ask("GET", `/v1/messages/${id}`);
    expect(body).toMatchObject({ status: "failed", failure: { reason: "canceled" } });
    expect(body).not.toHaveProperty("mayHaveBeenSent");
  });

  test("returns the canceled mail, with an event", async () => {
    const { ask, putOff, inboxId } = await begin();
    const id = await putOff();
    const { status, body } = await ask("POST", `/v1/messages/${id}/cancel`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id,
      inboxId,
      status: "failed",
      failure: { code: null, enhancedCode: null, message: "Canceled before it was sent", reason: "canceled" },
    });
    const { body: log } = await ask("GET", `/v1/events?inbox_id=${inboxId}&types=message.failed`);
    expect(log.data.map(({ message }: { message: { id: string } }) => message.id)).toEqual([id]);
  });

  test("reports that a canceled mail may have been sent", async () => {
    const silent = await scriptedSmtp({ answer: (command) => (command === "." ? "hang up" : undefined) });
    await using lost = await startWorld({ env: { OUTBOUND: `smtp://127.0.0.1:${silent.port}?tls=off` } });
    const inbox = await lost.inbox();
    const sent = await send(lost, inbox.id, {}, { waits: true });
    expect(sent.body.status).toBe("pending");
    const { body } = await lost.api(`/v1/messages/${sent.body.messageId}/cancel`, { method: "POST" });
    expect(body).toMatchObject({ status: "failed", mayHaveBeenSent: true });
    expect(body.failure).not.toHaveProperty("mayHaveBeenSent");
    await silent.close();
  });

  test("does not list received mail", async () => {
    const { ask, apiKey } = await begin();
    const inbox = (await ask("POST", "/v1/inboxes", {})).body;
    await world.deliver("From: jane@example.com\r\nSubject: Hi\r\n\r\nHello\r\n", inbox.address);
    const { body } = await world.api(`/v1/inboxes/${inbox.id}/messages`, { apiKey });
    const refused = await ask("POST", `/v1/messages/${body.data[0].id}/cancel`);
    expect([refused.status, refused.body.code, refused.body.message_status]).toEqual([
      409,
      "not_cancelable",
      "received",
    ]);
  });

  test("lists waiting deliveries with their last error, and cancels them", async () => {
    const { ask, list } = await begin();
    const { body: endpoint } = await ask("POST", "/v1/webhooks", { url: receiver.url, eventTypes: ["inbox.created"] });
    await ask("PUT", "/v1/webhook", { url: receiver.url });
    const { body: inbox } = await ask("POST", "/v1/inboxes", {});
    const [item] = await untilAnswered(async () => {
      const { data } = await list("?kind=webhook&state=waiting");
      return data.length === 1 ? data : undefined;
    });
    expect(item).toMatchObject({
      id: `${item.eventId}.${endpoint.id}`,
      kind: "webhook",
      messageId: null,
      inboxId: inbox.id,
      to: [receiver.url],
      attempt: 1,
      lastError: expect.stringContaining("500"),
    });
    // A cursor may also contain the id of an endpoint.
    await ask("POST", "/v1/inboxes", {});
    const first = await list("?kind=webhook&limit=1");
    expect((await list(`?kind=webhook&limit=1&cursor=${first.nextCursor}`)).data).toHaveLength(1);

    const before = receiver.requests.length;
    expect((await ask("POST", `/v1/outbox/${item.id}/retry`)).status).toBe(202);
    await receiver.request(before + 1);
    await untilAnswered(async () =>
      (await list("?kind=webhook&state=waiting")).data.find(
        ({ id, attempt }: { id: string; attempt: number }) => id === item.id && attempt === 2,
      ),
    );
    expect((await ask("DELETE", `/v1/outbox/${item.id}`)).status).toBe(204);
    const gone = await ask("DELETE", `/v1/outbox/${item.id}`);
    expect([gone.status, gone.body.resource]).toEqual([404, "outbox_item"]);
    const { body: tried } = await ask("GET", `/v1/events/${item.eventId}/deliveries`);
    expect(tried.data).toHaveLength(2);
  });

  test("refuses to cancel an item in progress", async () => {
    const { ask, list } = await begin();
    const held: (() => void)[] = [];
    receiver.behave((socket, request) => held.push(() => answer(200)(socket, request)));
    await ask("POST", "/v1/webhooks", { url: receiver.url, eventTypes: ["inbox.created"] });
    await ask("POST", "/v1/inboxes", {});
    await untilAnswered(async () => held[0]);
    const { data } = await list("?state=running");
    expect(data).toHaveLength(1);
    for (const [method, path] of [
      ["POST", `/v1/outbox/${data[0].id}/retry`],
      ["DELETE", `/v1/outbox/${data[0].id}`],
    ] as const) {
      const { status, body, headers } = await ask(method, path);
      expect([status, body.code, headers.get("retry-after")]).toEqual([409, "send_in_progress", "1"]);
    }
    for (const go of held) go();
    await untilAnswered(async () => ((await list()).data.length === 0 ? true : undefined));
  });
});
