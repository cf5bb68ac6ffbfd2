import { describe, expect, test } from "bun:test";
import { enginesHere } from "../support/engines.ts";
import { newAccount } from "../support/sends.ts";
import { oneWorldOn } from "../support/world-on.ts";

describe.each(enginesHere())("The settings of an inbox (%s)", (engine) => {
  const world = oneWorldOn(engine);

  async function begin(fields: object = {}) {
    const apiKey = await newAccount(world());
    const { body: inbox } = await world().api("/v1/inboxes", { method: "POST", body: fields, apiKey });
    const change = (body: object) => world().api(`/v1/inboxes/${inbox.id}`, { method: "PATCH", body, apiKey });
    const send = (body: object, key: string = crypto.randomUUID()) =>
      world().api(`/v1/inboxes/${inbox.id}/send`, {
        method: "POST",
        body: { to: "jane@example.com", subject: "Hello", body: "Hello", ...body },
        headers: { "Idempotency-Key": key },
        apiKey,
      });
    const sent = async (body: object) => {
      const { messageId } = (await send(body)).body;
      const { body: message } = await world().api(`/v1/messages/${messageId}`, { apiKey });
      const raw = await (await world().fetch(`/v1/messages/${messageId}/raw`, { apiKey })).text();
      return { message, from: /^From: (.*)\r$/m.exec(raw)?.[1] };
    };
    return { apiKey, inbox, change, send, sent };
  }

  test("name the sender of a mail that names none itself", async () => {
    const { inbox, change, sent } = await begin({ displayName: "Ada Lovelace" });
    const { message, from } = await sent({});
    expect([message.fromName, from]).toEqual(["Ada Lovelace", `Ada Lovelace <${inbox.address}>`]);
    expect((await sent({ fromName: "Support" })).from).toBe(`Support <${inbox.address}>`);
    expect((await sent({ fromName: null })).from).toBe(inbox.address);
    await change({ displayName: "Zoë" });
    expect((await sent({})).message.fromName).toBe("Zoë");
    await change({ displayName: null });
    expect((await sent({})).from).toBe(inbox.address);
    expect(message.metadata).toEqual({});
  });

  test("do not change what a key of idempotency stands for", async () => {
    const { change, send } = await begin();
    const first = await send({}, "one");
    await change({ displayName: "Ada" });
    expect((await send({}, "one")).body.messageId).toBe(first.body.messageId);
    expect((await send({ fromName: "Ada" }, "one")).body.code).toBe("idempotency_key_reused");
  });
});
