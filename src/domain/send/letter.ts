import { truncateCodePoints } from "../../standards/text.ts";
import type { Recipient } from "./recipients/entries.ts";

/** A mail that waits for approval, as a letter shows it. */
export interface LetteredMail {
  from: string;
  recipients: readonly Recipient[];
  newRecipients: readonly string[];
  subject: string;
  text: string;
  /** The number of its attachments. */
  files: number;
  /** The page on which the approver decides. */
  link: string;
  expiresAt: Date;
}

/** The shortest time between two letters to an approver. Mail that begins to wait meanwhile is gathered in the second one. */
export const letterPauseMs = 60_000;

/** The most mails in a letter. The next letter has the others. */
export const mostInLetter = 20;

/** The outcomes of attempts to send a letter. `dropped`: nothing of it waits for its approver any more. */
export const letterOutcomes = ["sent", "put_off", "host_busy", "failed", "dropped"] as const;
export type LetterOutcome = (typeof letterOutcomes)[number];

const shownCharacters = 2_000;

/** The subject and the text of a letter about these mails. */
export function letterAbout(mails: readonly LetteredMail[]): { subject: string; text: string } {
  const [first] = mails;
  const subject =
    mails.length === 1 && first !== undefined
      ? `Approval needed: ${first.subject}`
      : `Approval needed for ${mails.length} mails`;
  const parts = mails.map((mail) => part(mail));
  return { subject, text: `${parts.join(`\n${"-".repeat(72)}\n\n`)}\n${ending}` };
}

const ending = `Who has a link can decide, so do not pass this letter on. Opening a link changes
nothing. A mail about which nobody decides is not sent.
`;

function part({ from, recipients, newRecipients, subject, text, files, link, expiresAt }: LetteredMail): string {
  const fresh = new Set(newRecipients);
  const people = (type: Recipient["type"]) =>
    recipients
      .filter((recipient) => recipient.type === type)
      .map(({ address }) => (fresh.has(address) ? `${address} (new recipient)` : address))
      .join(", ");
  const field = (name: string, value: string) => (value === "" ? "" : `${name}: ${value}\n`);
  return `This mail waits for your approval:

${field("From", from)}${field("To", people("to"))}${field("Cc", people("cc"))}${field("Bcc", people("bcc"))}${field("Subject", subject)}${field("Files", files === 0 ? "" : String(files))}
${quoted(text)}
See all of it, and approve or reject it until ${utc(expiresAt)}:
${link}
`;
}

/** The beginning of a text, with a mark before each line: so nothing in it looks like a part of the letter. */
function quoted(text: string): string {
  const shown = truncateCodePoints(text.trimEnd(), shownCharacters);
  const lines = shown
    .split(/\r\n|[\n\r\u000b\u000c\u0085\u2028\u2029]/)
    .map((line) => (line === "" ? ">" : `> ${line}`));
  return `${lines.join("\n")}\n${shown.length < text.trimEnd().length ? "(cut here)\n" : ""}`;
}

function utc(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
