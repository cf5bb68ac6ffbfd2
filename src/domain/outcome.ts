import { cleanLine, replyAsLine } from "../standards/smtp-reply.ts";
import type { BounceType } from "./reports/report.ts";

/** The result of one attempt to relay a mail (contract §5.6). A value, never an exception. */
export type RelayOutcome = Result & {
  /** The server that was offered the mail; missing if none was reached, or if the mail did not leave this service. */
  server?: MailServer | undefined;
};

type Result =
  /** The server answered 2xx to the final dot: it is now responsible for the mail (RFC 5321 §6.1). */
  | { kind: "sent"; reply: string; providerMessageId: string | undefined }
  /**
   * Try again later. `maybeAccepted`: the server may have accepted the mail, but its answer did not arrive. The next attempt may then
   * send a second copy with the same Message-ID. That attempt is logged.
   */
  | { kind: "retry"; failure: Failure; maybeAccepted: boolean }
  /** Trying again is useless. `isAboutRecipient`: a server refused this recipient, in an answer that is about no other recipient. */
  | { kind: "failed"; failure: Failure; isAboutRecipient?: boolean };

/** A mail server, as an attempt has found it. */
export interface MailServer {
  host: string;
  /** The version of TLS, as `TLSv1.3`; null without TLS. */
  tls: string | null;
}

export interface Failure {
  /** The code of the SMTP reply. A failure without a reply has the code that a server would have sent, or `null`. */
  code: number | null;
  /** The enhanced code (RFC 3463), for example `5.1.1`. */
  enhancedCode: string | null;
  /** The reason as one clean line of at most 500 characters. */
  message: string;
}

/** A failure as a row keeps it. */
export interface StoredFailure extends Failure {
  reason: FailureReason;
  /** If an SMTP reply refused the mail: the same types as for a bounce. `suppressed` if the recipient is suppressed. */
  type?: BounceType | "suppressed";
  /** Set if the answer to an earlier attempt did not arrive, so that the server may have accepted the mail. It is shown if it was canceled. */
  mayHaveBeenSent?: true;
}

/** The failure to store for a mail that is not tried again. */
export function failureFor({ kind, failure }: Exclude<RelayOutcome, { kind: "sent" }>): StoredFailure {
  return { ...failure, reason: kind === "failed" ? "refused" : "timed_out" };
}

/** A failure as one line: `451 4.7.1 Try later`. */
export function failureLine({ code, enhancedCode, message: text }: Failure): string {
  return cleanLine(code === null ? text : replyAsLine({ code, enhancedCode: enhancedCode ?? undefined, text }));
}

/** The reasons of a failure. Those after `canceled` are only of mail that was to be sent later, which had no attempt. */
export const failureReasons = [
  "refused",
  "timed_out",
  "suppressed",
  "canceled",
  "limit",
  "disabled",
  "replied",
  "rejected",
  "expired",
  "gone",
] as const;
export type FailureReason = (typeof failureReasons)[number];

/** The failure of a canceled mail. */
export const canceledFailure = unsentFailure("canceled", "Canceled before it was sent");

/** The failure of a mail that no server was offered. */
export function unsentFailure(reason: FailureReason, message: string): StoredFailure {
  return { code: null, enhancedCode: null, message, reason };
}
