import { describe, expect, test } from "bun:test";
import { dsn, feedback, plain, returnedMail } from "../mail/report/fixtures.ts";
import { enginesHere } from "../support/engines.ts";
import { eventsOf, report, returnPathOf, signingKey, suppressed } from "../support/reported.ts";
import { scriptedSmtp } from "../support/scripted-smtp.ts";
import { send } from "../support/sends.ts";
import type { World } from "../support/world.ts";
import { oneWorldOn, worldsOn } from "../support/world-on.ts";

const limits = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0", INBOXES_PER_DAY: "0" };
const env = { SIGNING_KEY: signingKey, SEND_WAIT_MS: "20000", ...limits };

/** The report of a server about one recipient. */
const bounced = (address: string) =>
  `Final-Recipient: rfc822; ${address}\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 User unknown`;
const delivered = (address: string) => `Final-Recipient: rfc822; ${address}\nAction: delivered\nStatus: 2.0.0`;

let mails = 0;

/** A mail to three new recipients: in To, in To with a name, and in Bcc. */
async function sentToThree(world: World) {
  const domain = `mail-${++mails}.example`;
  const [ann, bob, eve] = [`ann@${domain}`, `bob@${domain}`, `eve@${domain}`] as const;
  const inbox = await world.inbox();
  const to = { to: [ann, { address: bob, name: "Bob" }], bcc: [eve] };
  const { body } = await send(world, inbox.id, to, { waits: true });
  if (body.status !== "sent") throw new Error(`Cannot send: ${JSON.stringify(body)}`);
  const id: string = body.messageId;
  const returnPath = await returnPathOf(id);
  return {
    id,
    inbox,
    ann,
    bob,
    eve,
    returnPath,
    tell: (mail: string) => report(world, mail, returnPath),
    message: async () => (await world.api(`/v1/messages/${id}`)).body,
    reports: async () => (await world.api(`/v1/messages/${id}/reports`)).body.data,
    told: async (type: string) =>
      (await eventsOf(world, type)).filter(({ message }: { message: { id: string } }) => message.id === id),
    suppressed: async () =>
      (await suppressed(world)).map(({ address }) => address).filter((address) => address.endsWith(domain)),
  };
}

const states = (message: { recipients: { delivery: { state: string } | null }[] }) =>
  message.recipients.map(({ delivery }) => delivery?.state ?? null);

