import type { SMTPError } from "nodemailer/lib/smtp-connection";
import type { Failure, MailServer } from "../domain/outcome.ts";
import { cleanLine, parseSmtpReply, type SmtpReply } from "../standards/smtp-reply.ts";
import { Lost } from "./smtp-conversation.ts";

/**
 * Thrown if there is no SMTP session for a mail: none could be opened, or none became free in time. The mail is always
 * retried, because the failure is not about the mail itself.
 */
export class SmtpTrouble extends Error {
  readonly failure: Failure;
  readonly tlsFailed: boolean;
  /** The server with which no session could be opened. */
  readonly server: MailServer | undefined;

  constructor(failure: Failure, tlsFailed = false, server?: MailServer) {
    super(failure.message);
    this.name = "SmtpTrouble";
    this.failure = failure;
    this.tlsFailed = tlsFailed;
    this.server = server;
  }
}

/** The reply to the envelope or the content of this mail, or a 421, which may come at any time. */
export function verdictIn(error: unknown): SmtpReply | undefined {
  const reply = replyIn(error);
  const { command } = error as Partial<SMTPError>;
  return reply?.code === 421 || ["MAIL FROM", "RCPT TO", "DATA"].includes(String(command)) ? reply : undefined;
}

/** The reply of 400 or above in this error. */
export function replyIn(error: unknown): SmtpReply | undefined {
  const response = (error as Partial<SMTPError>).response;
  // A 2xx or 3xx in an error is out of place, so it counts as malformed.
  const reply = typeof response === "string" ? parseSmtpReply(response) : undefined;
  return reply && reply.code >= 400 ? reply : undefined;
}

/** The failure to store: the codes of the reply, or null without one, and the message as one line. */
export function failureOf(reply: SmtpReply | undefined, message: string): Failure {
  const line = cleanLine(message);
  return {
    code: reply?.code ?? null,
    enhancedCode: reply?.enhancedCode ?? null,
    message: line === "" ? "The server gave no reason" : line,
  };
}

/** Whether the connection ended without a reply. */
export function isLost(error: unknown): boolean {
  if (error instanceof Lost) return true;
  const { code } = error as Partial<SMTPError>;
  return code === "ECONNECTION" || code === "ESOCKET";
}

/**
 * Whether the library refused the envelope, because an address in it could smuggle commands. Our addresses are validated
 * long before.
 */
export function isBadEnvelope(error: unknown): boolean {
  const { code, command } = error as Partial<SMTPError>;
  return code === "EENVELOPE" && command === "API";
}

/** Describes an error for an operator, without text from the server. Unknown errors keep the library's text. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown trouble";
  const { code, originalCode, message, response } = error as SMTPError;
  const known = reasons[String(originalCode ?? code)] ?? reasons[String(code)];
  // The library appends the server's text to its own message.
  return known ?? (response === undefined ? message : "the server's answer is no SMTP reply");
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset by the server",
  EPIPE: "connection reset by the server",
  ECONNECTION: "connection closed by the server",
  EHOSTUNREACH: "host unreachable",
  ENETUNREACH: "network unreachable",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "the name server gives no answer",
  ETIMEDOUT: "no answer in time",
};
