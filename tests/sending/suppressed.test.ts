import { afterEach, describe, expect, test } from "bun:test";
import { enginesHere } from "../support/engines.ts";
import { type Script, type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { newInbox, send } from "../support/sends.ts";
import { untilAnswered } from "../support/until.ts";
import type { World } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const unlimited = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0" };

describe.each(enginesHere())("mail to a suppressed address (%s)", (engine) => {
  const startWorld = worldsOn(engine);
  const sinks: ScriptedSmtp[] = [];
  afterEach(async () => {
    for (const sink of sinks.splice(0)) await sink.close();
  });

  async function begin(script: Script = {}, env: Record<string, string> = {}): Promise<[World, ScriptedSmtp]> {
    const sink = await scriptedSmtp(script);
    sinks.push(sink);
    const outbound = `smtp://127.0.0.1:${sink.port}?tls=off`;
    return [await startWorld({ env: { ...unlimited, OUTBOUND: outbound, ...env } }), sink];
  }

  const suppress = (world: World, address: string) =>
    world.api("/v1/suppressions", { method: "POST", body: { address } });

  const message = async (world: World, id: string) => (await world.api(`/v1/messages/${id}`)).body;

  /** The same for a mail that is delayed now and then, while time passes. */
  const endedInTime = (world: World, id: string) =>
    untilAnswered(async () => {
      world.clock.pass(10_000);
      const now = await message(world, id);
      return now.status === "pending" ? undefined : now;
    });

  /** The message once it is sent or failed. */
  const ended = (world: World, id: string) =>
    untilAnswered(async () => {
      const now = await message(world, id);
      return now.status === "pending" ? undefined : now;
    });

  test("is not sent after the suppression, however long it has waited", async () => {
    let isPaused = true;
    const [made, sink] = await begin({
      answer: (command) => (isPaused && command.startsWith("RCPT") ? "451 4.3.0 later" : undefined),
    });
    await using world = made;
    const inboxId = await newInbox(world);
    const sent = await Promise.all(Array.from({ length: 20 }, () => send(world, inboxId, { to: "jane@example.com" })));
    const other = await send(world, inboxId, { to: "bob@example.com" });
    await sink.seen("RCPT");
    await suppress(world, "JANE@example.com");
    // Attempts in progress are delayed once more, so that the relay accepts nothing before all have ended.
    for (const { body } of sent) {
      expect((await endedInTime(world, body.messageId)).failure).toMatchObject({
        code: null,
        enhancedCode: null,
        message: "Not sent: the recipient is suppressed (manual)",
      });
    }
    isPaused = false;
    expect((await endedInTime(world, other.body.messageId)).status).toBe("sent");
    expect(sink.mails.map(({ to }) => to)).toEqual(["bob@example.com"]);
    const { body } = await world.api("/v1/events?types=message.failed&limit=100");
    expect(body.data).toHaveLength(20);
  });

  test("is refused or fails in 50 sends at the time of the suppression, or was already in progress", async () => {
    const [made, sink] = await begin();
    await using world = made;
    const inboxId = await newInbox(world);
    const sends = Array.from({ length: 50 }, () => send(world, inboxId, { to: "jane@example.com" }));
    const { body: suppression } = await suppress(world, "jane@example.com");
    const answers = await Promise.all(sends);
    expect(suppression.id).toStartWith("sup_");
    const accepted = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ body }) => body.code === "recipient_suppressed");
    expect(accepted.length + refused.length).toBe(50);
    const ends: string[] = [];
    for (const { body } of accepted) {
      ends.push((await ended(world, body.messageId)).status);
    }
    expect(sink.mails).toHaveLength(ends.filter((status) => status === "sent").length);
    const mailsBefore = sink.mails.length;
    expect((await send(world, inboxId, { to: "jane@example.com" })).status).toBe(422);
    expect(sink.mails).toHaveLength(mailsBefore);
  });

  test("an address that a server does not know is suppressed at once for 90 days, with an event", async () => {
    const [made] = await begin({
      answer: (command) => (command.startsWith("RCPT") ? "550 5.1.1 No such user" : undefined),
    });
    await using world = made;
    const inboxId = await newInbox(world);
    const { body: sent } = await send(world, inboxId, { to: "Gone@example.com" }, { waits: true });
    expect(sent.status).toBe("failed");
    const { body } = await world.api("/v1/suppressions");
    const expiresAt = new Date(world.clock.now().getTime() + 90 * 86_400_000).toISOString();
    expect(body.data).toMatchObject([
      { address: "gone@example.com", inboxId: null, reason: "bounce", messageId: sent.messageId, expiresAt },
    ]);
    const events = (await world.api("/v1/events?types=suppression.added")).body.data;
    expect(events).toHaveLength(1);
    const logged = world.log.filter(({ msg }) => msg === "suppression added");
    expect(logged).toMatchObject([{ suppression_id: body.data[0].id, reason: "bounce" }]);
    const { event, inbox_id, thread_id, message: of, suppression } = events[0];
    expect({ event, inbox_id, thread_id }).toEqual({
      event: "suppression.added",
      inbox_id: inboxId,
      thread_id: sent.threadId,
    });
    expect(of).toMatchObject({ id: sent.messageId, to: "Gone@example.com", subject: "Hello" });
    expect(suppression).toEqual({
      id: body.data[0].id,
      address: "gone@example.com",
      inbox_id: null,
      reason: "bounce",
      expires_at: expiresAt,
    });
    expect((await send(world, inboxId, { to: "gone@example.com" })).body.reason).toBe("bounce");
    world.clock.pass(90 * 86_400_000);
    expect((await send(world, inboxId, { to: "gone@example.com" })).status).toBe(200);
  });

  const harmless: [what: string, answer: (command: string) => string | undefined][] = [
    ["a full mailbox", (command) => (command.startsWith("RCPT") ? "552 5.2.2 full" : undefined)],
    ["our reputation", (command) => (command.startsWith("RCPT") ? "550 5.7.1 blocked" : undefined)],
    ["words of a relay alone", (command) => (command.startsWith("RCPT") ? "550 no such user here" : undefined)],
    ["the sender", (command) => (command.startsWith("MAIL") ? "550 5.1.1 no such sender" : undefined)],
    ["not now", (command) => (command.startsWith("RCPT") ? "450 4.1.1 later" : undefined)],
  ];
  test("a failure that is not about the recipient suppresses nothing", async () => {
    let answer: (command: string) => string | undefined = () => undefined;
    const [made] = await begin({ answer: (command) => answer(command) });
    await using world = made;
    const inboxId = await newInbox(world);
    for (const [, refusing] of harmless) {
      answer = refusing;
      await send(world, inboxId, { to: "jane@example.com" }, { waits: true });
    }
    // Mail to our own domain never suppresses: the inbox may be made the next minute.
    const own = await send(world, inboxId, { to: "nobody@inbox.localhost" }, { waits: true });
    expect(own.body.status).toBe("failed");
    expect((await world.api("/v1/suppressions")).body.data).toEqual([]);
  });
});
