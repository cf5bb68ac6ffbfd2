import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { inData, type RawSmtp } from "../support/raw-smtp.ts";
import { quarantinedMail } from "../support/ruled.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { newInbox, send } from "../support/sends.ts";
import { untilSo } from "../support/until.ts";
import type { World } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const refused = "550 5.2.1 The mailbox is disabled";
const token = "t".repeat(40);

describe.each(enginesHere())("A disabled inbox (%s)", (engine) => {
  const startWorld = worldsOn(engine);
  let relay: ScriptedSmtp;
  let isDeferring = false;
  let world: World;
  beforeAll(async () => {
    relay = await scriptedSmtp({
      answer: (command) => (isDeferring && command.startsWith("RCPT") ? "450 4.2.0 Later" : undefined),
    });
    const env = { OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off`, INGEST_TOKEN: token, LOOP_ECHOES: "0" };
    world = await startWorld({ env });
  }, 60_000);
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await relay.close();
  });

  const change = async (id: string, body: object) => {
    const { status } = await world.api(`/v1/inboxes/${id}`, { method: "PATCH", body });
    expect(status).toBe(200);
  };
  const disable = (id: string, disabled = true) => change(id, { disabled });
  const idsIn = async (id: string) => {
    const { data } = (await world.api(`/v1/inboxes/${id}/messages`)).body;
    return data.map(({ rfcMessageId }: { rfcMessageId: string }) => rfcMessageId.slice(1, -1)).toReversed();
  };
  const finished = async (client: RawSmtp, raw: string) => {
    client.send(`${raw}\r\n.\r\n`);
    const reply = await client.reply();
    client.destroy();
    return reply;
  };

  test("takes no mail from the next RCPT on, is read as before, and takes mail again at once", async () => {
    const { id, address } = await world.inbox();
    expect(await world.deliver(mailOf({ messageId: "1@x.example" }), address)).toStartWith("250");
    await disable(id);
    expect((await world.api(`/v1/inboxes/${id}`)).body).toMatchObject({ disabled: true });
    for (const to of [address, address.replace("@", "+tag@")])
      expect(await world.deliver(mailOf({ messageId: "2@x.example" }), to)).toBe(refused);
    expect(await idsIn(id)).toEqual(["1@x.example"]);
    await change(id, { disabled: null });
    expect(await world.deliver(mailOf({ messageId: "3@x.example" }), address)).toStartWith("250");
    expect(await idsIn(id)).toEqual(["1@x.example", "3@x.example"]);
  });

  test("takes mail again at once, although no signal said so", async () => {
    const { id, address } = await world.inbox();
    const set = (disabled: boolean) =>
      query(
        world.service.deps.db.api,
        sql`update inboxes set disabled = ${disabled}, revision = revision + 1 where id = ${id}`,
      );
    await set(true);
    expect(await world.deliver(mailOf({ messageId: "1@x.example" }), address)).toBe(refused);
    await set(false);
    expect(await world.deliver(mailOf({ messageId: "2@x.example" }), address)).toStartWith("250");
  });

  test.each([
    ["a mail", 0],
    ["a large mail", 1_200_000],
  ])("refuses %s whose final dot comes after the change", async (_, bytes) => {
    const { id, address } = await world.inbox();
    const other = await world.inbox();
    // The process remembers the inbox after the first mail.
    expect(await world.deliver(mailOf({ messageId: "1@x.example" }), address)).toStartWith("250");
    const alone = await inData(world.smtpPort, address);
    const both = await inData(world.smtpPort, [address, other.address]);
    await disable(id);
    const text = "Lorem ipsum dolor sit amet\r\n".repeat(bytes / 28);
    expect(await finished(alone, mailOf({ messageId: "2@x.example", text }))).toBe(refused);
    expect(await finished(both, mailOf({ messageId: "3@x.example", text }))).toStartWith("250");
    expect([await idsIn(id), await idsIn(other.id)]).toEqual([["1@x.example"], ["3@x.example"]]);
  });

  test("keeps each mail that was answered with 250, and no other, however the change and the dot fall", async () => {
    const { id, address } = await world.inbox();
    const stored: string[] = [];
    for (let round = 0; round < 20; round += 1) {
      const messageId = `race-${round}@x.example`;
      const client = await inData(world.smtpPort, address);
      const changing = round % 2 === 0 ? disable(id) : undefined;
      const [reply] = await Promise.all([finished(client, mailOf({ messageId })), changing ?? disable(id)]);
      expect([refused, "250 2.0.0 Ok: queued"]).toContain(reply);
      if (reply !== refused) stored.push(messageId);
      await disable(id, false);
    }
    expect(await idsIn(id)).toEqual(stored);
  });

  test("sends nothing new, and what it has sent goes on", async () => {
    const id = await newInbox(world);
    isDeferring = true;
    const waiting = await send(world, id, {}, { waits: true, key: `waits-${id}` });
    expect(waiting.body.status).toBe("pending");
    await disable(id);
    expect(await send(world, id)).toMatchObject({ status: 403, body: { code: "inbox_disabled" } });
    // A policy is judged behind it, and a replay before it.
    await change(id, { sendPolicy: "closed" });
    expect(await send(world, id)).toMatchObject({ status: 403, body: { code: "inbox_disabled" } });
    const replay = await send(world, id, {}, { key: `waits-${id}` });
    expect(replay.body.messageId).toBe(waiting.body.messageId);
    isDeferring = false;
    world.clock.pass(60_000);
    await untilSo(async () => (await world.api(`/v1/messages/${waiting.body.messageId}`)).body.status === "sent");
  });

  test("refuses mail of other inboxes, and mail by HTTP", async () => {
    const { id, address } = await world.inbox();
    await disable(id);
    const { body } = await send(world, await newInbox(world), { to: address }, { waits: true });
    expect(body.status).toBe("failed");
    const { failure } = (await world.api(`/v1/messages/${body.messageId}`)).body;
    expect([failure.code, failure.enhancedCode]).toEqual([550, "5.2.1"]);
    const post = (to: string) =>
      world.api("/v1/inbound", {
        method: "POST",
        body: mailOf({ messageId: `posted-${to.length}@x.example` }),
        headers: { "content-type": "message/rfc822", "Envelope-To": to, "Envelope-From": "jane@example.com" },
        apiKey: token,
      });
    expect(await post(address)).toMatchObject({ status: 403, body: { code: "inbox_disabled" } });
    const other = await world.inbox();
    expect((await post(`${address},${other.address}`)).body.recipients).toEqual([
      { address, status: "disabled" },
      { address: other.address, status: "stored" },
    ]);
  });

  test("gets the mail that is released from its quarantine", async () => {
    const inbox = await world.inbox();
    const quarantined = await quarantinedMail(world, inbox);
    await disable(inbox.id);
    const { status } = await world.api(`/v1/quarantine/${quarantined}/release`, { method: "POST" });
    expect(status).toBe(200);
    expect(await idsIn(inbox.id)).toHaveLength(1);
  });
});
