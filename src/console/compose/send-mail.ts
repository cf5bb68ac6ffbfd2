import { ask, type Schemas } from "../api.ts";

interface Mail {
  /** Id of the inbox. */
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
}

/** Files go as a form, all else as JSON: with one recipient as the service has always taken it. */
export function sendMail(mail: Mail, idempotencyKey: string): Promise<Schemas["SendResult"]> {
  const email = emailOf(mail);
  const asked = { path: { id: mail.from }, idempotencyKey };
  if (mail.files.length === 0) return ask("POST", "/v1/inboxes/{id}/send", { ...asked, body: email });
  const form = new FormData();
  form.append("message", new Blob([JSON.stringify(email)], { type: "application/json" }));
  for (const file of mail.files) form.append("attachments", file, file.name);
  return ask("POST", "/v1/inboxes/{id}/send", { ...asked, body: form });
}

function emailOf({ to, cc, bcc, subject, body, isMarkdown, answered, forwarded, toAll }: Mail) {
  const [onlyOne, ...others] = addressesIn(to);
  const copies = { cc: addressesIn(cc), bcc: addressesIn(bcc) };
  return {
    ...(!toAll && { to: others.length === 0 ? (onlyOne ?? "") : [onlyOne, ...others] }),
    ...(copies.cc.length > 0 && { cc: copies.cc }),
    ...(copies.bcc.length > 0 && { bcc: copies.bcc }),
    ...(subject.trim() !== "" && { subject: subject.trim() }),
    ...(body !== "" || forwarded === undefined ? { body } : {}),
    ...(isMarkdown && { bodyFormat: "markdown" }),
    ...(answered && { threadId: answered.threadId, readUpToMessageId: answered.id }),
    ...(answered && toAll && { replyToMessageId: answered.id, replyAll: true }),
    ...(forwarded && { forwardOf: forwarded.id }),
  };
}

/** As people write them down: with commas, semicolons or spaces between; of `Jane <jane@example.com>` the address. */
export function addressesIn(text: string): string[] {
  const parts = text.split(/[,;\n]+/).map((part) => part.trim());
  return parts.flatMap((part) => {
    if (part === "") return [];
    const open = part.lastIndexOf("<");
    if (open !== -1 && part.endsWith(">")) return [part.slice(open + 1, -1).trim()];
    return part.split(/\s+/);
  });
}
