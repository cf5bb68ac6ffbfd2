import { describe, expect, test } from "bun:test";
import { genericNotice } from "../../../src/mail/notices/generic.ts";
import { readNotices } from "../../../src/mail/notices/read-notices.ts";
import {
  mailgunFailure,
  type Named,
  postmarkBounce,
  resendBounce,
  sendgridBatch,
  sesBounce,
} from "../../support/relay-notices/examples.ts";

const named: Named = {
  messageId: "msg_01km7xshd0efrsmm0nxk81y60b",
  rfcMessageId: "msg_01km7xshd0efrsmm0nxk81y60b@mail.example",
  returnPath: "bounce+01km7xshd0efrsmm0nxk81y60b-abcdefabcdef@mail.example",
  providerMessageId: "0100018b-1",
  recipient: "jane@example.com",
  at: new Date("2026-03-21T10:05:00.000Z"),
};

type Provider = Parameters<typeof readNotices>[0];
const read = (provider: Provider, value: unknown) => {
  const { events, others } = readNotices(provider, value);
  return { notices: events.flatMap(({ notices }) => notices), others };
};

describe("the published example of a bounce is a hard bounce of one recipient", () => {
  const rows: [Provider, unknown, object, number][] = [
    [
      "ses",
      sesBounce(named),
      {
        code: 550,
        enhancedCode: "5.1.1",
        reportingMta: "dns; email.example.com",
        names: {
          returnPath: named.returnPath,
          rfcMessageId: `<${named.rfcMessageId}>`,
          providerMessageId: named.providerMessageId,
        },
      },
      0,
    ],
    [
      "mailgun",
      mailgunFailure(named),
      {
        code: 550,
        enhancedCode: "5.1.1",
        remoteMta: "aspmx.example.com",
        names: { returnPath: named.returnPath, rfcMessageId: named.rfcMessageId },
      },
      0,
    ],
    [
      "sendgrid",
      sendgridBatch(named),
      {
        names: {
          mark: named.messageId,
          rfcMessageId: "<14c5d75ce93.dfd.64b469@ismtpd-555>",
          providerMessageId: "14c5d75ce93",
        },
      },
      2,
    ],
    [
      "postmark",
      postmarkBounce(named),
      {
        diagnostic: "Test bounce details",
        names: { mark: named.messageId, providerMessageId: "883953f4-6105-42a2-a16a-77a8eac79483" },
      },
      0,
    ],
  ];
  test.each(rows)("of %s", (provider, value, expected, others) => {
    const { notices, others: passedOver } = read(provider, value);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatchObject({ kind: "bounced", type: "hard", recipient: named.recipient, ...expected });
    expect(notices[0]?.occurredAt?.getTime()).toBeCloseTo(named.at.getTime(), -1);
    expect(passedOver).toBe(others);
  });

  test("of resend", () => {
    const { notices } = read("resend", resendBounce(named));
    expect(notices).toMatchObject([
      { kind: "bounced", type: "hard", code: 550, names: { providerMessageId: named.providerMessageId } },
    ]);
  });
});

describe("a permanent bounce of a relay is not hard if the server's reply is temporary or about the sender", () => {
  const full = "552 5.2.2 Mailbox full";
  const blocked = "550 5.7.1 Message rejected due to the reputation of your domain (spam)";
  const bounce = (diagnosticCode: string) => ({
    ...sesBounce(named),
    bounce: {
      bounceType: "Permanent",
      bounceSubType: "General",
      timestamp: named.at.toISOString(),
      bouncedRecipients: [{ emailAddress: named.recipient, diagnosticCode: `smtp; ${diagnosticCode}` }],
    },
  });
  const event = (reason: string) => ({ ...sendgridBatch(named)[2], reason, status: undefined });
  const rows: [string, Provider, unknown, string][] = [
    ["ses, full", "ses", bounce(full), "soft"],
    ["ses, blocked", "ses", bounce(blocked), "block"],
    ["ses, without a word", "ses", bounce(""), "hard"],
    ["sendgrid, full", "sendgrid", event(full), "soft"],
    ["sendgrid, blocked", "sendgrid", event(blocked), "block"],
    ["sendgrid, of the type blocked", "sendgrid", { ...event("550"), type: "blocked" }, "block"],
    ["postmark, full", "postmark", { ...postmarkBounce(named), Details: full }, "soft"],
    ["postmark, soft", "postmark", { ...postmarkBounce(named), Type: "SoftBounce" }, "soft"],
    ["postmark, blocked", "postmark", { ...postmarkBounce(named), Type: "SpamNotification" }, "block"],
  ];
  test.each(rows)("%s", (_, provider, value, type) => {
    expect(read(provider, value).notices).toMatchObject([{ kind: "bounced", type }]);
  });

  test("generic, whose own type counts unless it is hard", () => {
    const told = { kind: "bounced" as const, diagnostic: full, provider_message_id: "1" };
    expect(genericNotice({ ...told, type: "hard" }).type).toBe("soft");
    expect(genericNotice({ ...told, type: "block" }).type).toBe("block");
    expect(genericNotice({ ...told, diagnostic: "550 5.1.1 User unknown" }).type).toBe("hard");
  });
});

