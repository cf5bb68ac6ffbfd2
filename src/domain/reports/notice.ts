import type { BounceType, ReportKind } from "./report.ts";

/** What a relay tells of a mail that it took from us. */
export interface Notice {
  /** `unsubscribed` is no report: the recipient wants no more mail of this inbox. */
  kind: ReportKind | "unsubscribed";
  /** Of what bounced alone. */
  type: BounceType | undefined;
  code: number | undefined;
  enhancedCode: string | undefined;
  /** One clean line. */
  diagnostic: string | undefined;
  /** Whom it is about. Undefined where the relay can't tell: then it stands at the message, and is held against nobody. */
  recipient: string | undefined;
  /** He is who the header names: of a message to several it may be about another. */
  isNamedByHeader: boolean;
  remoteMta: string | undefined;
  reportingMta: string | undefined;
  occurredAt: Date | undefined;
  names: NoticeNames;
}

/** By which of its names the message is found, in this order. */
export interface NoticeNames {
  /** Its own id, which we put on the mail for the relay to repeat. */
  mark?: string | undefined;
  /** The envelope sender that it had. */
  returnPath?: string | undefined;
  /** Its Message-ID, or what the relay takes for it. */
  rfcMessageId?: string | undefined;
  /** The Message-ID that it went out with, ours or the one that the relay gave it: a name of it from then on. */
  wireMessageId?: string | undefined;
  /** What the relay calls it. */
  providerMessageId?: string | undefined;
}

/** Whether it names any mail at all. */
export function namesMail({ names }: Notice): boolean {
  return Object.values(names).some((name) => name !== undefined);
}

/** How long a relay may tell of a mail before we have written down that it took it. */
const earlyMs = 5 * 60_000;

/**
 * Whether a message that nobody knows of may still turn up. What an instant is not told of counts from when it came first, and so
 * does what says that it is yet to happen.
 */
export function mayBeEarly({ occurredAt }: Notice, firstCameAt: Date, now: Date): boolean {
  const sinceMs = Math.min(firstCameAt.getTime(), (occurredAt ?? firstCameAt).getTime());
  return now.getTime() - sinceMs < earlyMs;
}

/** Of notices that say the same of the same: the same text. */
export function noticeKey({ kind, recipient, names }: Notice): string {
  const { mark, returnPath, rfcMessageId, wireMessageId, providerMessageId } = names;
  return JSON.stringify([kind, recipient, mark, returnPath, rfcMessageId, wireMessageId, providerMessageId]);
}
