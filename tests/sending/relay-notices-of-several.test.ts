import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import {
  mailgunFailure,
  type Named,
  postmarkBounce,
  resendBounce,
  sesBounce,
} from "../support/relay-notices/examples.ts";
import { namingRelay, noticeDoor, noticedWorld, type Post, sentBy } from "../support/relay-notices/noticed-world.ts";
import {
  notification,
  type Provider,
  type Signed,
  settings,
  signedByMailgun,
  signedByPostmark,
  signedByResend,
  signedBySendgrid,
  signedBySns,
  signedByToken,
} from "../support/relay-notices/signing.ts";
import { suppressed } from "../support/reported.ts";
import type { ScriptedSmtp } from "../support/scripted-smtp.ts";
import type { World, WorldInbox } from "../support/world.ts";

const ann = "ann@example.com";
const bob = "bob@example.com";
const eve = "eve@example.com";

let relay: ScriptedSmtp;
beforeAll(async () => {
  relay = await namingRelay();
});
afterAll(() => relay.close());

interface Told extends AsyncDisposable {
  world: World;
  inbox: WorldInbox;
  post: Post;
  /** A mail to Ann, to Bob with a name, and to Eve in Bcc. */
  mail: Named;
  /** The status of each recipient. */
  states: () => Promise<(string | null)[]>;
  suppressed: () => Promise<string[]>;
}