describe.each(enginesHere())("A report about a mail to several recipients (%s)", (engine) => {
  const world = oneWorldOn(engine, { env });

  test("about one of two is shown for that one, the message shows the worst, and no address is suppressed", async () => {
    const mail = await sentToThree(world());
    expect(await mail.tell(dsn({ fields: `${delivered(mail.ann)}\n\n${bounced(mail.bob)}` }))).toStartWith("250");

    const message = await mail.message();
    expect(message).toMatchObject({ status: "sent", delivery: { state: "bounced", type: "hard" } });
    expect(states(message)).toEqual(["delivered", "bounced", null]);
    expect(message.recipients[1]).toMatchObject({
      address: mail.bob,
      status: "sent",
      failure: null,
      delivery: { state: "bounced", type: "hard", code: 550, enhancedCode: "5.1.1", proof: "return_path" },
    });
    expect(message.delivery).toEqual(message.recipients[1].delivery);
    expect((await mail.reports()).map(({ kind, recipient }: Record<string, string>) => [kind, recipient])).toEqual([
      ["delivered", mail.ann],
      ["bounced", mail.bob],
    ]);
    expect(await mail.told("message.delivered")).toMatchObject([{ report: { recipient: mail.ann } }]);
    expect(await mail.told("message.bounced")).toMatchObject([{ report: { recipient: mail.bob, suppressed: false } }]);
    expect(await mail.suppressed()).toEqual([]);
  });

  test("that names two is shown for each, with the same raw bytes", async () => {
    const mail = await sentToThree(world());
    await mail.tell(dsn({ fields: `${bounced(mail.eve)}\n\n${bounced(mail.bob)}` }));
    const reports = await mail.reports();
    expect(reports).toHaveLength(2);
    const raws = await Promise.all(
      reports.map(async ({ id }: { id: string }) =>
        (await world().fetch(`/v1/messages/${mail.id}/reports/${id}/raw`)).text(),
      ),
    );
    expect(raws[0]).toContain(mail.eve);
    expect(raws[1]).toBe(raws[0]);
  });

  test("is matched by the original recipient if the final one is behind an alias", async () => {
    const mail = await sentToThree(world());
    await mail.tell(dsn({ fields: `Original-Recipient: rfc822; ${mail.eve}\n${bounced("inner@backend.example")}` }));
    expect(states(await mail.message())).toEqual([null, null, "bounced"]);
  });

  test("that names none of our recipients is shown at the message, and no address is suppressed", async () => {
    const mail = await sentToThree(world());
    await mail.tell(dsn({ fields: bounced("stranger@elsewhere.example") }));
    const message = await mail.message();
    expect(message.delivery).toMatchObject({ state: "bounced", type: "hard" });
    expect(states(message)).toEqual([null, null, null]);
    expect(await mail.reports()).toMatchObject([
      { recipient: null, reportedRecipient: "stranger@elsewhere.example", suppressed: false },
    ]);
    expect(await mail.told("message.bounced")).toMatchObject([{ report: { recipient: null, suppressed: false } }]);
    expect(await mail.suppressed()).toEqual([]);
  });

  test("of a complaint without a recipient is shown at the message, and one with a recipient is shown for it", async () => {
    const mail = await sentToThree(world());
    await mail.tell(feedback("Feedback-Type: abuse"));
    expect(await mail.reports()).toMatchObject([{ kind: "complained", recipient: null, suppressed: false }]);
    await mail.tell(feedback(`Feedback-Type: abuse\nOriginal-Rcpt-To: <${mail.ann}>`));
    expect(states(await mail.message())).toEqual(["complained", null, null]);
    expect(await mail.told("message.complained")).toHaveLength(2);
    expect(await mail.suppressed()).toEqual([]);
  });

  /** Reports that one recipient, who knows the return path, could forge about another one. */
  const attacks: [string, (mail: Awaited<ReturnType<typeof sentToThree>>) => Promise<unknown>][] = [
    [
      "a bounce that names the other as its original recipient",
      ({ eve, tell }) => tell(dsn({ fields: `Original-Recipient: rfc822; ${eve}\n${bounced("me@v.example")}` })),
    ],
    ["a bounce that names the other as its final recipient", ({ eve, tell }) => tell(dsn({ fields: bounced(eve) }))],
    [
      "a bounce in words alone",
      ({ ann, tell }) => tell(plain(`<${ann}>: 550 5.1.1 User unknown\n\n${returnedMail}\n`)),
    ],
    [
      "a complaint at the return path",
      ({ ann, tell }) => tell(feedback(`Feedback-Type: abuse\nOriginal-Rcpt-To: ${ann}`)),
    ],
    [
      "a complaint at the inbox that names the return path",
      ({ ann, inbox, returnPath }) =>
        report(
          world(),
          feedback(`Feedback-Type: abuse\nOriginal-Rcpt-To: ${ann}\nOriginal-Mail-From: <${returnPath}>`),
          inbox.address,
          "abuse@v.example",
        ),
    ],
    [
      "a wish to be left alone at the return path",
      ({ ann, tell }) => tell(feedback(`Feedback-Type: opt-out\nOriginal-Rcpt-To: ${ann}`)),
    ],
    [
      "a wish to be left alone at the inbox that names the return path",
      ({ ann, inbox, returnPath }) =>
        report(
          world(),
          feedback(`Feedback-Type: opt-out\nOriginal-Rcpt-To: ${ann}\nOriginal-Mail-From: <${returnPath}>`),
          inbox.address,
          "abuse@v.example",
        ),
    ],
    [
      "a bounce at the inbox that names the Message-ID",
      ({ id, ann, inbox }) =>
        report(
          world(),
          dsn({ fields: bounced(ann), returned: `Message-ID: <${id}@inbox.localhost>\nFrom: a@b.example\nTo: ${ann}` }),
          inbox.address,
        ),
    ],
  ];

  test.each(attacks)("by one recipient cannot suppress another one by %s", async (_, attack) => {
    const mail = await sentToThree(world());
    expect(await attack(mail)).toStartWith("250");
    expect(await mail.suppressed()).toEqual([]);
    expect(await mail.told("suppression.added")).toEqual([]);
    const { body } = await send(world(), mail.inbox.id, { to: mail.ann, cc: [mail.eve] }, { waits: true });
    expect(body.status).toBe("sent");
  });

  test("by a stranger cannot suppress a customer who was in Cc of our reply", async () => {
    const [stranger, customer] = [`stranger@mail-${++mails}.example`, `customer@mail-${mails}.example`];
    const inbox = await world().inbox();
    const question = `From: ${stranger}\r\nTo: ${inbox.address}\r\nCc: ${customer}\r\nMessage-ID: <q${mails}@v.example>\r\n\r\nHi\r\n`;
    expect(await world().deliver(question, inbox.address, stranger)).toStartWith("250");
    const { body: page } = await world().api(`/v1/inboxes/${inbox.id}/messages`);
    const answer = { to: undefined, subject: undefined, replyToMessageId: page.data[0].id, replyAll: true };
    const { body } = await send(world(), inbox.id, answer, { waits: true });
    expect(body.status).toBe("sent");
    const returnPath = await returnPathOf(body.messageId);
    for (const mail of [
      dsn({ fields: bounced(customer) }),
      feedback(`Feedback-Type: abuse\nOriginal-Rcpt-To: ${customer}`),
      feedback(`Feedback-Type: opt-out\nOriginal-Rcpt-To: ${customer}`),
    ]) {
      expect(await report(world(), mail, returnPath)).toStartWith("250");
    }
    const { body: message } = await world().api(`/v1/messages/${body.messageId}`);
    expect(message.recipients).toMatchObject([{ address: stranger }, { address: customer, delivery: { type: null } }]);
    expect((await suppressed(world())).map(({ address }) => address)).not.toContain(customer);
  });

  test("sent ten times at once for each recipient is one report and one event each", async () => {
    const mail = await sentToThree(world());
    const all = [mail.ann, mail.bob, mail.eve];
    const copies = all.flatMap((address) => Array.from({ length: 10 }, () => dsn({ fields: bounced(address) })));
    const answers = await Promise.all(copies.map((copy) => mail.tell(copy)));
    expect(answers.every((answer) => answer.startsWith("250"))).toBe(true);
    const recipients = (await mail.reports()).map(({ recipient }: { recipient: string }) => recipient);
    expect(recipients.toSorted()).toEqual(all);
    expect(await mail.told("message.bounced")).toHaveLength(3);
    expect(states(await mail.message())).toEqual(["bounced", "bounced", "bounced"]);
  });
});

describe.each(enginesHere())("An outbound mail to several recipients (%s)", (engine) => {
  const startWorld = worldsOn(engine);

  test("has one return path, and an ORCPT for each recipient", async () => {
    const relay = await scriptedSmtp({ extensions: ["DSN"] });
    await using world = await startWorld({ env: { ...env, OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off` } });
    const { id, returnPath, ann, bob, eve } = await sentToThree(world);
    expect(relay.commands.filter((line) => /^(?:MAIL|RCPT)/.test(line))).toEqual([
      expect.stringMatching(new RegExp(`^MAIL FROM:<${returnPath.replace("+", "\\+")}>.* RET=HDRS ENVID=${id}$`)),
      ...[ann, bob, eve].map((address) => `RCPT TO:<${address}> NOTIFY=FAILURE,DELAY ORCPT=rfc822;${address}`),
    ]);
    await relay.close();
  });
});
