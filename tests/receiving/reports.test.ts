import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { dsn, feedback, plain, refused, returnedMail } from "../mail/report/fixtures.ts";
import { breaksPostgres, enginesHere } from "../support/engines.ts";
import { readMetrics } from "../support/metrics.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { eventsOf, report, returnPathOf, sent, signingKey, suppressed } from "../support/reported.ts";
import { scriptedDns } from "../support/scripted-dns.ts";
import { scriptedSmtp } from "../support/scripted-smtp.ts";
import { send } from "../support/sends.ts";
import { untilSo } from "../support/until.ts";
import { startWorld } from "../support/world.ts";
import { oneWorldOn, worldsOn } from "../support/world-on.ts";

const limits = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0", INBOXES_PER_DAY: "0" };
const env = { SIGNING_KEY: signingKey, METRICS_PORT: "0", SEND_WAIT_MS: "20000", ...limits };

const unknownUser = refused("smtp; 550 5.1.1 <jane@example.com>: User unknown in virtual mailbox table", "5.1.1");
const ofJane = (action: string, status: string) =>
  `Final-Recipient: rfc822; jane@example.com\nAction: ${action}\nStatus: ${status}`;
const late = dsn({ fields: ofJane("delayed", "4.4.1") });
const arrived = dsn({ fields: ofJane("delivered", "2.0.0") });

/** A report that returns this message. */
function returning(mail: string, messageId: string): string {
  return mail.replaceAll("<m1@mail.example>", `<${messageId}@inbox.localhost>`);
}

const outOfOffice = plain("I am away until Monday. In urgent cases call 550 1234.", {
  from: "Jane <jane@example.com>",
  more: "Auto-Submitted: auto-replied\n",
});

