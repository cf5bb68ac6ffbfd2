/**
 * Notices of relays, as their documentation shows them, about a message of ours: each reports that jane@example.com does not
 * exist.
 */
export interface Named {
  messageId: string;
  rfcMessageId: string;
  returnPath: string;
  providerMessageId: string;
  recipient: string;
  /** The time of the bounce. */
  at: Date;
}

const seconds = (at: Date) => Math.floor(at.getTime() / 1000);

/** Amazon SES, a notification of a bounce with the header of the mail. */
export function sesBounce({ rfcMessageId, returnPath, providerMessageId, recipient, at }: Named) {
  return {
    notificationType: "Bounce",
    bounce: {
      bounceType: "Permanent",
      reportingMTA: "dns; email.example.com",
      bouncedRecipients: [
        {
          emailAddress: recipient,
          status: "5.1.1",
          action: "failed",
          diagnosticCode: "smtp; 550 5.1.1 <jane@example.com>... User",
        },
      ],
      bounceSubType: "General",
      timestamp: at.toISOString(),
      feedbackId: "00000138111222aa-33322211-cccc-cccc-cccc-ddddaaaa068a-000000",
      remoteMtaIp: "127.0.2.0",
    },
    mail: {
      timestamp: at.toISOString(),
      source: returnPath,
      sourceArn: "arn:aws:ses:us-east-1:888888888888:identity/example.com",
      sourceIp: "127.0.3.0",
      sendingAccountId: "123456789012",
      callerIdentity: "IAM_user_or_role_name",
      messageId: providerMessageId,
      destination: [recipient, "mary@example.com", "richard@example.com"],
      headersTruncated: false,
      headers: [
        { name: "From", value: '"John Doe" <john@example.com>' },
        { name: "To", value: `"Jane Doe" <${recipient}>` },
        { name: "Message-ID", value: `<${rfcMessageId}>` },
        { name: "Subject", value: "Hello" },
      ],
      commonHeaders: { from: ["John Doe <john@example.com>"], messageId: "custom-message-ID", subject: "Hello" },
    },
  };
}

/** Mailgun, without the signature. */
export function mailgunFailure({ rfcMessageId, returnPath, recipient, at }: Named) {
  return {
    "event-data": {
      id: "G9Bn5sl1TC6nu79C8C0bwg",
      timestamp: at.getTime() / 1000,
      "log-level": "error",
      event: "failed",
      severity: "permanent",
      reason: "bounce",
      "delivery-status": {
        "attempt-no": 1,
        message: "5.1.1 The email account that you tried to reach does not exist",
        code: 550,
        "enhanced-code": "5.1.1",
        description: "",
        "session-seconds": 0.43,
        "mx-host": "aspmx.example.com",
      },
      flags: { "is-routed": false, "is-authenticated": true, "is-system-test": false, "is-test-mode": false },
      envelope: { sender: returnPath, transport: "smtp", targets: recipient },
      message: {
        headers: { to: recipient, "message-id": rfcMessageId, from: "bob@example.org", subject: "Test failed webhook" },
        attachments: [],
        size: 111,
      },
      recipient,
      "recipient-domain": "example.com",
      tags: [],
      "user-variables": {},
    },
  };
}

/** SendGrid, a batch, with an open event in it. */
export function sendgridBatch({ messageId, recipient, at }: Named) {
  const common = { email: recipient, "smtp-id": "<14c5d75ce93.dfd.64b469@ismtpd-555>", category: ["cat facts"] };
  const sgMessageId = "14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0";
  return [
    {
      ...common,
      timestamp: seconds(at),
      event: "processed",
      sg_event_id: "rbtnWrG1DVDGGGFHFyun0A==",
      sg_message_id: sgMessageId,
    },
    {
      ...common,
      timestamp: seconds(at),
      event: "open",
      useragent: "Mozilla/4.0",
      ip: "255.255.255.255",
      sg_message_id: sgMessageId,
    },
    {
      ...common,
      timestamp: seconds(at),
      event: "bounce",
      sg_event_id: "6g4ZI7SA-xmRDv57GoPIPw==",
      sg_message_id: sgMessageId,
      reason: "500 unknown recipient",
      status: "5.0.0",
      type: "bounce",
      bounce_classification: "Invalid Address",
      inboxd: messageId,
    },
  ];
}

export function resendBounce({ providerMessageId, recipient, at }: Named) {
  return {
    type: "email.bounced",
    created_at: at.toISOString(),
    data: {
      broadcast_id: "8b146471-e88e-4322-86af-016cd36fd216",
      created_at: at.toISOString(),
      email_id: providerMessageId,
      from: "Acme <onboarding@resend.dev>",
      to: [recipient],
      subject: "Sending this example",
      bounce: {
        diagnosticCode: ["smtp; 550 5.5.0 Requested action not taken: mailbox unavailable"],
        message:
          "The recipient's email address is on the suppression list because it has a recent history of producing hard bounces.",
        subType: "Suppressed",
        type: "Permanent",
      },
      tags: { category: "confirm_email" },
    },
  };
}

export function postmarkBounce({ messageId, recipient, at }: Named) {
  return {
    RecordType: "Bounce",
    MessageStream: "outbound",
    ID: 4323372036854775,
    Type: "HardBounce",
    TypeCode: 1,
    Name: "Hard bounce",
    Tag: "Test",
    MessageID: "883953f4-6105-42a2-a16a-77a8eac79483",
    Metadata: { a_key: "a_value", inboxd: messageId },
    ServerID: 23,
    Description: "The server was unable to deliver your message (ex: unknown user, mailbox not found).",
    Details: "Test bounce details",
    Email: recipient,
    From: "sender@example.com",
    BouncedAt: at.toISOString().replace("Z", "9070Z"),
    DumpAvailable: true,
    Inactive: true,
    CanActivate: true,
    Subject: "Test subject",
    Content: "<Full dump of bounce>",
  };
}

export function genericBounce({ returnPath, recipient, at }: Named) {
  return {
    kind: "bounced",
    type: "hard",
    code: 550,
    enhanced_code: "5.1.1",
    diagnostic: "550 5.1.1 User unknown",
    recipient,
    occurred_at: at.toISOString(),
    return_path: returnPath,
  };
}
