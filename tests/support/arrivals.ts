import type { ParsedMail } from "../../src/domain/message.ts";
import type { Envelope, FoundRecipient } from "../../src/domain/receive/inbound-mail.ts";
import type { Deps } from "../../src/flows/deps.ts";
import { mailReceiver } from "../../src/flows/receive/receive-email.ts";
import type { WorldInbox } from "./world.ts";

let made = 0;

/** A mail as the parser gives it; each has an id and bytes of its own. */
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

/** What is said of a mail when it is handed over. */
export function envelopeTo(recipients: readonly FoundRecipient[]): Envelope {
  const client = { address: "192.0.2.1", network: "192.0.2.1", heloName: "mail.example.com", secure: false };
  return { from: "jane@example.com", recipients, client };
}

/** Takes mails in behind the door, many at a time: where a test needs many and the way in is not its subject. */
export async function takeIn(deps: Deps, inbox: WorldInbox, mails: readonly Partial<ParsedMail>[]): Promise<void> {
  const receive = mailReceiver(deps);
  await Promise.all(
    mails.map((fields) => {
      const mail = parsedMail(fields);
      const raw = Buffer.from(`Message-ID: <${mail.messageId}>\r\n\r\n${mail.bodyText}`);
      return receive({ envelope: envelopeTo([{ inboxId: inbox.id, toAddr: inbox.address }]), raw, mail });
    }),
  );
}
