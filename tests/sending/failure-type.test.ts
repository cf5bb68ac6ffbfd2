import { describe, expect, test } from "bun:test";
import { enginesHere } from "../support/engines.ts";
import { suppressed } from "../support/reported.ts";
import { type Move, type Script, type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { newInbox, send } from "../support/sends.ts";
import { untilAnswered } from "../support/until.ts";
import { worldsOn } from "../support/world-on.ts";

const at = (command: string, answer: Move): Script => ({
  answer: (line) => (line.startsWith(command) ? answer : undefined),
});

const envOf = ({ port }: ScriptedSmtp) => ({ OUTBOUND: `smtp://127.0.0.1:${port}?tls=off`, SEND_WAIT_MS: "20000" });

describe.each(enginesHere())("The type of a failure (%s)", (engine) => {
  const startWorld = worldsOn(engine);

  test.each([
    ["no such address", at("RCPT", "550 5.1.1 No such user"), "hard", ["jane@example.com"]],
    ["what we are", at("MAIL", "554 5.7.1 Your reputation is bad"), "block", []],
    ["a full mailbox", at("RCPT", "552 5.2.2 Mailbox full"), "soft", []],
    ["a relay's own words, which are about the relay", at("RCPT", "550 user unknown"), "unknown", []],
    ["the whole mail, before there was a recipient", at("MAIL", "550 5.1.1 No such user"), "hard", []],
  ] as const)("is that of a bounce with the same code: %s", async (_, script, type, gone) => {
    const relay = await scriptedSmtp(script);
    await using world = await startWorld({ env: envOf(relay) });
    const { body } = await send(world, await newInbox(world), {}, { waits: true });
    expect(body.status).toBe("failed");
    const { body: message } = await world.api(`/v1/messages/${body.messageId}`);
    expect(message.failure).toMatchObject({ reason: "refused", type });
    expect(message.recipients[0].failure).toEqual(message.failure);
    expect((await suppressed(world)).map(({ address }) => address)).toEqual([...gone]);
    await relay.close();
  });

  test.each([
    ["soft where a server put it off to the end", at("RCPT", "451 4.3.0 Later"), "soft"],
    ["null where no server answered", at("RCPT", "hang up"), null],
  ] as const)("is %s", async (_, script, type) => {
    const relay = await scriptedSmtp(script);
    await using world = await startWorld({ env: envOf(relay) });
    const { body } = await send(world, await newInbox(world));
    await relay.seen("RCPT");
    const message = await untilAnswered(async () => {
      world.clock.pass(3_600_000);
      const now = (await world.api(`/v1/messages/${body.messageId}`)).body;
      return now.status === "pending" ? undefined : now;
    });
    expect(message.failure).toMatchObject({ reason: "timed_out", type });
    await relay.close();
  });
});
