import { afterEach, describe, expect, test } from "bun:test";
import { enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { newInbox, send } from "../support/sends.ts";
import type { World } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const unlimited = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0", LOOP_ECHOES: "0" };

describe.each(enginesHere())("a relay that gives mails its own Message-ID (%s)", (engine) => {
  const startWorld = worldsOn(engine);
  const relays: ScriptedSmtp[] = [];
  afterEach(async () => {
    for (const relay of relays.splice(0)) await relay.close();
  });

  /** A reply in the format of Amazon SES: with the local part of the Message-ID. */
  async function begin(naming: string): Promise<[World, ScriptedSmtp]> {
    let mails = 0;
    const relay = await scriptedSmtp({
      answer: (command) => (command === "." ? `250 Ok ${providerId(++mails)}` : undefined),
    });
    relays.push(relay);
    const env = { ...unlimited, OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off`, RELAY_MESSAGE_ID: naming };
    return [await startWorld({ env }), relay];
  }

  const providerId = (number: number) => `0100018b2f9c-${String(number).padStart(6, "0")}-000000`;
  const wireName = (providerMessageId: string) => `${providerMessageId}@eu-west-1.amazonses.com`;
  const headerOf = (relay: ScriptedSmtp | undefined, at: number, name: string) => {
    const head =
      relay?.mails
        .at(at)
        ?.raw.toString()
        .split("\r\n\r\n")[0]
        ?.replace(/\r\n[ \t]+/g, " ") ?? "";
    return new RegExp(`^${name}: (.*)$`, "im").exec(head)?.[1];
  };

  test("joins replies by the relay's Message-ID, by References, and by both", async () => {
    const [made, relay] = await begin("@eu-west-1.amazonses.com");
    await using world = made;
    const inbox = await world.inbox("ada");
    for (let turn = 0; turn < 20; turn += 1) {
      const { body: sent } = await send(world, inbox.id, { to: `jane${turn}@example.com` }, { waits: true });
      expect(sent.status).toBe("sent");
      const own = headerOf(relay, -1, "Message-ID") ?? "";
      // SES keeps References, and most programs copy them into replies.
      expect(headerOf(relay, -1, "References")).toBe(own);
      const wire = wireName(sent.providerMessageId);
      const ids = { wire, own: own.slice(1, -1) };
      const answers = [
        { inReplyTo: ids.wire },
        { references: [ids.own] },
        { inReplyTo: ids.wire, references: [ids.own, ids.wire] },
      ];
      const answer = answers[turn % answers.length] ?? {};
      const raw = mailOf({
        from: `jane${turn}@example.com`,
        messageId: `reply-${turn}@example.com`,
        subject: "Yes",
        ...answer,
      });
      expect(await world.deliver(raw, inbox.address)).toStartWith("250");
      const { body: thread } = await world.api(`/v1/threads/${sent.threadId}/messages`);
      expect(thread.data).toHaveLength(2);
    }
    expect((await world.api(`/v1/inboxes/${inbox.id}/threads`)).body.total).toBe(20);
  });

  test("is replied to by the relay's Message-ID, and each mail of the thread is named by both", async () => {
    const [made, relay] = await begin("@eu-west-1.amazonses.com");
    await using world = made;
    const inboxId = await newInbox(world);
    const { body: first } = await send(world, inboxId, {}, { waits: true });
    const { body: second } = await send(
      world,
      inboxId,
      { threadId: first.threadId, subject: undefined },
      { waits: true },
    );
    const [one, two] = [headerOf(relay, 0, "Message-ID"), headerOf(relay, 1, "Message-ID")];
    const wire = `<${wireName(first.providerMessageId)}>`;
    expect(second.threadId).toBe(first.threadId);
    expect(headerOf(relay, 1, "In-Reply-To")).toBe(wire);
    expect(headerOf(relay, 1, "References")).toBe(`${one} ${wire} ${two}`);
  });

  test("has no effect in another inbox, and recognizes the mail itself if it returns", async () => {
    const [made] = await begin("@eu-west-1.amazonses.com");
    await using world = made;
    const [ada, bob] = [await world.inbox("ada"), await world.inbox("bob")];
    const { body: sent } = await send(world, ada.id, {}, { waits: true });
    const forged = mailOf({ messageId: "forged@example.com", inReplyTo: wireName(sent.providerMessageId) });
    expect(await world.deliver(forged, bob.address)).toStartWith("250");
    expect((await world.api(`/v1/threads/${sent.threadId}/messages`)).body.data).toHaveLength(1);
    expect((await world.api(`/v1/inboxes/${bob.id}/threads`)).body.total).toBe(1);
    // The mail itself, for example returned by a list, has the same Message-ID.
    const copy = mailOf({ messageId: wireName(sent.providerMessageId) });
    expect(await world.deliver(copy, ada.address)).toStartWith("250");
    expect((await world.api(`/v1/threads/${sent.threadId}/messages`)).body.data).toHaveLength(2);
  });

  test("is ignored if the setting says that names are kept", async () => {
    const [made, relay] = await begin("kept");
    await using world = made;
    const inboxId = await newInbox(world);
    const { body: first } = await send(world, inboxId, {}, { waits: true });
    expect(headerOf(relay, 0, "References")).toBeUndefined();
    await send(world, inboxId, { threadId: first.threadId, subject: undefined }, { waits: true });
    const own = headerOf(relay, 0, "Message-ID");
    expect([headerOf(relay, 1, "In-Reply-To"), headerOf(relay, 1, "References")]).toEqual([own, own]);
  });
});
