import type { ParsedMail } from "../../src/domain/message.ts";
import type { Authentication } from "../../src/domain/receive/authentication.ts";
import type { Envelope, FoundRecipient } from "../../src/domain/receive/inbound-mail.ts";
import type { Deps } from "../../src/flows/deps.ts";
import { mailReceiver } from "../../src/flows/receive/receive-email.ts";
import type { WorldInbox } from "./world.ts";

let made = 0;

/** A mail as the parser returns it; each has its own id and bytes. */
export function parsedMail(fields: Partial<ParsedMail> = {}): ParsedMail {
  made += 1;
  return {
    messageId: `arrival-${made}@example.com`,
    inReplyTo: [],
    references: [],
    from: { address: "jane@example.com", name: "Jane Doe" },
    replyTo: undefined,
    to: [],
    cc: [],
    subject: "Hello",
    bodyText: "Hello Ada",
    bodyHtml: undefined,
    attachments: [],
    signs: {},
    complete: true,
    ...fields,
  };
}

/** The SMTP envelope of a mail to these recipients. */
export function envelopeTo(recipients: readonly FoundRecipient[]): Envelope {
  const client = {
    address: "192.0.2.1",
    network: "192.0.2.1",
    heloName: "mail.example.com",
    secure: false,
    isProxy: false,
  };
  return { from: "jane@example.com", recipients, client };
}

/** The authentication of a mail that its domain sent, unless a test says otherwise. */
export function authenticationOf(fields: Partial<Authentication> = {}): Authentication {
  return {
    verdict: "pass",
    domain: "example.com",
    internal: false,
    spf: { result: "pass", domain: "bounce.example.com", aligned: true },
    dkim: [{ result: "pass", domain: "example.com", selector: "s1", aligned: true }],
    dmarc: { result: "pass", policy: "reject" },
    arc: { result: "none", sealers: [] },
    source: "checked",
    clientAddress: "192.0.2.9",
    tls: true,
    ...fields,
  };
}

/** Files many mails at a time without SMTP, for tests that need them and do not test receiving. */
export async function takeIn(
  deps: Deps,
  inbox: WorldInbox,
  mails: readonly Partial<ParsedMail>[],
  authentication?: Authentication,
): Promise<void> {
  const receive = mailReceiver(deps);
  await Promise.all(
    mails.map((fields) => {
      const mail = parsedMail(fields);
      const raw = Buffer.from(`Message-ID: <${mail.messageId}>\r\n\r\n${mail.bodyText}`);
      const envelope = envelopeTo([{ inboxId: inbox.id, toAddr: inbox.address }]);
      return receive({ envelope, raw, mail, authentication });
    }),
  );
}
