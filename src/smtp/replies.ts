import type { AcceptDecision, RecipientDecision, RefusedReason } from "./door.ts";

export interface Reply {
  code: number;
  /** RFC 3463; "" for none. */
  enhancedCode: string;
  text: string | readonly string[];
  /** The reason under which a refusal is counted. */
  reason?: RefusedReason;
}

/** The reply to RCPT. Only a certain refusal is permanent (5xx); otherwise the sender keeps the mail. */
export function replyToRecipient(decision: RecipientDecision): Reply {
  switch (decision.kind) {
    case "accept":
    case "return_path":
      return reply(250, "2.1.5", "Ok");
    case "unknown":
      return reply(550, "5.1.1", "No such inbox here", "unknown_recipient");
    case "disabled":
      return mailboxDisabled;
    case "suspended":
      return reply(450, "4.2.1", "The mailbox takes no mail for now, try again later", "suspended");
    case "full":
      return reply(452, "4.2.2", "The mailbox is full, try again later", "full");
    case "busy":
      return reply(450, "4.2.1", "The mailbox gets too many mails a minute, try again later", "busy");
    case "other_domain":
      return reply(550, "5.7.1", "Relaying denied", "other_domain");
    default:
      return reply(451, "4.3.0", "Cannot look up the recipient now, try again later", "unavailable");
  }
}

/** The reply to the final dot. With 250 we are responsible for the mail (RFC 5321 §6.1). */
export function replyToMail(decision: AcceptDecision): Reply {
  switch (decision.kind) {
    case "stored":
    case "quarantined":
      return reply(250, "2.0.0", "Ok: queued");
    case "gone":
      return reply(550, "5.1.1", "No such inbox here any more", "unknown_recipient");
    case "disabled":
      return mailboxDisabled;
    case "refused":
      return reply(550, "5.7.1", "The recipient takes no mail from this sender", "rejected");
    case "undecided":
      return reply(451, "4.7.0", "Cannot check the sender now, try again later", "unavailable");
    case "rejected":
      return reply(decision.code, decision.enhancedCode, decision.message, "rejected");
    default:
      return reply(451, "4.3.0", "Cannot store the mail now, try again later", "unavailable");
  }
}

const mailboxDisabled: Reply = {
  code: 550,
  enhancedCode: "5.2.1",
  text: "The mailbox is disabled",
  reason: "disabled",
};

export const tooBig = (maxBytes: number, reason: RefusedReason = "too_big"): Reply =>
  reply(552, "5.3.4", `The mail is larger than ${maxBytes} bytes`, reason);

export function reply(
  code: number,
  enhancedCode: string,
  text: string | readonly string[],
  reason?: RefusedReason,
): Reply {
  return reason === undefined ? { code, enhancedCode, text } : { code, enhancedCode, text, reason };
}

/** The lines of a reply on the wire (RFC 5321 §4.2.1); each line has the enhanced code (RFC 2034 §4). */
export function replyLines({ code, enhancedCode, text }: Reply): string {
  const prefix = enhancedCode === "" ? "" : `${enhancedCode} `;
  if (typeof text === "string") return `${code} ${prefix}${printable(text)}\r\n`;
  return text.map((line, i) => `${code}${i < text.length - 1 ? "-" : " "}${prefix}${printable(line)}\r\n`).join("");
}

/**
 * The enhanced code of a reply that smtp-server makes by itself. Its own codes depend on the client's command word, so a command
 * "TOO_MANY_RECIPIENTS" would be answered with `500 4.5.3`; and its 421 has "no answer from host" (4.4.2) for a session that misbehaves.
 */
export function enhancedCodeOf(code: number): string {
  if (code >= 300 && code < 400) return "";
  return libraryCodes.get(code) ?? `${Math.trunc(code / 100)}.0.0`;
}

const libraryCodes = new Map([
  [252, "2.5.0"],
  [421, "4.7.0"],
  [451, "4.3.0"],
  [500, "5.5.2"],
  [501, "5.5.4"],
  [503, "5.5.1"],
]);

/** The text in printable ASCII, so that no part of it starts another line. */
const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, " ");
