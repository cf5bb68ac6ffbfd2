import { cleanLine, replyAsLine } from "../standards/smtp-reply.ts";
import type { BounceType } from "./reports/report.ts";

/** What one attempt to relay a mail came to (contract §5.6). A value, never an exception. */
export type RelayOutcome =
  /** 2xx to the final dot: the mail is now the next server's charge (RFC 5321 §6.1). */
  | { kind: "sent"; reply: string; providerMessageId: string | undefined }
  /**
   * Try again later. `maybeAccepted` says that the whole mail had gone out and no answer came back: the next attempt
   * may be a second copy, with the same Message-ID, so whoever tries again should log it.
   */
  | { kind: "retry"; failure: Failure; maybeAccepted: boolean }
  /**
   * Trying again would change nothing. `isAboutRecipient`: a server said so of the recipient, and could mean nobody else.
   */
  | { kind: "failed"; failure: Failure; isAboutRecipient?: boolean };

export interface Failure {
  /** The code of the SMTP reply, or the one that such a reply would have had; `null` where nobody answered. */
  code: number | null;
  /** RFC 3463, for example `5.1.1`. */
  enhancedCode: string | null;
  /** One clean line of at most 500 characters. */
  message: string;
}

/** A failure as a row stores it. */
export interface StoredFailure extends Failure {
  reason: FailureReason;
  /** Of a refusal at once, by the table that bounces go by; or that the recipient is suppressed. */
  type?: BounceType | "suppressed";
  /** It was canceled, and an attempt before that ended without an answer. */
  mayHaveBeenSent?: true;
}

/** As it is kept of what is not tried again. */
export function failureFor({ kind, failure }: Exclude<RelayOutcome, { kind: "sent" }>): StoredFailure {
  return { ...failure, reason: kind === "failed" ? "refused" : "timed_out" };
}

/** What an attempt met with, as one line: `451 4.7.1 Try later`. */
export function failureLine({ code, enhancedCode, message: text }: Failure): string {
  return cleanLine(code === null ? text : replyAsLine({ code, enhancedCode: enhancedCode ?? undefined, text }));
}

export const failureReasons = ["refused", "timed_out", "suppressed", "canceled"] as const;
export type FailureReason = (typeof failureReasons)[number];

/** Of a mail that its sender took back. */
export const canceledFailure: StoredFailure = {
  ...{ code: null, enhancedCode: null, message: "Canceled before it was sent" },
  reason: "canceled",
};
