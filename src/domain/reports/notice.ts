import type { BounceType, ReportKind } from "./report.ts";

/** A notice of the relay about a mail that it accepted from us. */
export interface Notice {
  /** `unsubscribed` is no report: the recipient wants no more mail from this inbox. */
  kind: ReportKind | "unsubscribed";
  /** Only of a bounce. */
  type: BounceType | undefined;
  code: number | undefined;
  enhancedCode: string | undefined;
  /** One clean line. */
  diagnostic: string | undefined;
  /** Undefined if the relay does not name the recipient: the notice then counts for the message, and suppresses nobody. */
  recipient: string | undefined;
  /** Whether the recipient comes from a header of the mail. If the message has several, the notice may be about another one. */
  isNamedByHeader: boolean;
  remoteMta: string | undefined;
  reportingMta: string | undefined;
  occurredAt: Date | undefined;
  names: NoticeNames;
}

/** The names by which the message is found, in this order. */
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

/** Whether the notice names a mail. */
export function namesMail({ names }: Notice): boolean {
  return Object.values(names).some((name) => name !== undefined);
}

/** How long a notice may come before we have recorded that the relay accepted the mail. */
const earlyMs = 5 * 60_000;

/**
 * Whether a notice about an unknown message may only be early, so that the message may still become known. The time counts from the
 * instant in the notice, or from when the notice came first if that is earlier or the notice has no instant.
 */
export function mayBeEarly({ occurredAt }: Notice, firstCameAt: Date, now: Date): boolean {
  const sinceMs = Math.min(firstCameAt.getTime(), (occurredAt ?? firstCameAt).getTime());
  return now.getTime() - sinceMs < earlyMs;
}

/** A key that is the same for notices of the same content. */
export function noticeKey({ kind, recipient, names }: Notice): string {
  const { mark, returnPath, rfcMessageId, wireMessageId, providerMessageId } = names;
  return JSON.stringify([kind, recipient, mark, returnPath, rfcMessageId, wireMessageId, providerMessageId]);
}
