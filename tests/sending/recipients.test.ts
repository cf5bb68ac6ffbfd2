import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import type { Environment } from "../../src/config.ts";
import { query } from "../../src/database/db.ts";
import { enginesHere } from "../support/engines.ts";
import { type Script, type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { send, tally } from "../support/sends.ts";
import { untilAnswered } from "../support/until.ts";
import { startWorld, type World } from "../support/world.ts";

/** A service whose mail goes to a scripted server. */
async function begin(
  script: Script = {},
  env: Environment = {},
): Promise<AsyncDisposable & { world: World; relay: ScriptedSmtp }> {
  const relay = await scriptedSmtp(script);
  const none = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0" };
  const world = await startWorld({
    env: { OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off`, SEND_WAIT_MS: "20000", ...none, ...env },
  });
  return {
    world,
    relay,
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await relay.close();
    },
  };
}

const three = { to: ["ann@example.com", { address: "bob@example.org", name: "Bob" }], cc: ["eve@example.net"] };

/** Replies 250, 550 and 450 to RCPT, and returns the status of each recipient. */
const mixed: Script = {
  answer(command) {
    if (command.startsWith("RCPT TO:<bob@")) return "550 5.1.1 No such user";
    if (command.startsWith("RCPT TO:<eve@")) return "450 4.2.1 Try later";
    return undefined;
  },
};

describe.each(enginesHere())("A mail to several recipients, on %s", () => {
  test("has a name written before an address, as if it were given beside it", async () => {
    await using here = await begin();
    const { world, relay } = here;
    const inbox = await world.inbox();
    const asked = { to: '"Doe, Jane" <jane@Example.com>', cc: ["Bob <bob@example.org>", "eve@example.net"] };
    const first = await send(world, inbox.id, asked, { key: "named", waits: true });
    expect([first.status, first.body.status]).toEqual([200, "sent"]);
    expect(String(relay.mails[0]?.raw)).toContain(
      'To: "Doe, Jane" <jane@example.com>\r\nCc: Bob <bob@example.org>, eve@example.net\r\n',
    );
    const beside = {
      to: [{ address: "jane@example.com", name: "Doe, Jane" }],
      cc: [{ address: "bob@example.org", name: "Bob" }, "eve@example.net"],
    };
    const again = await send(world, inbox.id, beside, { key: "named", waits: true });
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);

    const hostile = { to: ["ann@example.com", "Jane <jane@example.com>, eve@example.net <eve@example.net>"] };
    const refused = await send(world, inbox.id, hostile, { key: "hostile" });
    expect([
      refused.status,
      refused.body.code,
      refused.body.errors.map(({ pointer }: { pointer: string }) => pointer),
    ]).toEqual([400, "validation_error", ["#/to/1"]]);
    expect(relay.mails).toHaveLength(1);
  });

  test("is sent in one transaction, with an outcome for each recipient", async () => {
    let eve = "450 4.2.1 Try later";
    await using here = await begin({
      answer(command) {
        if (command.startsWith("RCPT TO:<bob@")) return "550 5.1.1 No such user";
        return command.startsWith("RCPT TO:<eve@") ? eve : undefined;
      },
    });
    const { world, relay } = here;
    const inbox = await world.inbox();
    const { status, body } = await send(world, inbox.id, three, { waits: true });
    expect([status, body.status]).toEqual([200, "sent"]);
    expect(
      body.recipients.map(
        ({
          address,
          type,
          status,
          failure,
        }: {
          address: string;
          type: string;
          status: string;
          failure: { code: number; reason: string } | null;
        }) => [address, type, status, failure?.code, failure?.reason],
      ),
    ).toEqual([
      ["ann@example.com", "to", "sent", undefined, undefined],
      ["bob@example.org", "to", "failed", 550, "refused"],
      ["eve@example.net", "cc", "pending", undefined, undefined],
    ]);
    expect(relay.commands.filter((command) => command === "DATA")).toHaveLength(1);
    expect(relay.mails.map(({ to }) => to)).toEqual(["ann@example.com"]);
    expect(String(relay.mails[0]?.raw)).toContain(
      "To: ann@example.com, Bob <bob@example.org>\r\nCc: eve@example.net\r\n",
    );

    const shown = (await world.api(`/v1/messages/${body.messageId}`)).body;
    expect(shown).toMatchObject({
      status: "sent",
      toAddr: "ann@example.com",
      to: ["ann@example.com", "bob@example.org"],
    });
    expect(shown).toMatchObject({ cc: ["eve@example.net"], bcc: [], failure: { code: 550, reason: "refused" } });

    eve = "250 2.1.5 Ok";
    world.clock.pass(120_000);
    const later = await untilAnswered(async () => {
      const { body: now } = await world.api(`/v1/messages/${body.messageId}`);
      return now.recipients[2].status === "pending" ? undefined : now;
    });
    expect(later).toMatchObject({ status: "sent", failure: { code: 550 } });
    expect(relay.mails.map(({ to }) => to)).toEqual(["ann@example.com", "eve@example.net"]);
    expect(relay.mails[0]?.raw.equals(relay.mails[1]?.raw ?? Buffer.of())).toBe(true);
    const { body: log } = await world.api("/v1/events?types=message.sent,message.failed&after=start");
    expect(
      log.data.map(
        ({ event, message }: { event: string; message: { status: string; recipients: { status: string }[] } }) => [
          event,
          message.status,
          message.recipients.map((each) => each.status),
        ],
      ),
    ).toEqual([
      ["message.sent", "sent", ["sent", "failed", "pending"]],
      ["message.failed", "sent", ["sent", "failed", "sent"]],
    ]);
  }, 60_000);

  test("fails with the failure of the first recipient if all are refused", async () => {
    await using here = await begin({ answer: (command) => (command.startsWith("RCPT") ? "550 5.1.1 No" : undefined) });
    const inbox = await here.world.inbox();
    const { body } = await send(here.world, inbox.id, three, { waits: true });
    expect([body.status, here.relay.mails]).toEqual(["failed", []]);
    const waiting = await query(here.world.service.deps.db.api, sql`select from outbox where kind = 'relay'`);
    expect(waiting).toHaveLength(0);
  }, 60_000);

  test("shows no Bcc recipient in the relayed mail, the raw download or a reply to all", async () => {
    await using here = await begin();
    const { world, relay } = here;
    const [inbox, other] = [await world.inbox(), await world.inbox()];
    const bcc = Array.from({ length: 48 }, (_, number) => `secret-${number}@hidden${number % 3}.example`);
    const { status, body } = await send(
      world,
      inbox.id,
      { to: other.address, bcc, metadata: { order: "7" } },
      { waits: true },
    );
    expect([status, body.status]).toEqual([200, "sent"]);
    expect(relay.mails).toHaveLength(1);
    expect(relay.mails.map(({ raw }) => raw.includes("secret-"))).toEqual([false]);
    expect(await (await world.fetch(`/v1/messages/${body.messageId}/raw`)).text()).not.toContain("secret-");
    const { body: mine } = await world.api(`/v1/messages/${body.messageId}`);
    expect([mine.bcc, mine.metadata, mine.recipients.length]).toEqual([bcc, { order: "7" }, 49]);
    const arrived = await untilAnswered(async () => (await world.api(`/v1/inboxes/${other.id}/messages`)).body.data[0]);
    expect(JSON.stringify(arrived)).not.toContain("secret-");
    expect(await (await world.fetch(`/v1/messages/${arrived.id}/raw`)).text()).not.toContain("secret-");
    const { body: threads } = await world.api(`/v1/inboxes/${inbox.id}/threads`);
    expect(threads.data[0].participants).toEqual([inbox.address, other.address]);
    const answer = await send(world, other.id, { to: undefined, replyAll: true, replyToMessageId: arrived.id });
    expect(answer.status).toBe(200);
    const { body: reply } = await world.api(`/v1/messages/${answer.body.messageId}`);
    expect(reply.to).toEqual([inbox.address]);
    expect(JSON.stringify(reply)).not.toContain("secret-");
  }, 60_000);

  test("counts once for the minute and per recipient for the day, and is sent to all or none", async () => {
    await using here = await begin({}, { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "20" });
    const { world } = here;
    const inbox = await world.inbox();
    const to = (count: number, of = "many") =>
      Array.from({ length: count }, (_, number) => `${of}-${number}@example.com`);
    expect((await send(world, inbox.id, { to: to(15) })).status).toBe(200);
    const over = await send(world, inbox.id, { to: to(6) });
    expect([over.status, over.body.code, over.body.used]).toEqual([429, "daily_limit_exceeded", 15]);
    expect((await send(world, inbox.id, { to: to(5) })).status).toBe(200);
    expect((await send(world, inbox.id, { to: "one@example.com" })).status).toBe(429);
  }, 60_000);

  test("is refused if one recipient may get no more, with its name", async () => {
    await using here = await begin({}, { COLD_RECIPIENT_DAILY: "2" });
    const { world } = here;
    const inbox = await world.inbox();
    expect((await send(world, inbox.id, { to: ["ann@example.com", "bob@example.com"] })).status).toBe(200);
    expect((await send(world, inbox.id, { to: "ann@example.com" })).status).toBe(200);
    const refused = await send(world, inbox.id, { to: ["bob@example.com", "ANN@example.com", "eve@example.com"] });
    expect([refused.status, refused.body.code, refused.body.recipients]).toEqual([
      429,
      "cold_outreach_limit",
      ["ANN@example.com"],
    ]);
    expect((await send(world, inbox.id, { to: ["bob@example.com", "eve@example.com"] })).status).toBe(200);
    expect((await world.api(`/v1/inboxes/${inbox.id}/messages`)).body.total).toBe(3);
  }, 60_000);

  test("uses exactly the rest of the day in 50 sends at the same time", async () => {
    await using here = await begin({}, { SENDS_PER_DAY: "100" });
    const { world } = here;
    const inbox = await world.inbox();
    const to = (send: number) => Array.from({ length: 5 }, (_, number) => `p-${send}-${number}@example.com`);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, number) => send(world, inbox.id, { to: to(number) })),
    );
    expect(tally(answers)).toEqual({ "200": 20, "429 daily_limit_exceeded": 30 });
  }, 60_000);

  test("is one request for any spelling of a single recipient, and its replay shows the status of each", async () => {
    await using here = await begin(mixed);
    const { world } = here;
    const inbox = await world.inbox();
    const first = await send(world, inbox.id, three, { key: "three", waits: true });
    const again = await send(world, inbox.id, three, { key: "three" });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(again.body).toEqual(first.body);
    const plain = await send(world, inbox.id, { to: "ann@example.com" }, { key: "plain" });
    const listed = await send(world, inbox.id, { to: ["ann@example.com"], cc: [], bcc: [] }, { key: "plain" });
    expect([listed.status, listed.body.messageId]).toEqual([200, plain.body.messageId]);
    expect(Object.keys(plain.body)).toEqual(["messageId", "threadId", "providerMessageId", "status"]);
    const { body: shown } = await world.api(`/v1/messages/${plain.body.messageId}`);
    expect(shown.recipients).toMatchObject([{ address: "ann@example.com", name: null, type: "to" }]);
  }, 60_000);

  test("is offered again only to the recipients of a transaction without a reply", async () => {
    let ends = 0;
    await using here = await begin({
      answer(command) {
        if (command.startsWith("RCPT TO:<bob@")) return "550 5.1.1 No such user";
        if (command !== ".") return undefined;
        ends += 1;
        return ends === 1 ? "reset" : undefined;
      },
    });
    const { world, relay } = here;
    const inbox = await world.inbox();
    const { body } = await send(world, inbox.id, three, { waits: true });
    expect(body.recipients.map(({ status }: { status: string }) => status)).toEqual(["pending", "failed", "pending"]);
    world.clock.pass(120_000);
    const later = await untilAnswered(async () => {
      const { body: now } = await world.api(`/v1/messages/${body.messageId}`);
      return now.status === "sent" ? now : undefined;
    });
    expect(later.recipients.map(({ status }: { status: string }) => status)).toEqual(["sent", "failed", "sent"]);
    expect(relay.commands.filter((command) => command.startsWith("RCPT TO:<bob@"))).toHaveLength(1);
  }, 60_000);

  test("gives each inbox here a copy at once, and reports those without one", async () => {
    await using here = await begin();
    const { world, relay } = here;
    const inboxes = [await world.inbox(), await world.inbox(), await world.inbox()];
    const [from, ...others] = inboxes;
    const to = [...others.map(({ address }) => address), "nobody-is-here@inbox.localhost"];
    const { body } = await send(world, from?.id ?? "", { to }, { waits: true });
    expect(body.recipients.map(({ status }: { status: string }) => status)).toEqual(["sent", "sent", "failed"]);
    for (const { id, address } of others) {
      const { body: page } = await world.api(`/v1/inboxes/${id}/messages`);
      expect(page.data.map(({ toAddr, to: all }: { toAddr: string; to: string[] }) => [toAddr, all])).toEqual([
        [address, to],
      ]);
    }
    expect(relay.mails).toEqual([]);
  }, 60_000);

  test("has a row in the outbox for each destination, and any other mail has one", async () => {
    await using here = await begin({
      answer: (command) => (command.startsWith("RCPT") ? "450 4.2.1 Later" : undefined),
    });
    const { world } = here;
    const inbox = await world.inbox();
    await send(world, inbox.id, { to: ["ann@example.com", "bob@example.org", inbox.address] });
    await send(world, inbox.id, { to: [{ address: "ann@example.com", name: "Ann" }] });
    await send(world, inbox.id, { headers: { "X-Order": "7" } });
    await send(world, inbox.id, { metadata: { order: "7" }, fromName: "Ada" });
    const rows = await query<{ kind: string; lane: string }>(
      world.service.deps.db.api,
      sql`select kind, lane from outbox where kind <> 'webhook' order by created_at, subject_id`,
    );
    expect(rows.filter(({ lane }) => lane !== "inbox.localhost").map(({ kind, lane }) => [kind, lane])).toEqual([
      ["relay", "*"],
      ["relay", "example.com"],
      ["relay", "example.com"],
      ["relay", "example.com"],
    ]);
  }, 60_000);
});
