import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasPostfix, type Postfix, startPostfixIn } from "../support/postfix.ts";
import { eventsOf, suppressed } from "../support/reported.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { send } from "../support/sends.ts";
import { untilAnswered } from "../support/until.ts";
import { startWorld, type World } from "../support/world.ts";

if (!hasPostfix) console.log("Skipped: postfix is not installed here for root");

describe.skipIf(!hasPostfix)("Through a Postfix,", () => {
  let home: string;
  let world: World;
  let elsewhere: ScriptedSmtp;
  let postfix: Postfix;
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), "ibx-postfix-"));
    chmodSync(home, 0o755);
    elsewhere = await scriptedSmtp({
      answer(command) {
        if (command.startsWith("RCPT TO:<bob@")) return "550 5.1.1 <bob@example.com>: no such user here";
        return command.startsWith("RCPT TO:<eve@") ? "554 5.7.1 Your reputation is bad" : undefined;
      },
    });
    // A free port: the relay's port must be known before it starts, because it needs ours.
    const place = await scriptedSmtp();
    const { port } = place;
    await place.close();
    world = await startWorld({ env: { OUTBOUND: `smtp://127.0.0.1:${port}?tls=off`, SEND_WAIT_MS: "20000" } });
    postfix = await startPostfixIn(home, {
      port,
      settings: [
        "inet_interfaces = loopback-only",
        "myhostname = relay.example",
        "mynetworks = 127.0.0.0/8",
        "smtpd_relay_restrictions = permit_mynetworks, reject",
        `transport_maps = inline:{ {inbox.localhost = smtp:[127.0.0.1]:${world.smtpPort}} }`,
        `relayhost = [127.0.0.1]:${elsewhere.port}`,
        "bounce_template_file =",
        "notify_classes =",
      ],
    });
    await untilAnswered(() => isListening(port));
  }, 60_000);
  afterAll(async () => {
    await postfix.stop();
    await world[Symbol.asyncDispose]();
    await elsewhere.close();
    rmSync(home, { recursive: true, force: true });
  }, 60_000);

  test("a mail to three recipients reports each of two later bounces without suppressing; a mail to one of them suppresses it; and no bounce is stored as mail", async () => {
    const inbox = await world.inbox();
    const to = ["ann@example.com", "bob@example.com", "eve@example.com"];
    const { body } = await send(world, inbox.id, { to }, { waits: true });
    expect(body.status).toBe("sent");
    const message = await untilAnswered(async () => {
      const now = (await world.api(`/v1/messages/${body.messageId}`)).body;
      return now.recipients[1].delivery && now.recipients[2].delivery ? now : undefined;
    });
    expect(message).toMatchObject({ status: "sent", delivery: { state: "bounced", type: "hard" } });
    expect(message.recipients).toMatchObject([
      { address: "ann@example.com", delivery: null },
      { delivery: { type: "hard", code: 550, enhancedCode: "5.1.1", source: "dsn", proof: "return_path" } },
      { delivery: { type: "block", code: 554, enhancedCode: "5.7.1", source: "dsn", proof: "return_path" } },
    ]);
    const told = await eventsOf(world, "message.bounced");
    expect(told.map(({ report }: { report: { recipient: string } }) => report.recipient).toSorted()).toEqual([
      "bob@example.com",
      "eve@example.com",
    ]);
    expect(await suppressed(world)).toEqual([]);
    await send(world, inbox.id, { to: "bob@example.com" }, { waits: true });
    const [one] = await untilAnswered(async () => {
      const now = await suppressed(world);
      return now.length > 0 ? now : undefined;
    });
    expect(one).toMatchObject({ address: "bob@example.com", reason: "bounce" });
    expect(await eventsOf(world, "message.received")).toEqual([]);
    expect((await world.api(`/v1/inboxes/${inbox.id}/messages`)).body.total).toBe(2);
  }, 60_000);
});

/** Undefined until there is one. */
async function isListening(port: number): Promise<true | undefined> {
  try {
    const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data: () => undefined } });
    socket.end();
    return true;
  } catch {
    return undefined;
  }
}