describe.each(enginesHere())("A report about a mail (%s):", (engine) => {
  const world = oneWorldOn(engine, { env });
  const startWorldOn = worldsOn(engine);

  test("a bounce to the return path is shown at the message, notified once, suppresses, and is not stored as mail", async () => {
    const inbox = await world().inbox();
    const { id, returnPath } = await sent(world(), inbox.id, "jane@example.com");
    const before = (await world().api(`/v1/inboxes/${inbox.id}`)).body;
    expect(await report(world(), unknownUser, returnPath)).toStartWith("250");

    const { body: message } = await world().api(`/v1/messages/${id}`);
    expect(message).toMatchObject({
      status: "sent",
      delivery: {
        state: "bounced",
        type: "hard",
        code: 550,
        enhancedCode: "5.1.1",
        remoteMta: "mx.example.com",
        source: "dsn",
        proof: "return_path",
      },
    });
    const { body: reports } = await world().api(`/v1/messages/${id}/reports`);
    expect(reports.data).toEqual([
      {
        id: message.delivery.reportId,
        messageId: id,
        kind: "bounced",
        type: "hard",
        recipient: "jane@example.com",
        reportedRecipient: "jane@example.com",
        code: 550,
        enhancedCode: "5.1.1",
        diagnostic: "smtp; 550 5.1.1 <jane@example.com>: User unknown in virtual mailbox table",
        remoteMta: "mx.example.com",
        reportingMta: "reporter.example",
        source: "dsn",
        proof: "return_path",
        suppressed: true,
        receivedAt: message.delivery.at,
      },
    ]);
    const [told] = await eventsOf(world(), "message.bounced");
    expect(told).toMatchObject({
      event: "message.bounced",
      inbox_id: inbox.id,
      thread_id: message.threadId,
      message: {
        id,
        rfc_message_id: `<${id}@inbox.localhost>`,
        provider_message_id: message.providerMessageId,
        to: "jane@example.com",
        subject: "Hello",
        created_at: message.createdAt,
      },
      report: { id: message.delivery.reportId, kind: "bounced", type: "hard", code: 550, suppressed: true },
    });
    expect(await eventsOf(world(), "suppression.added")).toMatchObject([
      { message: { id }, suppression: { address: "jane@example.com", inbox_id: null, reason: "bounce" } },
    ]);
    expect(await suppressed(world())).toMatchObject([{ address: "jane@example.com", reason: "bounce", inboxId: "" }]);
    expect(await send(world(), inbox.id)).toMatchObject({ status: 422, body: { code: "recipient_suppressed" } });
    expect((await world().api(`/v1/inboxes/${inbox.id}`)).body).toEqual(before);
    expect(await eventsOf(world(), "message.received")).toEqual([]);
    expect(world().log).toContainEqual(
      expect.objectContaining({ msg: "report received", message_id: id, kind: "bounced" }),
    );
  });

  test("its raw bytes can be downloaded by the owner of the message", async () => {
    const inbox = await world().inbox();
    const { id, returnPath } = await sent(world(), inbox.id);
    await report(world(), late, returnPath);
    const reportId = (await world().api(`/v1/messages/${id}`)).body.delivery.reportId;
    const raw = await world().fetch(`/v1/messages/${id}/reports/${reportId}/raw`);
    expect(raw.headers.get("content-type")).toBe("message/rfc822");
    expect(await raw.text()).toBe(late.replaceAll("\n", "\r\n"));
    const head = await world().fetch(`/v1/messages/${id}/reports/${reportId}/raw`, { method: "HEAD" });
    expect(Number(head.headers.get("content-length"))).toBe(late.replaceAll("\n", "\r\n").length);
    const other = reportId.slice(0, -1) + (reportId.endsWith("0") ? "1" : "0");
    const unknown = await world().api(`/v1/messages/${id}/reports/${other}/raw`);
    expect(unknown).toMatchObject({ status: 404, body: { resource: "report" } });
    expect((await world().api(`/v1/messages/${id}/reports`, { apiKey: "another" })).status).toBe(401);
  });

  test("also of a large one, which is stored in pieces", async () => {
    const inbox = await world().inbox();
    const { id, returnPath } = await sent(world(), inbox.id);
    const large = dsn({
      fields: ofJane("delayed", "4.4.1"),
      returned: `${returnedMail}\n\n${"word ".repeat(14)}\n`.repeat(9000),
    });
    expect(large.length).toBeGreaterThan(2 << 20);
    expect(await report(world(), large, returnPath)).toStartWith("250");
    const reportId = (await world().api(`/v1/messages/${id}`)).body.delivery.reportId;
    const raw = await world().fetch(`/v1/messages/${id}/reports/${reportId}/raw`);
    expect((await raw.text()) === large.replaceAll("\n", "\r\n")).toBe(true);
  });

  test.each([
    ["one character of the signature", (path: string) => path.replace(/.(?=@)/, (last) => (last === "0" ? "1" : "0"))],
    ["another message", (path: string) => path.replace(/(?<=\+.{20})./, (one) => (one === "0" ? "1" : "0"))],
    ["no signature", (path: string) => path.replace(/-[^@]*/, "")],
  ])("%s changed: 550 at RCPT", async (_, changed) => {
    const inbox = await world().inbox();
    const { returnPath } = await sent(world(), inbox.id);
    expect(await report(world(), unknownUser, changed(returnPath))).toBe("550 5.1.1 No such inbox here");
    expect(await report(world(), late, returnPath.toUpperCase())).toStartWith("250");
  });

  test.each([
    [
      "qmail, without any MIME",
      plain(
        `Hi. This is the qmail-send program at reporter.example.\nI'm afraid I wasn't able to deliver your message to the following addresses.\nThis is a permanent error; I've given up. Sorry it didn't work out.\n\n<jane@example.com>:\n550 5.1.1 no such user here\n\n--- Below this line is a copy of the message.\n\n${returnedMail}\n`,
      ),
      "hard",
    ],
    [
      "Exchange, in German",
      dsn({
        text: "Fehler bei der Nachrichtenzustellung an folgende Empfänger oder Gruppen:\n\njane@example.com\nDie eingegebene E-Mail-Adresse konnte nicht gefunden werden.",
        fields:
          "Final-Recipient: rfc822;jane@example.com\nAction: failed\nStatus: 5.1.10\nDiagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient jane@example.com not found by SMTP address lookup",
      }),
      "hard",
    ],
    [
      "Yahoo, for spam",
      refused("smtp; 554 Message not allowed - [PH01] Email not accepted for policy reasons.", "5.0.0"),
      "block",
    ],
  ])("%s: bounced, and of the right type", async (_, mail, type) => {
    const inbox = await world().inbox();
    const { id, returnPath } = await sent(world(), inbox.id);
    expect(await report(world(), mail, returnPath)).toStartWith("250");
    expect((await world().api(`/v1/messages/${id}`)).body.delivery).toMatchObject({ state: "bounced", type });
  });

  test("an out-of-office reply to the return path is stored as mail of the inbox, and is no report", async () => {
    const inbox = await world().inbox();
    const { id, returnPath } = await sent(world(), inbox.id, "away@example.com");
    expect(await report(world(), outOfOffice, returnPath)).toStartWith("250");
    const { body } = await world().api(`/v1/inboxes/${inbox.id}/messages?direction=inbound`);
    expect(body.data).toMatchObject([{ toAddr: inbox.address, envelopeFrom: "", subject: "failure notice" }]);
    expect(await eventsOf(world(), "message.received")).toContainEqual(
      expect.objectContaining({ inbox_id: inbox.id, message: expect.objectContaining({ to: inbox.address }) }),
    );
    expect((await world().api(`/v1/messages/${id}`)).body.delivery).toBeNull();
    expect((await suppressed(world())).map(({ address }) => address)).not.toContain("away@example.com");
  });

  test("a mail to an inbox and to a return path is stored as mail and as a report", async () => {
    const [inbox, other] = [await world().inbox(), await world().inbox()];
    const { id, returnPath } = await sent(world(), inbox.id);
    expect(await report(world(), late, [other.address, returnPath])).toStartWith("250");
    expect((await world().api(`/v1/messages/${id}`)).body.delivery).toMatchObject({ state: "delayed" });
    expect((await world().api(`/v1/inboxes/${other.id}/messages`)).body.total).toBe(1);
    expect((await world().api(`/v1/inboxes/${inbox.id}/messages`)).body.total).toBe(1);
  });

  test("a report at a return path is answered 250 beside an inbox that refuses the mail, which is quarantined there", async () => {
    const [inbox, other] = [await world().inbox(), await world().inbox()];
    const { id, returnPath } = await sent(world(), inbox.id);
    const policy = { inbound: { unlisted: "block", blocked: "refuse" } };
    await world().api(`/v1/inboxes/${other.id}/policy`, { method: "PUT", body: policy });
    expect(await report(world(), late, other.address)).toStartWith("550 5.7.1");
    expect(await report(world(), late, [other.address, returnPath])).toStartWith("250");
    expect((await world().api(`/v1/messages/${id}`)).body.delivery).toMatchObject({ state: "delayed" });
    expect((await world().api(`/v1/inboxes/${other.id}/messages`)).body.total).toBe(0);
    expect((await world().api(`/v1/quarantine?inbox_id=${other.id}`)).body.data).toHaveLength(1);
  });

  test("a report beside an inbox that waits for the verdict is answered 451, and counts once when it is repeated", async () => {
    let isSilent = true;
    const dns = await scriptedDns(() => (isSilent ? "silence" : { code: 3 }));
    const checking = { AUTHENTICATE: "always", AUTH_TIMEOUT_MS: "300", DNS_SERVERS: `127.0.0.1:${dns.port}` };
    await using world = await startWorldOn({ env: { ...env, ...checking } });
    const [inbox, strict] = [await world.inbox(), await world.inbox()];
    const { id, returnPath } = await sent(world, inbox.id, "jane@example.com");
    const policy = { inbound: { unauthenticated: "block" } };
    await world.api(`/v1/inboxes/${strict.id}/policy`, { method: "PUT", body: policy });
    const again = () => report(world, unknownUser, [strict.address, returnPath]);
    expect(await again()).toStartWith("451 4.7.0");
    expect((await world.api(`/v1/messages/${id}`)).body.delivery).toMatchObject({ state: "bounced" });
    expect((await world.api("/v1/quarantine")).body.data).toEqual([]);
    isSilent = false;
    await untilSo(async () => {
      world.clock.pass(10_000);
      return (await again()).startsWith("250");
    });
    expect((await world.api(`/v1/messages/${id}/reports`)).body.data).toHaveLength(1);
    expect(await eventsOf(world, "message.bounced")).toHaveLength(1);
    expect((await world.api("/v1/quarantine")).body.data).toMatchObject([{ inboxId: strict.id }]);
    await dns.close();
  });

  test("a forged report to an inbox about another inbox's message is stored as mail without an effect", async () => {
    const [inbox, other] = [await world().inbox(), await world().inbox()];
    const { id } = await sent(world(), inbox.id, "forged@example.com");
    expect(await report(world(), returning(unknownUser, id), other.address)).toStartWith("250");
    expect((await world().api(`/v1/inboxes/${other.id}/messages`)).body.total).toBe(1);
    expect((await world().api(`/v1/messages/${id}`)).body.delivery).toBeNull();
    expect((await world().api(`/v1/messages/${id}/reports`)).body.data).toEqual([]);
  });

  test("a report to the inbox that it is about is stored as mail, takes effect, and suppresses no address", async () => {
    const inbox = await world().inbox();
    const { id } = await sent(world(), inbox.id, "named@example.com");
    expect(await report(world(), returning(unknownUser, id), inbox.address)).toStartWith("250");
    expect((await world().api(`/v1/inboxes/${inbox.id}/messages?direction=inbound`)).body.total).toBe(1);
    expect((await world().api(`/v1/messages/${id}`)).body.delivery).toMatchObject({
      state: "bounced",
      type: "hard",
      proof: "message_id",
    });
    expect((await suppressed(world())).map(({ address }) => address)).not.toContain("named@example.com");
  });

  test("a report to a return path replaces one that named the Message-ID, and suppresses; the event is notified once", async () => {
    const inbox = await world().inbox();
    const { id, returnPath } = await sent(world(), inbox.id, "over@example.com");
    const mail = returning(unknownUser, id).replaceAll("jane@", "over@");
    await report(world(), mail, inbox.address);
    await report(world(), mail, returnPath);
    const { body } = await world().api(`/v1/messages/${id}/reports`);
    expect(body.data).toMatchObject([{ proof: "return_path", suppressed: true }]);
    expect((await suppressed(world())).map(({ address }) => address)).toContain("over@example.com");
    const told = await eventsOf(world(), "message.bounced");
    expect(told.filter(({ message }: { message: { id: string } }) => message.id === id)).toHaveLength(1);
  });

  test("with a stranger as the final recipient suppresses only our own recipient", async () => {
    const inbox = await world().inbox();
    const { id, returnPath } = await sent(world(), inbox.id, "ours@example.com");
    await report(world(), unknownUser.replaceAll("jane@example.com", "stranger@example.net"), returnPath);
    const addresses = (await suppressed(world())).map(({ address }) => address);
    expect([addresses.includes("ours@example.com"), addresses.includes("stranger@example.net")]).toEqual([true, false]);
    expect((await world().api(`/v1/messages/${id}/reports`)).body.data).toMatchObject([
      { recipient: "ours@example.com", reportedRecipient: "stranger@example.net" },
    ]);
  });

  test("a soft bounce, or one about our server, suppresses no address", async () => {
    const inbox = await world().inbox();
    const { id, returnPath } = await sent(world(), inbox.id, "full@example.com");
    await report(world(), refused("smtp; 552 5.2.2 user is over quota", "5.2.2"), returnPath);
    expect((await world().api(`/v1/messages/${id}`)).body.delivery).toMatchObject({ state: "bounced", type: "soft" });
    expect((await suppressed(world())).map(({ address }) => address)).not.toContain("full@example.com");
  });

  const orders = [
    [late, arrived, unknownUser],
    [late, unknownUser, arrived],
    [arrived, late, unknownUser],
    [arrived, unknownUser, late],
    [unknownUser, late, arrived],
    [unknownUser, arrived, late],
  ].map((mails, index) => [index + 1, mails] as const);

  test.each(orders)(
    "delayed, delivered and bounced in order %i end in bounced, with three reports",
    async (order, mails) => {
      const inbox = await world().inbox();
      const key = crypto.randomUUID();
      const to = `order-${order}@example.net`;
      const { body: first } = await send(world(), inbox.id, { to }, { key, waits: true });
      const own = { id: first.messageId, returnPath: await returnPathOf(first.messageId) };
      for (const mail of mails) expect(await report(world(), mail, own.returnPath)).toStartWith("250");
      expect((await world().api(`/v1/messages/${own.id}`)).body).toMatchObject({
        status: "sent",
        delivery: { state: "bounced", type: "hard" },
      });
      const { body } = await world().api(`/v1/messages/${own.id}/reports`);
      expect(body.data.map(({ kind }: { kind: string }) => kind).toSorted()).toEqual([
        "bounced",
        "delayed",
        "delivered",
      ]);
      const again = await send(world(), inbox.id, { to }, { key, waits: true });
      expect(again.body).toMatchObject({ messageId: own.id, status: "sent" });
    },
  );

  test("twenty copies at once are one report and one event", async () => {
    const inbox = await world().inbox();
    const { id, returnPath } = await sent(world(), inbox.id, "twenty@example.com");
    const answers = await Promise.all(Array.from({ length: 20 }, () => report(world(), unknownUser, returnPath)));
    expect(answers.every((answer) => answer.startsWith("250"))).toBe(true);
    expect((await world().api(`/v1/messages/${id}/reports`)).body.data).toHaveLength(1);
    const told = await eventsOf(world(), "message.bounced");
    expect(told.filter(({ message }: { message: { id: string } }) => message.id === id)).toHaveLength(1);
  });

  test("a complaint without a recipient is proven by the sender that it names", async () => {
    const inbox = await world().inbox();
    const { id, returnPath } = await sent(world(), inbox.id, "complains@example.com");
    const other = await world().inbox();
    const mail = feedback(`Feedback-Type: abuse\nOriginal-Mail-From: <${returnPath}>`);
    expect(await report(world(), feedback("Feedback-Type: abuse"), other.address, "abuse@example.com")).toStartWith(
      "250",
    );
    expect((await world().api(`/v1/messages/${id}`)).body.delivery).toBeNull();
    expect(await report(world(), mail, other.address, "abuse@example.com")).toStartWith("250");
    expect((await world().api(`/v1/messages/${id}`)).body.delivery).toMatchObject({
      state: "complained",
      type: null,
      source: "arf",
      proof: "return_path",
    });
    expect(await suppressed(world())).toContainEqual(
      expect.objectContaining({ address: "complains@example.com", reason: "complaint", expiresAt: null }),
    );
    expect((await world().api(`/v1/inboxes/${other.id}/messages`)).body.total).toBe(2);
  });

  test("an opt-out suppresses the address for the inbox that wrote to it, without a report", async () => {
    const inbox = await world().inbox();
    const { id, returnPath } = await sent(world(), inbox.id, "leaves@example.com");
    const leaves = feedback(`Feedback-Type: opt-out\nOriginal-Mail-From: <${returnPath}>`);
    const count = async () => (await readMetrics(world())).get('inboxd_unsubscribes_total{way="arf"}') ?? 0;
    const before = await count();
    for (let copy = 0; copy < 2; copy += 1) await report(world(), leaves, returnPath);
    expect((await count()) - before).toBe(1);
    expect(await suppressed(world())).toContainEqual(
      expect.objectContaining({ address: "leaves@example.com", reason: "unsubscribe", inboxId: inbox.id }),
    );
    expect((await world().api(`/v1/messages/${id}`)).body.delivery).toBeNull();
  });

  test("a report is deleted with its inbox, and the return path is then refused", async () => {
    const inbox = await world().inbox();
    const { id, returnPath } = await sent(world(), inbox.id);
    await report(world(), late, returnPath);
    await world().api(`/v1/inboxes/${inbox.id}`, { method: "DELETE" });
    expect(await report(world(), unknownUser, returnPath)).toStartWith("550 5.1.1");
    expect((await world().api(`/v1/messages/${id}/reports`)).status).toBe(404);
    const told = await eventsOf(world(), "message.delayed");
    expect(told.filter(({ message }: { message: { id: string } }) => message.id === id)).toEqual([]);
  });

  test("they are counted", async () => {
    const inbox = await world().inbox();
    const { returnPath } = await sent(world(), inbox.id, "counted@example.com");
    const before = await readMetrics(world());
    await report(world(), unknownUser, returnPath);
    await report(world(), unknownUser, returnPath);
    await report(world(), outOfOffice, returnPath);
    await report(world(), unknownUser, returnPath.replace("+", "+x"));
    const after = await readMetrics(world());
    const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
    const ofReports = 'inboxd_reports_total{kind="bounced",type="hard",source="dsn",proof="return_path"}';
    expect([
      grown(ofReports),
      grown('inboxd_return_path_mails_total{outcome="report"}'),
      grown('inboxd_return_path_mails_total{outcome="mail"}'),
      grown('inboxd_return_path_mails_total{outcome="refused"}'),
    ]).toEqual([1, 2, 1, 1]);
  });
});

