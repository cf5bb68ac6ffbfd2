import { describe, expect, test } from "bun:test";
import { enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { send } from "../support/sends.ts";
import type { World, WorldInbox } from "../support/world.ts";
import { oneWorldOn } from "../support/world-on.ts";

const env = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "2" };

describe.each(enginesHere())("A reply to a message by its id (%s)", (engine) => {
  const world = oneWorldOn(engine, { env });

  /** The newest message of an inbox, after a mail has arrived. */
  async function received(inbox: WorldInbox, raw: string, from?: string): Promise<{ id: string; threadId: string }> {
    expect(await world().deliver(raw, inbox.address, from)).toStartWith("250");
    return (await world().api(`/v1/inboxes/${inbox.id}/messages?limit=1`)).body.data[0];
  }

  test("to all goes to its sender and the others in To and Cc, but not to our own address", async () => {
    const inbox = await world().inbox();
    const tagged = inbox.address.replace("@", "+x@");
    const message = await received(inbox, namesAll(inbox.address, tagged));
    const caller = { cc: ["fay@example.com", "DAN@example.com"], bcc: "gil@example.com" };
    const shown = await answerToAll(world(), inbox, message.id, caller);
    expect(shown).toMatchObject({
      threadId: message.threadId,
      to: ["jane@example.com", "ann@example.com"],
      cc: ["dan@example.com", "fay@example.com"],
      bcc: ["gil@example.com"],
    });
  });

  test("to all goes to the same, whether its caller names the message or the thread", async () => {
    const inbox = await world().inbox();
    const message = await received(inbox, namesAll(inbox.address, inbox.address));
    const byId = await answerToAll(world(), inbox, message.id);
    expect(byId).toMatchObject({ to: ["jane@example.com", "ann@example.com"], cc: ["dan@example.com"] });
    const other = await world().inbox();
    const { threadId } = await received(other, namesAll(other.address, other.address));
    const answer = await send(world(), other.id, { to: undefined, threadId, replyAll: true });
    const { body: byThread } = await world().api(`/v1/messages/${answer.body.messageId}`);
    expect(byThread).toMatchObject({ to: ["jane@example.com", "ann@example.com"], cc: ["dan@example.com"] });
  });

  test("to all of our own reply goes to its recipients", async () => {
    const inbox = await world().inbox();
    const { body } = await send(world(), inbox.id, {
      to: ["kim@example.com", "lou@example.com"],
      cc: "may@example.com",
    });
    const shown = await answerToAll(world(), inbox, body.messageId);
    expect(shown).toMatchObject({ to: ["kim@example.com", "lou@example.com"], cc: ["may@example.com"] });
  });

  test("replies to that one, quotes it, and names the whole thread", async () => {
    const inbox = await world().inbox();
    const ids = [1, 2, 3, 4, 5].map((place) => `${place}@${inbox.id}`);
    let second = "";
    for (const [place, messageId] of ids.entries()) {
      const inReplyTo = ids[place - 1];
      const text = `This is mail ${place + 1}\r\n`;
      const { id } = await received(inbox, mailOf({ messageId, text, ...(inReplyTo !== undefined && { inReplyTo }) }));
      if (place === 1) second = id;
    }
    const { body } = await send(world(), inbox.id, { to: undefined, subject: undefined, replyToMessageId: second });
    const raw = await (await world().fetch(`/v1/messages/${body.messageId}/raw`)).text();
    expect(/^In-Reply-To: <(.*)>/m.exec(raw)?.[1]).toBe(ids[1] ?? "");
    expect(raw.match(/<[1-5]@inb_[^>]*>/g)?.length).toBe(6);
    const { body: shown } = await world().api(`/v1/messages/${body.messageId}`);
    expect(shown.bodyText.match(/This is mail \d/g)).toEqual(["This is mail 2"]);
  });

  test("goes to an unknown Reply-To, and counts as mail to a stranger", async () => {
    const inbox = await world().inbox();
    const headers = ["Reply-To: stranger@example.org"];
    const { id } = await received(inbox, mailOf({ to: inbox.address, headers }));
    const answers = [];
    for (let count = 0; count < 3; count += 1) {
      answers.push(await send(world(), inbox.id, { to: undefined, subject: undefined, replyToMessageId: id }));
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[2]?.body).toMatchObject({ code: "cold_outreach_limit" });
    const { body } = await world().api(`/v1/messages/${answers[0]?.body.messageId}`);
    expect(body.to).toEqual(["stranger@example.org"]);
  });

  test.each([
    ["says nobody to answer", "Subject: Hi\r\nTo: ada@inbox.localhost\r\n\r\nHello\r\n", "jane@example.com"],
    ["came with a null reverse path", mailOf({ subject: "Undelivered" }), ""],
  ])("is refused if it %s", async (_, raw, from) => {
    const inbox = await world().inbox();
    const { id } = await received(inbox, raw, from);
    const answer = await send(world(), inbox.id, { to: undefined, subject: undefined, replyToMessageId: id });
    expect([answer.status, answer.body.code]).toEqual([422, "no_recipient"]);
    expect((await world().api(`/v1/inboxes/${inbox.id}/messages`)).body.total).toBe(1);
  });
});

/** From Jane to two of our inboxes and Ann, with a copy to Dan and another inbox. */
function namesAll(ours: string, oursAgain: string): string {
  return mailOf({
    to: `Ada <${ours.toUpperCase()}>, ann@example.com,\r\n ${oursAgain}`,
    headers: [`Cc: ${oursAgain}, dan@example.com, ANN@example.com`],
  });
}

async function answerToAll(world: World, inbox: WorldInbox, replyToMessageId: string, more: object = {}) {
  const body = { to: undefined, subject: undefined, replyAll: true, replyToMessageId, ...more };
  const answer = await send(world, inbox.id, body);
  expect(answer.status).toBe(200);
  return (await world.api(`/v1/messages/${answer.body.messageId}`)).body;
}
