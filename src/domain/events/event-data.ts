import type { StoredFailure } from "../outcome.ts";
import type { BounceType, ReportKind } from "../reports/report.ts";
import type { ReportProof, ReportSource } from "../reports/reported-message.ts";
import type { RecipientOutcome } from "../send/recipients/recipient-outcome.ts";

/** What an event keeps of what it tells, because the rows that it speaks of change or go: for each type its own. */
export type EventData = MessageOutcome | ToldInbox | DisabledWebhook | ReportData | AddedSuppression;

/** Of `message.sent` and `message.failed`: the message, and what had come of it then. */
export interface MessageOutcome {
  messageId: string;
  status: "sent" | "failed";
  /** Null where the relay named none. */
  providerMessageId: string | null;
  failure?: StoredFailure;
  /** Where there are several, or one has a name: what had come of each then. */
  recipients?: readonly RecipientOutcome[];
}

/** Of `suppression.added`: what the service has suppressed by itself, and the message that it came of. */
export interface AddedSuppression {
  messageId: string;
  /** Null where the relay named none. */
  providerMessageId: string | null;
  suppression: {
    id: string;
    address: string;
    /** Null: the whole account. */
    inboxId: string | null;
    reason: "bounce" | "complaint" | "unsubscribe";
    /** As JSON has it; null: it has no end. */
    expiresAt: string | null;
  };
}

/** Of `inbox.created` and `inbox.deleted`. The instant as JSON has it. */
export interface ToldInbox {
  address: string;
  externalId: string | null;
  createdAt: string;
}

/** Of `webhook.disabled`. */
export interface DisabledWebhook {
  webhookId: string;
  url: string;
  reason: "gone" | "failing" | "manual";
}

/** Of what came back about a message: the report as it was then. */
export interface ReportData {
  messageId: string;
  providerMessageId: string | null;
  report: {
    id: string;
    kind: ReportKind;
    type: BounceType | null;
    /** Null where it stands at the message. */
    recipient: string | null;
    code: number | null;
    enhancedCode: string | null;
    diagnostic: string | null;
    source: ReportSource;
    proof: ReportProof;
    suppressed: boolean;
  };
}