describe.each(enginesHere())("The way out (%s)", (engine) => {
  const startWorld = worldsOn(engine);

  test.each([
    ["verp", true],
    ["inbox", false],
  ] as const)(
    "RETURN_PATH=%s: the sender of the envelope, and what servers are asked to report",
    async (kind, isPath) => {
      const relay = await scriptedSmtp({ extensions: ["DSN"] });
      const outbound = `smtp://127.0.0.1:${relay.port}?tls=off`;
      await using world = await startWorld({
        env: { ...env, OUTBOUND: outbound, RETURN_PATH: kind, ASK_DELIVERED: "1" },
      });
      const inbox = await world.inbox();
      const { id, returnPath } = await sent(world, inbox.id, "jane@example.com");
      const from = isPath ? returnPath : inbox.address;
      expect(relay.commands.filter((line) => /^(?:MAIL|RCPT)/.test(line))).toEqual([
        expect.stringMatching(new RegExp(`^MAIL FROM:<${from.replace("+", "\\+")}>.* RET=HDRS ENVID=${id}$`)),
        "RCPT TO:<jane@example.com> NOTIFY=FAILURE,DELAY,SUCCESS ORCPT=rfc822;jane@example.com",
      ]);
      expect(relay.mails[0]?.raw.toString()).toContain(inbox.address);
      // Reports for mail sent before the setting was changed still arrive.
      expect(await report(world, late, returnPath)).toStartWith("250");
      await report(world, returning(unknownUser, id), inbox.address);
      expect(await suppressed(world)).toHaveLength(isPath ? 0 : 1);
      await relay.close();
    },
  );

  test("after 60 days, a return path is refused at the final dot; after 400 days, at RCPT", async () => {
    await using world = await startWorld({ env });
    const inbox = await world.inbox();
    const { id, returnPath } = await sent(world, inbox.id);
    const day = 24 * 3_600_000;
    world.clock.pass(59 * day);
    expect(await report(world, late, returnPath)).toStartWith("250");
    world.clock.pass(2 * day);
    expect(await report(world, unknownUser, returnPath)).toBe("550 5.1.1 No such inbox here any more");
    world.clock.pass(340 * day);
    expect(await report(world, unknownUser, returnPath)).toBe("550 5.1.1 No such inbox here");
    expect((await world.api(`/v1/messages/${id}`)).body.delivery).toMatchObject({ state: "delayed" });
  });
});

describe.skipIf(!breaksPostgres)("While the database is unavailable,", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
    await server.ask("create database away");
  });
  afterAll(() => server.remove());

  test("a forged return path is still refused, and a report to one of ours is delayed", async () => {
    const database = { url: server.url("away"), drop: async () => undefined };
    await using world = await startWorld({ database, env });
    const inbox = await world.inbox();
    const { id, returnPath } = await sent(world, inbox.id);
    await server.stop();
    expect(await report(world, unknownUser, returnPath.replace("-", "-x"))).toBe("550 5.1.1 No such inbox here");
    expect(await report(world, unknownUser, returnPath)).toStartWith("451 4.3.0");
    await server.start();
    let reply = "";
    while (!reply.startsWith("250")) reply = await report(world, unknownUser, returnPath);
    expect((await world.api(`/v1/messages/${id}/reports`)).body.data).toHaveLength(1);
  });
});
