import type { Actor } from "./access/actor.ts";
import type { EventData, EventType } from "./events/event-types.ts";
import { instantOfId } from "./ids.ts";
import type { StoredFailure } from "./outcome.ts";
import type { Authentication, Verdict } from "./receive/authentication.ts";
import type { KeptReport } from "./reports/reported-message.ts";
import type { Approval, ApprovalNeed, Decider } from "./send/approval.ts";
import type { Draft } from "./send/draft.ts";
import type { RecipientAttempt } from "./send/recipient-attempt.ts";

/** The rows that tell what became of a message. */
export interface HistoryFacts {
  /** Undefined if the message was not sent. */
  message: HistoryMessage | undefined;
  /** Undefined if it was sent without one. */
  draft: HistoryDraft | undefined;
  /** Empty for an inbound message. */
  recipients: readonly TriedRecipient[];
  events: readonly LoggedEvent[];
  reports: readonly KeptReport[];
  /** The attempts to deliver its events to webhook endpoints. */
  deliveries: readonly EventDelivery[];
  /** The times when its thread was marked as read or unread since it arrived. */
  marks: readonly ThreadMark[];
}

export interface HistoryMessage {
  id: string;
  direction: "inbound" | "outbound";
  createdAt: Date;
  sourceId: string | null;
  envelopeFrom: string | null;
  toAddr: string;
  authentication: Authentication | null;
}

/** The draft that became the message, or whose sending was accepted. */
export type HistoryDraft = Pick<Draft, "createdAt" | "acceptedAt" | "sendAt" | "updatedAt" | "approval" | "failure">;

export interface TriedRecipient {
  address: string;
  /** Null before the first attempt. */
  attempts: readonly RecipientAttempt[] | null;
}

export type LoggedEvent = {
  [Type in EventType]: { id: string; type: Type; occurredAt: Date; data: EventData[Type] };
}[EventType];

export interface EventDelivery {
  eventId: string;
  event: EventType;
  /** Null for a deleted default endpoint. */
  webhookId: string | null;
  attempt: number;
  attemptedAt: Date;
  status: number | null;
  error: string | null;
}

export interface ThreadMark {
  at: Date;
  isRead: boolean;
  by: MarkedBy | null;
}

/** The actor that marked the thread, as the audit names it. */
export interface MarkedBy extends Pick<Actor, "type" | "id"> {
  name: string | null;
}

/** One step in the life of a message. `eventId` is its event in the log, if the log has one. */
export type HistoryEntry = { at: Date; eventId: string | null } & (
  | { what: "drafted" | "accepted" | "parsed_later" | "sent" }
  | { what: "scheduled"; sendAt: Date }
  | ({ what: "approval_requested" } & ApprovalNeed)
  | ({ what: "approved" | "rejected"; by: Decider | null } & Pick<Approval, "reason">)
  | {
      what: "received";
      envelope: { from: string; to: string };
      /** The address of the host that sent it, and the verdict about its sender; null if it was not checked. */
      clientAddress: string | null;
      verdict: Verdict | null;
    }
  | ({ what: "attempted"; recipient: string } & Omit<RecipientAttempt, "at">)
  | { what: "failed"; failure: StoredFailure }
  | ({ what: KeptReport["kind"]; reportId: string; recipient: string | null } & Pick<
      KeptReport,
      "type" | "code" | "enhancedCode" | "diagnostic" | "source"
    >)
  | ({ what: "told" } & Pick<EventDelivery, "event" | "webhookId" | "attempt" | "status" | "error">)
  | { what: "read" | "unread"; by: MarkedBy | null }
);

/** Steps of the same instant are listed in this order. */
const order: readonly HistoryEntry["what"][] = [
  "received",
  "parsed_later",
  "drafted",
  "approval_requested",
  "approved",
  "rejected",
  "scheduled",
  "accepted",
  "attempted",
  "sent",
  "failed",
  "delayed",
  "delivered",
  "bounced",
  "complained",
  "told",
  "read",
  "unread",
];

/** The most entries of a history: the first one, and the last ones. */
export const mostEntries = 1000;

export interface History {
  entries: readonly HistoryEntry[];
  /** Whether entries behind the first one are left out. */
  truncated: boolean;
}

/** The history of a message, oldest first. */
export function historyOf({ message, draft, recipients, events, reports, deliveries, marks }: HistoryFacts): History {
  const [first, ...later] = [
    ...(draft === undefined ? [] : drafted(draft, events)),
    ...(message === undefined ? [] : beginning(message, events)),
    ...recipients.flatMap(attempts),
    // The end of a draft is in its row, which stays longer than the event.
    ...(message === undefined ? [] : events.flatMap(outcome)),
    ...reports.map((report) => reported(report, events)),
    ...deliveries.map(told),
    ...marks.map(({ at, isRead, by }): HistoryEntry => ({ at, what: isRead ? "read" : "unread", eventId: null, by })),
  ].sort(inTime);
  if (first === undefined) return { entries: [], truncated: false };
  return { entries: [first, ...later.slice(1 - mostEntries)], truncated: later.length >= mostEntries };
}

