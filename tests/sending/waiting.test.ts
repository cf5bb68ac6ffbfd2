import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { fairly } from "../support/fair-time.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { newInbox, send } from "../support/sends.ts";
import { startWorld, type World } from "../support/world.ts";

const usualWaitMs = 2_000;

describe("the response waits for the first attempt", () => {
  let relay: ScriptedSmtp;
  let world: World;
  let inboxId: string;

  beforeAll(async () => {
    relay = await scriptedSmtp({
      answer: (command) => {
        if (command.startsWith("RCPT TO:<full@")) return "452 4.2.2 Mailbox full";
        if (command.startsWith("RCPT TO:<nobody@")) return "550 5.1.1 No such user";
        return undefined;
      },
    });
    world = await startWorld({
      database: "embedded",
      env: { OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off`, SENDS_PER_MINUTE: "0" },
    });
    inboxId = await newInbox(world);
  });
  afterAll(async () => {
    await relay.close();
    await world[Symbol.asyncDispose]();
  });

  async function timed(to: string, options: Parameters<typeof send>[3]) {
    const { result, fairMs } = await fairly(() => send(world, inboxId, { to }, options));
    expect(result.status).toBe(200);
    return { body: result.body, fairMs };
  }

  test("a relay that accepts the mail gives `sent` and its own id", async () => {
    const { body, fairMs } = await timed("jane@example.com", { waits: true });
    expect(body).toMatchObject({ status: "sent", providerMessageId: expect.stringMatching(/^\d+A\d+$/) });
    expect(fairMs).toBeLessThan(usualWaitMs);
    const { body: message } = await world.api(`/v1/messages/${body.messageId}`);
    expect(message).toMatchObject({ status: "sent", providerMessageId: body.providerMessageId, failure: null });
  });

  test("one that refuses it permanently gives `failed`, with the reason in the message", async () => {
    const { body, fairMs } = await timed("nobody@example.com", { waits: true });
    expect(body).toMatchObject({ status: "failed", providerMessageId: `<${body.messageId}@inbox.localhost>` });
    expect(fairMs).toBeLessThan(usualWaitMs);
    const { body: message } = await world.api(`/v1/messages/${body.messageId}`);
    expect(message.failure).toEqual({
      code: 550,
      enhancedCode: "5.1.1",
      message: expect.stringContaining("No such user"),
      reason: "refused",
      type: "hard",
    });
  });

  test("one that refuses it temporarily gives `pending` at once, not after the time limit", async () => {
    const { body, fairMs } = await timed("full@example.com", { waits: true });
    expect(body).toMatchObject({ status: "pending", providerMessageId: `<${body.messageId}@inbox.localhost>` });
    expect(fairMs).toBeLessThan(usualWaitMs);
  });

  test.each(["respond-async", "RESPOND-ASYNC", "wait=5, respond-async", "respond-async; foo=bar"])(
    "with Prefer: %s the response comes at once",
    async (prefer) => {
      const { body } = await timed("jane@example.com", { headers: { prefer } });
      expect(body.status).toBe("pending");
    },
  );

  test("mails of one inbox to one destination, which are sent one by one, follow each other at once", async () => {
    inboxId = await newInbox(world);
    for (let round = 0; round < 3; round += 1) {
      for (let index = 0; index < 4; index += 1) {
        await timed("jane@example.com", { headers: { prefer: "respond-async" } });
      }
      const { body, fairMs } = await timed("jane@example.com", { waits: true });
      expect(body.status).toBe("sent");
      expect(fairMs).toBeLessThan(800);
    }
  });

  test("another value of Prefer changes nothing", async () => {
    const { body } = await timed("jane@example.com", {
      waits: true,
      headers: { prefer: "return=minimal, x=respond-async" },
    });
    expect(body.status).toBe("sent");
  });
});

test("a relay that does not reply gives `pending` after the usual time limit", async () => {
  const relay = await scriptedSmtp({ greeting: "silence" });
  await using world = await startWorld({
    database: "embedded",
    env: { OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off`, SEND_WAIT_MS: undefined },
  });
  const inboxId = await newInbox(world);
  const startMs = performance.now();
  const { body } = await send(world, inboxId, {}, { waits: true });
  expect(body.status).toBe("pending");
  expect(performance.now() - startMs).toBeGreaterThan(usualWaitMs - 50);
  await relay.close();
});

describe("SEND_WAIT_MS=0", () => {
  test("never waits", async () => {
    await using world = await startWorld({ database: "embedded", env: { SEND_WAIT_MS: "0" } });
    const { body } = await send(world, await newInbox(world), {}, { waits: true });
    expect(body.status).toBeOneOf(["pending", "sent"]);
  });
});
