import type { SMTPError } from "nodemailer/lib/smtp-connection";
import type { Failure } from "../domain/outcome.ts";
import { cleanLine, parseSmtpReply, type SmtpReply } from "../standards/smtp-reply.ts";
import { Lost } from "./smtp-conversation.ts";

/** Why there is no session. Never final for a mail: a server that refuses everybody says nothing about this mail. */
export class SmtpTrouble extends Error {
  readonly failure: Failure;
  readonly tlsFailed: boolean;

  constructor(failure: Failure, tlsFailed = false) {
    super(failure.message);
    this.name = "SmtpTrouble";
    this.failure = failure;
    this.tlsFailed = tlsFailed;
  }
}

/** The reply that is about this mail: the one to its envelope or content, or the 421 that may come at any time. */
export function verdictIn(error: unknown): SmtpReply | undefined {
  const reply = replyIn(error);
  const { command } = error as Partial<SMTPError>;
  return reply?.code === 421 || ["MAIL FROM", "RCPT TO", "DATA"].includes(String(command)) ? reply : undefined;
}

/** Whatever the server answered that made an error. */
export function replyIn(error: unknown): SmtpReply | undefined {
  const response = (error as Partial<SMTPError>).response;
  // A 2xx or 3xx where it makes no sense is garbage too.
  const reply = typeof response === "string" ? parseSmtpReply(response) : undefined;
  return reply && reply.code >= 400 ? reply : undefined;
}

/** What is kept of a failure: the reply's codes, and its text or ours. */
export function failureOf(reply: SmtpReply | undefined, message: string): Failure {
  const line = cleanLine(message);
  return {
    code: reply?.code ?? null,
    enhancedCode: reply?.enhancedCode ?? null,
    message: line === "" ? "The server gave no reason" : line,
  };
}

/** The connection ended without a word. */
export function isLost(error: unknown): boolean {
  if (error instanceof Lost) return true;
  const { code } = error as Partial<SMTPError>;
  return code === "ECONNECTION" || code === "ESOCKET";
}

/** The library refuses addresses that could smuggle commands; ours are validated long before. */
export function isBadEnvelope(error: unknown): boolean {
  const { code, command } = error as Partial<SMTPError>;
  return code === "EENVELOPE" && command === "API";
}

/** An error in words that help an operator, none of them the server's; the library's own text where we know no better. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown trouble";
  const { code, originalCode, message, response } = error as SMTPError;
  const known = reasons[String(originalCode ?? code)] ?? reasons[String(code)];
  // Behind its own text the library puts what the server said.
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