function inTime(one: HistoryEntry, other: HistoryEntry): number {
  return one.at.getTime() - other.at.getTime() || order.indexOf(one.what) - order.indexOf(other.what);
}

/** The steps of a draft until it is sent, or ends unsent. A send with a time is scheduled in the instant in which it is written. */
function drafted(draft: HistoryDraft, events: readonly LoggedEvent[]): HistoryEntry[] {
  const { createdAt, acceptedAt, sendAt, updatedAt, approval, failure } = draft;
  const eventId = events.find(({ type }) => type === "message.failed")?.id ?? null;
  const scheduledAt = timeOfScheduling(draft);
  return [
    ...(acceptedAt?.getTime() === createdAt.getTime()
      ? []
      : [{ at: createdAt, what: "drafted" as const, eventId: null }]),
    ...(approval === null ? [] : approvalSteps(approval, events)),
    ...(scheduledAt === undefined || sendAt === null
      ? []
      : [{ at: scheduledAt, what: "scheduled" as const, eventId: null, sendAt }]),
    ...(failure === null ? [] : [{ at: updatedAt, what: "failed" as const, eventId, failure }]),
  ];
}

/** When a draft was scheduled: when its sending was accepted or, if it waited for a person from then on, when that one approved it. */
function timeOfScheduling({ acceptedAt, approval }: HistoryDraft): Date | undefined {
  if (acceptedAt === null) return undefined;
  if (approval === null || new Date(approval.requestedAt) > acceptedAt) return acceptedAt;
  return approval.decision === "approved" && approval.decidedAt !== null ? new Date(approval.decidedAt) : undefined;
}

/** The last request for an approval, and the decision of a person. Another end of the waiting is told by the failure. */
function approvalSteps(approval: Approval, events: readonly LoggedEvent[]): HistoryEntry[] {
  const { reasons, newRecipients, requestedAt, decision, decidedBy: by, decidedAt, reason } = approval;
  const requested = events.find((each) => each.type === "approval.requested" && each.data.requestedAt === requestedAt);
  const resolved = events.find((each) => each.type === "approval.resolved" && each.data.decidedAt === decidedAt);
  return [
    {
      at: new Date(requestedAt),
      what: "approval_requested",
      eventId: requested?.id ?? null,
      reasons,
      newRecipients,
    },
    ...(decidedAt !== null && (decision === "approved" || decision === "rejected")
      ? [{ at: new Date(decidedAt), what: decision, eventId: resolved?.id ?? null, by, reason }]
      : []),
  ];
}

/**
 * The arrival of a mail, or the acceptance of a send. The source of a mail that was parsed later has the instant of its arrival in its id,
 * and the message has that of its filing. For any other mail both ids have the same instant.
 */
function beginning(message: HistoryMessage, events: readonly LoggedEvent[]): HistoryEntry[] {
  const { id, direction, createdAt, sourceId, envelopeFrom, toAddr, authentication } = message;
  if (direction === "outbound") return [{ at: createdAt, what: "accepted", eventId: null }];
  const eventId = events.find(({ type }) => type === "message.received")?.id ?? null;
  const from = {
    envelope: { from: envelopeFrom ?? "", to: toAddr },
    clientAddress: authentication?.clientAddress ?? null,
    verdict: authentication?.verdict ?? null,
  };
  const arrivedAt = sourceId === null ? createdAt : instantOfId(sourceId);
  if (arrivedAt >= instantOfId(id)) return [{ at: createdAt, what: "received", eventId, ...from }];
  return [
    { at: arrivedAt, what: "received", eventId: null, ...from },
    { at: createdAt, what: "parsed_later", eventId },
  ];
}

function attempts({ address: recipient, attempts }: TriedRecipient): HistoryEntry[] {
  return (attempts ?? []).map((kept) => {
    // The database returns the fields in an order of its own.
    const { at, attempt, outcome, host, tls, code, enhancedCode, message } = kept;
    const answer = { outcome, host, tls, code, enhancedCode, message };
    return { at: new Date(at), what: "attempted", eventId: null, recipient, attempt, ...answer };
  });
}

function outcome({ id: eventId, type, occurredAt: at, data }: LoggedEvent): HistoryEntry[] {
  if (type === "message.sent") return [{ at, what: "sent", eventId }];
  if (type === "message.failed") return [{ at, what: "failed", eventId, failure: data.failure }];
  return [];
}

function reported(report: KeptReport, events: readonly LoggedEvent[]): HistoryEntry {
  const { id: reportId, kind: what, receivedAt: at, recipient, type, code, enhancedCode, diagnostic, source } = report;
  const event = events.find(({ data }) => data !== null && "report" in data && data.report.id === reportId);
  const about = { reportId, recipient: recipient === "" ? null : recipient };
  return { at, what, eventId: event?.id ?? null, ...about, type, code, enhancedCode, diagnostic, source };
}

function told({ attemptedAt: at, eventId, event, webhookId, attempt, status, error }: EventDelivery): HistoryEntry {
  return { at, what: "told", eventId, event, webhookId, attempt, status, error };
}
