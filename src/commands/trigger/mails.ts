import type { Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import type { Mailbox, OutgoingMail } from "../../domain/message.ts";
import { replySubject, withTextQuote } from "../../domain/quote.ts";
import { composeMail, composeStream } from "../../mail/write/compose.ts";
import type { TimeAndChance } from "../../service/time-and-chance.ts";
import { invoicePdf } from "./invoice-pdf.ts";

/** A mail, and the facts about it for a person. */
export interface MadeMail {
  raw: Uint8Array;
  from: string;
  subject: string;
  shown: object;
}

const jane: Mailbox = { address: "jane@example.com", name: "Jane Doe" };

/** A first mail, for an inbox that has sent nothing. */
export async function question(inbox: string, world: TimeAndChance): Promise<MadeMail> {
  const bodyText = "Hello,\n\nis order 4711 on its way yet? I would need it by Friday.\n\nBest regards\nJane\n";
  return made({ from: jane, inbox, subject: "Where is my order?", bodyText }, world);
}

/** A reply to a sent mail by its first recipient, below whose text the mail is quoted. */
export async function replyTo(message: Schemas["Message"], inbox: string, world: TimeAndChance): Promise<MadeMail> {
  const [recipient] = message.recipients;
  const from: Mailbox = recipient
    ? { address: recipient.address, ...(recipient.name !== null && { name: recipient.name }) }
    : jane;
  const messageId = message.rfcMessageId.replace(/^<|>$/g, "");
  const author: Mailbox = {
    address: message.fromAddr,
    ...(message.fromName !== null && { name: message.fromName }),
  };
  const bodyText = withTextQuote("Thank you, that helps. Could you also send me the invoice?\n\nBest regards", {
    from: author,
    at: new Date(message.createdAt),
    bodyText: message.bodyText,
    bodyHtml: undefined,
  });
  const thread = { inReplyTo: messageId, references: [messageId] };
  return made({ from, inbox, subject: replySubject(message.subject), bodyText, ...thread }, world, {
    answers: message.id,
  });
}

/** The mail of a sign-up, with a code of six digits and a link to confirm. */
export async function codeMail(inbox: string, world: TimeAndChance): Promise<MadeMail> {
  const code = digits(world, 6);
  const link = `https://acme.example/verify?token=${world.randomBytes(16).toHex()}`;
  const from: Mailbox = { address: "no-reply@acme.example", name: "Acme" };
  const bodyText = `Welcome to Acme!\n\nYour verification code is ${code}. It is valid for 10 minutes.\n\nOr confirm your email address here:\n${link}\n\nIf you did not sign up, ignore this mail.\n`;
  const bodyHtml = `<!doctype html>
<html><body style="font-family: sans-serif">
<h1>Welcome to Acme!</h1>
<p>Your verification code is</p>
<p style="font-size: 28px; letter-spacing: 4px"><b>${code}</b></p>
<p>It is valid for 10 minutes. Or <a href="${link}">confirm your email address</a>.</p>
<p>If you did not sign up, ignore this mail.</p>
</body></html>
`;
  return made(
    { from, inbox, subject: "Confirm your email address", bodyText, bodyHtml, autoSubmitted: "auto-generated" },
    world,
    { code, link },
  );
}

/** A mail with an invoice as PDF. */
export async function invoiceMail(inbox: string, world: TimeAndChance): Promise<MadeMail> {
  const number = `2026-${digits(world, 4)}`;
  const filename = `invoice-${number}.pdf`;
  const pdf = invoicePdf([
    `Invoice ${number}`,
    "Acme Inc., 1 Example Street",
    `To: ${inbox}`,
    "2 hours of consulting      200.00 EUR",
    "Total                      200.00 EUR",
    "Due in 14 days",
  ]);
  const from: Mailbox = { address: "billing@acme.example", name: "Acme Billing" };
  const bodyText = `Hello,\n\nplease find attached invoice ${number} of 200.00 EUR, due in 14 days.\n\nBest regards\nAcme Billing\n`;
  return made({ from, inbox, subject: `Invoice ${number}`, bodyText, file: { filename, bytes: pdf } }, world, {
    file: filename,
  });
}

interface Written extends Pick<OutgoingMail, "subject" | "bodyText"> {
  from: Mailbox;
  inbox: string;
  bodyHtml?: string;
  inReplyTo?: string;
  references?: readonly string[];
  autoSubmitted?: OutgoingMail["autoSubmitted"];
  file?: { filename: string; bytes: Uint8Array };
}

async function made(
  { from, inbox, bodyHtml, inReplyTo, references = [], autoSubmitted, file, ...written }: Written,
  { now, randomBytes }: TimeAndChance,
  shown: object = {},
): Promise<MadeMail> {
  const mail: OutgoingMail = {
    ...written,
    messageId: `${randomBytes(16).toHex()}@${from.address.split("@").at(-1)}`,
    date: now(),
    from,
    to: [{ address: inbox }],
    cc: [],
    replyTo: undefined,
    bodyHtml,
    inReplyTo,
    references,
    autoSubmitted,
    headers: [],
    attachments: file === undefined ? [] : [attached(file)],
  };
  const raw = file === undefined ? composeMail(mail) : await collected(composeStream(mail, () => once(file.bytes)));
  return { raw, from: from.address, subject: mail.subject, shown };
}

function attached({ filename, bytes }: { filename: string; bytes: Uint8Array }): OutgoingMail["attachments"][number] {
  const inline = { inline: false, contentId: undefined };
  return { filename, contentType: "application/pdf", ...inline, sizeBytes: bytes.length, sourceId: "", part: 0 };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function collected(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  return Buffer.concat(await Array.fromAsync(pieces));
}

/** Random digits, the first of them not 0. */
function digits({ randomBytes }: TimeAndChance, count: number): string {
  const [first = 0, ...others] = randomBytes(count);
  return [1 + (first % 9), ...others.map((byte) => byte % 10)].join("");
}