describe("other events of relays", () => {
  const mail = sesBounce(named).mail;
  const ses = (notificationType: string, field: string, value: object) => ({ notificationType, mail, [field]: value });
  const mailgun = (fields: object) => {
    const event = mailgunFailure(named)["event-data"];
    return { "event-data": { ...event, ...fields } };
  };
  const rows: [string, Provider, unknown, object[]][] = [
    [
      "a delivery of ses",
      "ses",
      ses("Delivery", "delivery", { recipients: [named.recipient], smtpResponse: "250 ok" }),
      [{ kind: "delivered", type: undefined, recipient: named.recipient }],
    ],
    [
      "a delay, as ses calls it in an event",
      "ses",
      {
        ...ses("", "deliveryDelay", { delayedRecipients: [{ emailAddress: named.recipient, status: "4.4.1" }] }),
        eventType: "DeliveryDelay",
      },
      [{ kind: "delayed", enhancedCode: "4.4.1" }],
    ],
    [
      "a complaint of one",
      "ses",
      ses("Complaint", "complaint", { complainedRecipients: [{ emailAddress: named.recipient }] }),
      [{ kind: "complained", recipient: named.recipient }],
    ],
    [
      "a complaint of one of two, nobody knows whom",
      "ses",
      ses("Complaint", "complaint", {
        complainedRecipients: [{ emailAddress: "a@b.example" }, { emailAddress: "c@b.example" }],
      }),
      [{ kind: "complained", recipient: undefined }],
    ],
    [
      "ses says of two of three",
      "ses",
      ses("Bounce", "bounce", {
        bounceType: "Permanent",
        bouncedRecipients: [
          { emailAddress: named.recipient, status: "5.1.1" },
          { emailAddress: "Mary <mary@example.com>", diagnosticCode: "smtp; 552 5.2.2 Mailbox full" },
        ],
      }),
      [
        { kind: "bounced", type: "hard", recipient: named.recipient },
        { kind: "bounced", type: "soft", recipient: "mary@example.com" },
      ],
    ],
    [
      "ses delivered to two",
      "ses",
      ses("Delivery", "delivery", { recipients: [named.recipient, "mary@example.com"] }),
      [{ recipient: named.recipient }, { recipient: "mary@example.com" }],
    ],
    [
      "somebody who is out of the office, whom ses calls a bounce",
      "ses",
      ses("Bounce", "bounce", {
        bounceType: "Transient",
        bounceSubType: "General",
        bouncedRecipients: [{ emailAddress: named.recipient }],
      }),
      [],
    ],
    [
      "a server that takes no mail now",
      "ses",
      ses("Bounce", "bounce", {
        bounceType: "Transient",
        bounceSubType: "General",
        bouncedRecipients: [{ emailAddress: named.recipient, action: "failed", status: "4.4.7" }],
      }),
      [{ kind: "bounced", type: "soft" }],
    ],
    [
      "ses keeps back a mail to who has left",
      "ses",
      ses("Bounce", "bounce", {
        bounceType: "Permanent",
        bounceSubType: "UnsubscribedRecipient",
        bouncedRecipients: [{ emailAddress: named.recipient }],
      }),
      [{ kind: "bounced", type: "block" }],
    ],
    [
      "ses keeps back a mail to who complained before",
      "ses",
      ses("Complaint", "complaint", {
        complaintSubType: "OnAccountSuppressionList",
        complainedRecipients: [{ emailAddress: named.recipient }],
      }),
      [{ kind: "bounced", type: "block", recipient: named.recipient }],
    ],
    ["that it was no spam", "ses", ses("Complaint", "complaint", { complaintFeedbackType: "not-spam" }), []],
    ["an open", "ses", ses("Open", "open", {}), []],
    ["mailgun puts off", "mailgun", mailgun({ severity: "temporary" }), [{ kind: "delayed", type: undefined }]],
    [
      "mailgun's own list of complaints",
      "mailgun",
      mailgun({ reason: "suppress-complaint", "delivery-status": { code: 607 } }),
      [{ type: "block", code: undefined }],
    ],
    ["mailgun gave up", "mailgun", mailgun({ reason: "old", "delivery-status": {} }), [{ type: "soft" }]],
    [
      "an unsubscription",
      "mailgun",
      mailgun({ event: "unsubscribed" }),
      [{ kind: "unsubscribed", recipient: named.recipient }],
    ],
    ["a click", "mailgun", mailgun({ event: "clicked" }), []],
    [
      "sendgrid drops",
      "sendgrid",
      [{ event: "dropped", reason: "Spam Reporting Address", email: named.recipient }],
      [{ kind: "bounced", type: "block" }],
    ],
    [
      "sendgrid leaves out whom it knows to bounce",
      "sendgrid",
      [{ event: "dropped", reason: "Bounced Address" }],
      [{ kind: "bounced", type: "hard" }],
    ],
    [
      "a group is left",
      "sendgrid",
      [{ event: "group_unsubscribe", email: named.recipient }],
      [{ kind: "unsubscribed" }],
    ],
    [
      "resend, to several",
      "resend",
      { type: "email.complained", data: { to: ["a@b.example", "c@b.example"], email_id: "1" } },
      [{ kind: "complained", recipient: undefined }],
    ],
    [
      "resend, to one as the header has it",
      "resend",
      {
        type: "email.delivered",
        data: { to: [`Jane <${named.recipient}>`], email_id: "1", message_id: "<2@resend.example>" },
      },
      [{ recipient: named.recipient, isNamedByHeader: true, names: { wireMessageId: "<2@resend.example>" } }],
    ],
    [
      "resend could not send",
      "resend",
      { type: "email.failed", data: { failed: { reason: "reached_daily_quota" }, to: ["a@b.example"] } },
      [{ kind: "bounced", type: "block" }],
    ],
    [
      "postmark delivered",
      "postmark",
      { RecordType: "Delivery", Recipient: named.recipient, Details: "Test" },
      [{ kind: "delivered" }],
    ],
    ["an out-of-office reply", "postmark", { ...postmarkBounce(named), Type: "AutoResponder" }, []],
    [
      "a wish",
      "postmark",
      {
        RecordType: "SubscriptionChange",
        SuppressSending: true,
        SuppressionReason: "ManualSuppression",
        Origin: "Recipient",
        Recipient: named.recipient,
      },
      [{ kind: "unsubscribed" }],
    ],
    [
      "what its bounce comes to",
      "postmark",
      { RecordType: "SubscriptionChange", SuppressSending: true, SuppressionReason: "HardBounce", Origin: "Recipient" },
      [],
    ],
  ];
  test.each(rows)("%s", (_, provider, value, expected) => {
    const { notices, others } = read(provider, value);
    expect(notices).toHaveLength(expected.length);
    expect(notices).toMatchObject(expected);
    expect(others).toBe(expected.length === 0 ? 1 : 0);
  });

  const odd: unknown[] = [
    null,
    1,
    "",
    [],
    [[]],
    {},
    [null],
    { RecordType: [] },
    { event: "constructor" },
    { type: "__proto__" },
  ];
  test.each(
    (["ses", "mailgun", "sendgrid", "resend", "postmark"] as const).flatMap((one) =>
      odd.map((value) => [one, value] as const),
    ),
  )("%s, %p: nothing", (provider, value) => {
    expect(read(provider, value).notices).toEqual([]);
  });

  test("strangers' text is one clean line", () => {
    const [notice] = read("postmark", { ...postmarkBounce(named), Details: "a\r\nBcc: b\u0000\u202e" }).notices;
    expect(notice?.diagnostic).toBe("a Bcc: b�");
  });
});
