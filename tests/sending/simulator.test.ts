import { describe, expect, test } from "bun:test";
import { enginesHere } from "../support/engines.ts";
import { eventsOf, suppressed } from "../support/reported.ts";
import { send } from "../support/sends.ts";
import { untilAnswered } from "../support/until.ts";
import { oneWorldOn } from "../support/world-on.ts";

const limits = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0" };

describe.each(enginesHere())("The simulator of the sandbox (%s)", (engine) => {
  const world = oneWorldOn(engine, { env: limits });

  /** Sends a mail and waits for the report. */
  async function fateOf(to: string | string[]) {
    const inbox = await world().inbox();
    const { body } = await send(world(), inbox.id, { to }, { waits: true });
    expect(body.status).toBe("sent");
    const all = Array.isArray(to) ? to.length : 1;
    const reports = await untilAnswered(async () => {
      const { data } = (await world().api(`/v1/messages/${body.messageId}/reports`)).body;
      return data.length === all ? data : undefined;
    });
    const { body: message } = await world().api(`/v1/messages/${body.messageId}`);
    return { inbox, reports, message };
  }

  test.each([
    ["bounce@sim.invalid", "bounced", "hard", "5.1.1", "dsn"],
    ["soft@sim.invalid", "bounced", "soft", "5.2.2", "dsn"],
    ["Delay+7@SIM.invalid", "delayed", null, "4.4.1", "dsn"],
    ["deliver@sim.invalid", "delivered", null, "2.0.0", "dsn"],
    ["complain@sim.invalid", "complained", null, null, "arf"],
  ])("makes mail to %s %s", async (to, state, type, enhancedCode, source) => {
    const { message, reports, inbox } = await fateOf(to);
    expect(message).toMatchObject({
      status: "sent",
      delivery: { state, type, enhancedCode, source, proof: "return_path" },
    });
    const raw = await world().fetch(`/v1/messages/${message.id}/reports/${reports[0].id}/raw`);
    const text = await raw.text();
    expect(text).toContain(`Message-ID: ${message.rfcMessageId}\r\n`);
    expect(text).toContain("multipart/report");
    const told = await eventsOf(world(), `message.sent,message.${state}`);
    expect(told.filter((event: Told) => event.message.id === message.id).map((event: Told) => event.event)).toEqual([
      "message.sent",
      `message.${state}`,
    ]);
    expect((await world().api(`/v1/inboxes/${inbox.id}/messages?direction=inbound`)).body.data).toEqual([]);
  });

  test("suppresses an address that bounced or complained for only a minute, so that a test can be repeated", async () => {
    const { inbox } = await fateOf("bounce+again@sim.invalid");
    await fateOf("complain+again@sim.invalid");
    const endsAt = new Date(world().clock.now().getTime() + 60_000);
    expect((await suppressed(world())).filter(({ address }) => address.includes("+again"))).toMatchObject([
      { address: "bounce+again@sim.invalid", reason: "bounce", expiresAt: endsAt },
      { address: "complain+again@sim.invalid", reason: "complaint", expiresAt: endsAt },
    ]);
    const again = () => send(world(), inbox.id, { to: "bounce+again@sim.invalid" });
    expect(await again()).toMatchObject({ status: 422, body: { code: "recipient_suppressed", reason: "bounce" } });
    world().clock.pass(60_000);
    expect((await again()).status).toBe(200);
  });

  test("reports each of several recipients separately", async () => {
    const to = ["bounce+one@sim.invalid", "deliver+one@sim.invalid"];
    const { message } = await fateOf(to);
    expect(message.delivery).toMatchObject({ state: "bounced" });
    expect(message.recipients.map(({ delivery }: { delivery: { state: string } }) => delivery.state)).toEqual([
      "bounced",
      "delivered",
    ]);
    const inbox = await world().inbox();
    const { body } = await send(world(), inbox.id, { to: "nobody@sim.invalid" }, { waits: true });
    await fateOf("deliver@sim.invalid");
    expect((await world().api(`/v1/messages/${body.messageId}`)).body).toMatchObject({
      status: "sent",
      delivery: null,
    });
  });
});

interface Told {
  event: string;
  message: { id: string };
}
