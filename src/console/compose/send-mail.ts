import { inboxd, type Schemas } from "../api.ts";

interface Mail {
  /** The id of the inbox. */
  from: string;
  to: string;
  cc: string;
  bcc: string;
  subject: string;
  body: string;
  isMarkdown: boolean;
  files: readonly File[];
  answered: Schemas["Message"] | undefined;
  forwarded: Schemas["Message"] | undefined;
  toAll: boolean;
  /** Whether the recipient can unsubscribe with one click. */
  unsubscribe: boolean;
  /** When to send it, as the field of the browser has it; empty for now. */
  sendAt: string;
}

/** Sends the mail as JSON, or as a form if it has files. */
export function sendMail(mail: Mail, idempotencyKey: string): Promise<Schemas["SendResult"]> {
  const email = emailOf(mail);
  if (mail.files.length === 0) return inboxd.messages.send(mail.from, email, { idempotencyKey });
  const body = new FormData();
  body.append("message", new Blob([JSON.stringify(email)], { type: "application/json" }));
  for (const file of mail.files) body.append("attachments", file, file.name);
  return inboxd.request("POST", "/v1/inboxes/{id}/send", { path: { id: mail.from }, idempotencyKey, body });
}

function emailOf(mail: Mail): Schemas["NewEmail"] {
  const { subject, body, isMarkdown, answered, forwarded, toAll, unsubscribe, sendAt } = mail;
  const [to, cc, bcc] = [addressesIn(mail.to), addressesIn(mail.cc), addressesIn(mail.bcc)];
  return {
    ...(!toAll && { to: to.length > 1 ? to : (to[0] ?? "") }),
    ...(cc.length > 0 && { cc }),
    ...(bcc.length > 0 && { bcc }),
    ...(subject.trim() !== "" && { subject: subject.trim() }),
    ...(body !== "" || forwarded === undefined ? { body } : {}),
    ...(isMarkdown && { bodyFormat: "markdown" }),
    ...(answered && { threadId: answered.threadId, readUpToMessageId: answered.id }),
    ...(answered && toAll && { replyToMessageId: answered.id, replyAll: true }),
    ...(forwarded && { forwardOf: forwarded.id }),
    ...(unsubscribe && { unsubscribe }),
    ...(sendAt !== "" && { sendAt: new Date(sendAt).toISOString() }),
  };
}

/** Splits addresses at commas, semicolons and spaces. Takes the address out of `Jane <jane@example.com>`. */
export function addressesIn(text: string): string[] {
  const parts = text.split(/[,;\n]+/).map((part) => part.trim());
  return parts.flatMap((part) => {
    if (part === "") return [];
    const open = part.lastIndexOf("<");
    if (open !== -1 && part.endsWith(">")) return [part.slice(open + 1, -1).trim()];
    return part.split(/\s+/);
  });
}
