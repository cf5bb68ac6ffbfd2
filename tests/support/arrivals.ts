import type { ParsedMail } from "../../src/domain/message.ts";
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
    complete: true,
    ...fields,
  };
}

/** Takes mails in behind the door, many at a time: where a test needs many and the way in is not its subject. */
export async function takeIn(deps: Deps, inbox: WorldInbox, mails: readonly Partial<ParsedMail>[]): Promise<void> {
  const receive = mailReceiver(deps);
  await Promise.all(
    mails.map((fields) => {
      const mail = parsedMail(fields);
      const raw = Buffer.from(`Message-ID: <${mail.messageId}>\r\n\r\n${mail.bodyText}`);
      return receive({
        envelopeFrom: "jane@example.com",
        mail,
        raw,
        recipients: [{ inboxId: inbox.id, toAddr: inbox.address }],
      });
    }),
  );
}
