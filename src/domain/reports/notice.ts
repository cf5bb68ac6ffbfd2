import type { BounceType, ReportKind } from "./report.ts";

/** A notice of the relay about a mail that it accepted from us. */
export interface Notice {
  /** `unsubscribed` is no report: the recipient wants no more mail from this inbox. */
  kind: ReportKind | "unsubscribed";
  /** Defined only for a bounce. */
  type: BounceType | undefined;
  code: number | undefined;
  enhancedCode: string | undefined;
  /** The server's text as one clean line. */
  diagnostic: string | undefined;
  /** Undefined if the relay does not name the recipient. The notice then counts for the message as a whole, and suppresses nobody. */
  recipient: string | undefined;
  /** Whether the recipient comes from a header of the mail. It is then ignored if the message has several, which may be meant as well. */
  isNamedByHeader: boolean;
  remoteMta: string | undefined;
  reportingMta: string | undefined;
  occurredAt: Date | undefined;
  names: NoticeNames;
}

/** The names by which the message of a notice is found. They are tried in this order. */
export interface NoticeNames {
  /** Our id of the message, which we send in a header and the relay repeats in its notices. */
  mark?: string | undefined;
  /** The envelope sender of the mail. */
  returnPath?: string | undefined;
  /** The Message-ID, as the relay has it. */
  rfcMessageId?: string | undefined;
  /** The Message-ID with which the relay sent the mail. If it is not ours, it is stored as another name of the message. */
  wireMessageId?: string | undefined;
  /** The relay's own id of the mail. */
  providerMessageId?: string | undefined;
}

/** Whether the notice has at least one name of a mail. */
export function namesMail({ names }: Notice): boolean {
  return Object.values(names).some((name) => name !== undefined);
}

/** The most time between a notice and our record that the relay accepted the mail, if the notice comes first. */
const earlyMs = 5 * 60_000;

/**
 * Whether a notice about an unknown message may have come too early, so that the message may still become known. It may for five minutes
 * after the instant in the notice, or after it first came if that is earlier or the notice has no instant.
 */
export function mayBeEarly({ occurredAt }: Notice, firstCameAt: Date, now: Date): boolean {
  const sinceMs = Math.min(firstCameAt.getTime(), (occurredAt ?? firstCameAt).getTime());
  return now.getTime() - sinceMs < earlyMs;
}

/** A key for a notice. Two notices have the same key if their kind, recipient and names are equal. */
export function noticeKey({ kind, recipient, names }: Notice): string {
  const { mark, returnPath, rfcMessageId, wireMessageId, providerMessageId } = names;
  return JSON.stringify([kind, recipient, mark, returnPath, rfcMessageId, wireMessageId, providerMessageId]);
}
