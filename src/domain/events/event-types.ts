import type { FailedReason } from "../domains/domain-states.ts";
import type { DomainStatus } from "../domains/readiness.ts";
import type { recordTypes } from "../domains/records.ts";
import type { SeenRecord } from "../domains/seen-record.ts";
import type { StoredFailure } from "../outcome.ts";
import type { QuarantineReason } from "../policy.ts";
import type { BounceType, ReportKind } from "../reports/report.ts";
import type { ReportProof, ReportSource } from "../reports/reported-message.ts";
import type { Approval } from "../send/approval.ts";
import type { RecipientOutcome } from "../send/recipients/recipient-outcome.ts";

/** All types of events, in the order of the documentation. A new type needs an entry of `EventData` too. */
export const eventTypes = [
  "message.received",
  "message.sent",
  "message.failed",
  "inbox.created",
  "inbox.deleted",
  "webhook.disabled",
  "message.delayed",
  "message.delivered",
  "message.bounced",
  "message.complained",
  "message.blocked",
  "suppression.added",
  "domain.verified",
  "domain.failing",
  "domain.failed",
  "approval.requested",
  "approval.resolved",
] as const;

export type EventType = (typeof eventTypes)[number];

/** The facts that the row of an event keeps, by type. They are kept because the rows that the event is about may change or be deleted. */
export interface EventData {
  "message.received": null;
  "message.sent": SentMessage;
  "message.failed": FailedMessage;
  "inbox.created": InboxFacts;
  "inbox.deleted": InboxFacts;
  "webhook.disabled": DisabledWebhook;
  "message.delayed": ReportData;
  "message.delivered": ReportData;
  "message.bounced": ReportData;
  "message.complained": ReportData;
  "message.blocked": BlockedMail;
  "suppression.added": AddedSuppression;
  "domain.verified": ChangedDomain;
  "domain.failing": ChangedDomain;
  "domain.failed": ChangedDomain;
  "approval.requested": RequestedApproval;
  "approval.resolved": ResolvedApproval;
}

/** The row of a new event. */
export type NewEvent<Types extends EventType = EventType> = {
  [Type in Types]: EventFacts & { type: Type; data: EventData[Type] };
}[Types];

interface EventFacts {
  id: string;
  accountId: string;
  /** Null if the event is about no inbox. */
  inboxId: string | null;
  threadId: string | null;
  /** The message that it is about, or the draft of one. Null for none. */
  messageId: string | null;
  occurredAt: Date;
}

export interface SentMessage {
  status: "sent";
  /** Null if the relay gave the mail no id. */
  providerMessageId: string | null;
  /** All recipients, with their status at that time. */
  recipients: readonly RecipientOutcome[];
}

export interface FailedMessage extends Omit<SentMessage, "status"> {
  /** `sent` if the message reached other recipients. */
  status: "sent" | "failed";
  failure: StoredFailure;
  /** Set if it ended while it waited for a person. Its payload has no text and no files then. */
  isUnapproved?: boolean;
}

export interface InboxFacts {
  address: string;
  externalId: string | null;
  /** ISO 8601. */
  createdAt: string;
}

export interface DisabledWebhook {
  webhookId: string;
  url: string;
  reason: "gone" | "failing" | "manual";
}

/** A report about a message, as it was when the report came. */
export interface ReportData {
  /** Null if the relay gave the mail no id. */
  providerMessageId: string | null;
  report: {
    id: string;
    kind: ReportKind;
    type: BounceType | null;
    /** Null if the report names none of the message's recipients. */
    recipient: string | null;
    code: number | null;
    enhancedCode: string | null;
    diagnostic: string | null;
    source: ReportSource;
    proof: ReportProof;
    suppressed: boolean;
  };
}

/** A mail that went into the quarantine. */
export interface BlockedMail {
  id: string;
  reason: QuarantineReason;
  /** Only for the reason `rule`. */
  ruleId: string | null;
  from: string;
  to: string;
  subject: string;
}

/** A domain with its new status, and its records as the last check found them. */
export interface ChangedDomain {
  domain: {
    id: string;
    name: string;
    status: DomainStatus;
    sending: "ready" | "not_ready";
    receiving: "ready" | "not_ready";
    /** Null unless the domain failed. */
    reason: FailedReason | null;
  };
  records: readonly (Pick<SeenRecord, "purpose" | "name" | "problem"> & {
    type: (typeof recordTypes)[number];
    status: SeenRecord["status"] | "unchecked";
  })[];
}

/** A suppression that the service added by itself, and the message that caused it. */
export interface AddedSuppression {
  /** Null if the relay gave the mail no id. */
  providerMessageId: string | null;
  suppression: {
    id: string;
    address: string;
    /** Null for the whole account. */
    inboxId: string | null;
    reason: "bounce" | "complaint" | "unsubscribe";
    /** ISO 8601; null if it has no end. */
    expiresAt: string | null;
  };
}

/** A mail that a person must approve, as it was when it was asked for. Its text and its files are read from its draft. */
export interface RequestedApproval extends Pick<Approval, "reasons" | "newRecipients" | "requestedAt" | "expiresAt"> {
  id: string;
  version: number;
  from: string;
  to: readonly string[];
  cc: readonly string[];
  bcc: readonly string[];
  subject: string;
  metadata: Readonly<Record<string, string>>;
  /** ISO 8601; null if it is sent once it is approved. */
  sendAt: string | null;
}

/** A decision about a mail, or another end of its waiting. */
export interface ResolvedApproval extends Pick<Approval, "decision" | "decidedBy" | "decidedAt" | "reason" | "edited"> {
  id: string;
  version: number;
}

/** Whether an event is about a message, or the draft of one. Such an event leaves the log when its inbox is deleted. */
export function isOfMessage(type: string): boolean {
  return /^(?:message|approval)\./.test(type) ? !isOfQuarantine(type) : type === "suppression.added";
}

/** Whether an event is about a quarantined mail, which is no message. Like an event of a message, it leaves the log when its inbox is deleted. */
export function isOfQuarantine(type: string): boolean {
  return type === "message.blocked";
}

/** The type in a subscription that stands for all types. */
export const everyEvent = "*";

/** The types of a subscription without a list of types. */
export const defaultEventTypes: readonly string[] = ["message.received"];

/** Whether a caller may subscribe to a type. */
export function isAskableType(name: string): boolean {
  return name === everyEvent || eventTypes.some((type) => type === name);
}