async function told(provider: Provider): Promise<Told> {
  const world = await noticedWorld(relay, provider);
  const inbox = await world.inbox();
  const mail = await sentBy(relay, world, inbox, { to: [ann, { address: bob, name: "Bob" }], bcc: [eve] });
  return {
    world,
    inbox,
    mail,
    post: await noticeDoor(world, provider),
    async states() {
      const { body } = await world.api(`/v1/messages/${mail.messageId}`);
      return body.recipients.map(({ delivery }: { delivery: { state: string } | null }) => delivery?.state ?? null);
    },
    suppressed: async () => (await suppressed(world)).map(({ address }) => address),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

const sesOfTwo = (mail: Named) => {
  const example = sesBounce(mail);
  const [first] = example.bounce.bouncedRecipients;
  const recipients = [bob, eve].map((emailAddress) => ({ ...first, emailAddress }));
  return { ...example, bounce: { ...example.bounce, bouncedRecipients: recipients } };
};

describe("a notice about a mail to several recipients", () => {
  const ofBob: [Provider, (mail: Named) => Signed][] = [
    ["ses", (mail) => signedBySns(notification(JSON.stringify(sesBounce({ ...mail, recipient: bob }))))],
    ["mailgun", (mail) => signedByMailgun(mailgunFailure({ ...mail, recipient: bob }))],
    [
      "sendgrid",
      ({ messageId: inboxd }) => signedBySendgrid([{ event: "bounce", email: bob, status: "5.1.1", inboxd }]),
    ],
    ["postmark", (mail) => signedByPostmark(postmarkBounce({ ...mail, recipient: `Bob <${bob}>` }))],
    [
      "generic",
      ({ returnPath: return_path }) =>
        signedByToken({ kind: "bounced", type: "hard", recipient: "Bob@Example.COM", return_path }),
    ],
  ];
  test.each(ofBob)(
    "of %s about one of them marks and suppresses only that one",
    async (provider, signed) => {
      await using it = await told(provider);
      expect((await it.post(signed(it.mail))).body).toEqual({ accepted: 1, ignored: 0 });
      expect(await it.states()).toEqual([null, "bounced", null]);
      expect(await it.suppressed()).toEqual([bob]);
    },
    60_000,
  );

  test("of SES about two of them makes two reports", async () => {
    await using it = await told("ses");
    const signed = signedBySns(notification(JSON.stringify(sesOfTwo(it.mail))));
    expect((await it.post(signed)).body).toEqual({ accepted: 2, ignored: 0 });
    expect(await it.states()).toEqual([null, "bounced", "bounced"]);
    expect(await it.suppressed()).toEqual([bob, eve]);
    const reports = `/v1/messages/${it.mail.messageId}/reports`;
    const { body } = await it.world.api(reports);
    for (const { id } of body.data) {
      const raw = await it.world.fetch(`${reports}/${id}/raw`);
      expect(raw.headers.get("content-type")).toStartWith("application/json");
      expect(await raw.json()).toEqual(sesOfTwo(it.mail));
    }
  }, 60_000);

  test("of SendGrid in a batch sets the status of each, in any order", async () => {
    await using it = await told("sendgrid");
    const inboxd = it.mail.messageId;
    const events = [
      { event: "spamreport", email: eve, inboxd },
      { event: "bounce", email: bob, status: "5.1.1", reason: "550 5.1.1 User unknown", inboxd },
      { event: "open", email: ann, inboxd },
      { event: "delivered", email: bob, inboxd },
      { event: "delivered", email: ann, inboxd },
      { event: "delivered", email: eve, inboxd },
      { event: "delivered", email: "mary@example.com", inboxd },
    ];
    expect((await it.post(signedBySendgrid(events))).body).toEqual({ accepted: 5, ignored: 2 });
    expect(await it.states()).toEqual(["delivered", "bounced", "complained"]);
    expect(await it.suppressed()).toEqual([bob, eve]);
  }, 60_000);

  test("without a recipient is shown at the message and suppresses no address", async () => {
    await using it = await told("generic");
    const { returnPath: return_path } = it.mail;
    expect((await it.post(signedByToken({ kind: "bounced", type: "hard", return_path }))).body.accepted).toBe(1);
    expect(await it.states()).toEqual([null, null, null]);
    const { body } = await it.world.api(`/v1/messages/${it.mail.messageId}`);
    expect(body.delivery).toMatchObject({ state: "bounced", type: "hard" });
    expect(await it.suppressed()).toEqual([]);
  }, 60_000);

  test("of Resend names the recipients of the header, so it suppresses no address", async () => {
    await using it = await told("resend");
    expect((await it.post(signedByResend(resendBounce({ ...it.mail, recipient: ann })))).body.accepted).toBe(1);
    expect(await it.states()).toEqual([null, null, null]);
    expect(await it.suppressed()).toEqual([]);
  }, 60_000);

  test("about an unsubscription suppresses the address for the inbox, and others still get mail", async () => {
    await using it = await told("generic");
    const { providerMessageId: provider_message_id } = it.mail;
    await it.post(signedByToken({ kind: "unsubscribed", recipient: bob, provider_message_id }));
    expect(await suppressed(it.world)).toMatchObject([
      { address: bob, reason: "unsubscribe", inboxId: it.inbox.id, expiresAt: null },
    ]);
    expect(await it.states()).toEqual([null, null, null]);
  }, 60_000);
});

describe("the field that identifies a mail for the relay", () => {
  const { privateKey } = generateKeyPairSync("ed25519");
  const signing = {
    DKIM_SELECTOR: "s1",
    DKIM_KEY: String(privateKey.export({ type: "pkcs8", format: "pem" })),
  };
  const rows: [Provider, (id: string) => string | undefined][] = [
    ["sendgrid", (id) => `X-SMTPAPI: {"unique_args":{"inboxd":"${id}"}}`],
    ["postmark", (id) => `X-PM-Metadata-inboxd: ${id}`],
    ["ses", () => undefined],
  ];
  test.each(rows)(
    "%s: is in the mail, with and without files, and is not signed",
    async (provider, markOf) => {
      await using world = await noticedWorld(relay, provider, signing);
      const inbox = await world.inbox();
      const attachments = [{ filename: "a.txt", content: btoa("a"), contentType: "text/plain" }];
      for (const more of [{}, { attachments }]) {
        const { messageId } = await sentBy(relay, world, inbox, { to: ann, ...more });
        const raw = relay.mails.find((mail) => mail.raw.includes(messageId))?.raw.toString() ?? "";
        const [head = ""] = raw.split("\r\n\r\n");
        const marks = head.split("\r\n").filter((line) => /^X-(?:SMTPAPI|PM)/i.test(line));
        expect(marks).toEqual([markOf(messageId) ?? []].flat());
        const signed = /^DKIM-Signature:.*?;\s+h=(.*?);/ms.exec(head)?.[1] ?? "";
        expect(signed).toContain("Subject");
        expect(signed).not.toMatch(/X-/i);
        // The API does not show the field.
        const kept = await (await world.fetch(`/v1/messages/${messageId}/raw`)).text();
        expect(kept).not.toMatch(/^X-(?:SMTPAPI|PM)/im);
      }
    },
    60_000,
  );

  test("is not in mail to our own inboxes, because there is no relay to remove it", async () => {
    await using world = await noticedWorld(relay, "postmark", { RELAY_NOTICES: settings.postmark });
    const [ada, ben] = [await world.inbox(), await world.inbox()];
    const { body } = await world.api(`/v1/inboxes/${ada.id}/send`, {
      method: "POST",
      headers: { "idempotency-key": "to-ben" },
      body: { to: ben.address, subject: "Hi", body: "Hello" },
    });
    expect(body.status).toBe("sent");
    const received = await world.api(`/v1/inboxes/${ben.id}/messages`);
    const raw = await (await world.fetch(`/v1/messages/${received.body.data[0].id}/raw`)).text();
    expect(raw).toContain("Subject: Hi");
    expect(raw).not.toContain("X-PM");
  }, 60_000);
});

describe("the relay's id of a mail", () => {
  test("a reply to the Message-ID in a notice of Resend joins the thread, but not one of another inbox", async () => {
    await using world = await noticedWorld(relay, "resend");
    const [ada, ben] = [await world.inbox(), await world.inbox()];
    const mail = await sentBy(relay, world, ada);
    const post = await noticeDoor(world, "resend");
    const event = resendBounce(mail);
    const wire = "0100018b-wire@resend.example";
    const delivered = { ...event, type: "email.delivered", data: { ...event.data, message_id: `<${wire}>` } };
    for (const _ of [1, 2]) expect((await post(signedByResend(delivered))).body.accepted).toBe(1);

    const answer = (id: string) =>
      [
        `Message-ID: <${id}@example.com>`,
        "From: jane@example.com",
        `In-Reply-To: <${wire}>`,
        "Subject: Re: Hi",
        "",
        "Yes",
      ].join("\r\n");
    expect(await world.deliver(answer("a1"), ada.address, "jane@example.com")).toStartWith("250");
    expect(await world.deliver(answer("a2"), ben.address, "jane@example.com")).toStartWith("250");
    const { body: sent } = await world.api(`/v1/messages/${mail.messageId}`);
    const threadsOf = async (inbox: WorldInbox) =>
      (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body.data.map(
        ({ threadId }: { threadId: string }) => threadId,
      );
    expect(new Set(await threadsOf(ada))).toEqual(new Set([sent.threadId]));
    expect(await threadsOf(ben)).not.toContain(sent.threadId);
  }, 60_000);

  test("a notice of SES is matched by its own id, too", async () => {
    await using world = await noticedWorld(relay, "ses", {
      RETURN_PATH: "inbox",
      RELAY_MESSAGE_ID: "@email.amazonses.com",
    });
    const inbox = await world.inbox();
    const mail = await sentBy(relay, world, inbox);
    const { mail: shown, ...bounce } = sesBounce(mail);
    const { headers: _, ...rest } = { ...shown, source: "someone@mail.example" };
    const post = await noticeDoor(world, "ses");
    const signed = signedBySns(notification(JSON.stringify({ ...bounce, mail: rest })));
    expect((await post(signed)).body).toEqual({ accepted: 1, ignored: 0 });
    const { body: bounced } = await world.api(`/v1/messages/${mail.messageId}`);
    expect(bounced.delivery).toMatchObject({ state: "bounced" });
    // The relay's id is not used in mail: the next mail names the Message-ID that was sent.
    const next = await sentBy(relay, world, inbox, { to: "mary@example.com", threadId: bounced.threadId });
    const raw = relay.mails.find((mail) => mail.raw.includes(next.messageId))?.raw.toString() ?? "";
    expect(raw).toContain(`\r\nIn-Reply-To: <${mail.providerMessageId}@email.amazonses.com>\r\n`);
    expect(raw).not.toContain(`<${mail.providerMessageId}>`);
  }, 60_000);

  test("a notice about an unknown mail, or from the future, is not requested again forever", async () => {
    await using world = await noticedWorld(relay, "sendgrid");
    const post = await noticeDoor(world, "sendgrid");
    const nameless = { event: "bounce", email: ann, status: "5.1.1", sg_message_id: "" };
    expect((await post(signedBySendgrid([nameless]))).body).toEqual({ accepted: 0, ignored: 1 });
    const timestamp = Math.floor(world.clock.now().getTime() / 1000) + 86_400;
    const tomorrow = { event: "bounce", email: ann, sg_message_id: "unknown.filter1", timestamp };
    expect((await post(signedBySendgrid([tomorrow]))).status).toBe(503);
    world.clock.pass(5 * 60_000 + 1);
    expect((await post(signedBySendgrid([tomorrow]))).body).toEqual({ accepted: 0, ignored: 1 });
  }, 60_000);
});
