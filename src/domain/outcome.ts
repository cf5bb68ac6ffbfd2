import { cleanLine, replyAsLine } from "../standards/smtp-reply.ts";
import type { BounceType } from "./reports/report.ts";

/** The outcome of one attempt to relay a mail (contract §5.6), as a value and not an exception. */
export type RelayOutcome =
  /** The final dot got a 2xx reply: the next server is now responsible for the mail (RFC 5321 §6.1). */
  | { kind: "sent"; reply: string; providerMessageId: string | undefined }
  /**
   * Retry later. `maybeAccepted` is true if the whole mail was sent and no reply came: the next attempt may send a second copy with the same
   * Message-ID, so the caller logs it.
   */
  | { kind: "retry"; failure: Failure; maybeAccepted: boolean }
  /** A retry would not help. `isAboutRecipient` is true if a server refused the recipient, and its reply can concern no other. */
  | { kind: "failed"; failure: Failure; isAboutRecipient?: boolean };

export interface Failure {
  /** The code of the SMTP reply, or an equivalent one; `null` without a reply. */
  code: number | null;
  /** The enhanced code (RFC 3463), for example `5.1.1`. */
  enhancedCode: string | null;
  /** One clean line of at most 500 characters. */
  message: string;
}

/** A failure as a row stores it. */
export interface StoredFailure extends Failure {
  reason: FailureReason;
  /** The type of an immediate refusal, from the table of bounces, or `suppressed`. */
  type?: BounceType | "suppressed";
  /** True if the mail was canceled after an attempt without a reply. */
  mayHaveBeenSent?: true;
}

/** The failure to store for a mail that is not retried. */
export function failureFor({ kind, failure }: Exclude<RelayOutcome, { kind: "sent" }>): StoredFailure {
  return { ...failure, reason: kind === "failed" ? "refused" : "timed_out" };
}

/** A failure as one line: `451 4.7.1 Try later`. */
export function failureLine({ code, enhancedCode, message: text }: Failure): string {
  return cleanLine(code === null ? text : replyAsLine({ code, enhancedCode: enhancedCode ?? undefined, text }));
}

export const failureReasons = ["refused", "timed_out", "suppressed", "canceled"] as const;
export type FailureReason = (typeof failureReasons)[number];

/** The failure of a mail that its sender canceled. */
export const canceledFailure: StoredFailure = {
  code: null,
  enhancedCode: null,
  message: "Canceled before it was sent",
  reason: "canceled",
};
