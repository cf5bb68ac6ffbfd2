import { cleanLine } from "../../standards/smtp-reply.ts";
import type { AddedSuppression, ReportData } from "../events/event-types.ts";
import { isHarder } from "./delivery.ts";
import type { ReportKind } from "./report.ts";
import {
  automaticSuppression,
  maySuppress,
  provesRecipient,
  type ReportPolicy,
  reasonToSuppress,
} from "./report-policy.ts";
import type { ArrivedReport, KeptReport, KnownMessage, ReportIds } from "./reported-message.ts";
import { type ReportedRecipient, reportedRecipients } from "./reported-recipients.ts";
import { type JudgedReports, type MessageState, rowsOfReports, stateOf } from "./reported-rows.ts";
import { isPastReporting } from "./return-path.ts";

/** Decides in order which reports of a batch are kept, and whom they suppress. Each decision includes the effects of the earlier ones. */
export function judgeReports(
  arrived: readonly ArrivedReport[],
  known: readonly KnownMessage[],
  policy: ReportPolicy,
): JudgedReports {
  const states = new Map(known.map((message) => [message.id, stateOf(message)]));
  const outcomes = arrived.map((report) => {
    const state = states.get(report.messageId);
    if (state === undefined || !isAbout(report, state.message)) return undefined;
    return report.isOptOut ? optOut(state, report, policy) : take(state, report, policy);
  });
  return { outcomes, ...rowsOfReports([...states.values()], arrived) };
}

function isAbout({ ofInboxes, receivedAt }: ArrivedReport, { inboxId, createdAt }: KnownMessage): boolean {
  return (ofInboxes?.includes(inboxId) ?? true) && !isPastReporting(createdAt, receivedAt);
}

/** Applies a report to its message. Returns the new parts: the first report of a kind about a recipient, or a bounce that became hard. */
function take(state: MessageState, arrived: ArrivedReport, policy: ReportPolicy): KeptReport[] {
  return reportedRecipients(state.message, arrived.recipients).flatMap((one) => {
    const { kind } = one.report;
    const ids = arrived.ids[one.index];
    if (kind === undefined || ids === undefined) return [];
    const key = `${kind} ${one.recipient}`;
    const before = state.reports.get(key);
    const candidate = reportOf(state.message, arrived, { ...one, kind, id: ids.report });
    const reason = one.report.isHearsay ? undefined : reasonToSuppress(state.message, candidate, policy);
    const isFirstToSuppress = reason !== undefined && before?.suppressed === false;
    if (before !== undefined && !takesOver(state.message, candidate, before, isFirstToSuppress)) return [];
    const report = {
      ...candidate,
      id: before?.id ?? candidate.id,
      suppressed: reason !== undefined || before?.suppressed === true,
    };
    state.reports.set(key, report);
    state.changed.add(key);
    if (reason !== undefined) {
      const { recipient, diagnostic: detail } = report;
      const asked = { id: ids.suppression, recipient, reason, detail, at: arrived.receivedAt };
      suppress(state, automaticSuppression(state.message, asked, policy), ids);
    }
    const isNew = before === undefined || (report.type === "hard" && before.type !== "hard");
    if (isNew) state.events.push(eventOf(state.message, report, ids.event, arrived.receivedAt));
    return isNew ? [report] : [];
  });
}

/**
 * Whether a report replaces the earlier one of its kind. A stronger proof always does, so a forged report never blocks the true one. With
 * an equal proof, a report replaces the earlier one if its type is harder, if it is the first that suppresses, or if it is a newer delay.
 */
function takesOver(message: KnownMessage, report: KeptReport, before: KeptReport, isFirstToSuppress: boolean): boolean {
  const stronger = strengthOf(message, report) - strengthOf(message, before);
  if (stronger !== 0) return stronger > 0;
  return isFirstToSuppress || report.kind === "delayed" || isHarder(report.type ?? undefined, before.type ?? undefined);
}

function strengthOf(message: KnownMessage, { proof }: KeptReport): number {
  if (proof === "message_id") return 0;
  return provesRecipient(message, proof) ? 2 : 1;
}

function reportOf(
  message: KnownMessage,
  { source, proof, reportingMta, sourceId, receivedAt }: ArrivedReport,
  { id, recipient, kind, report }: ReportedRecipient & { id: string; kind: ReportKind },
): KeptReport {
  return {
    id,
    accountId: message.accountId,
    inboxId: message.inboxId,
    messageId: message.id,
    recipient,
    kind,
    type: kind === "bounced" ? (report.type ?? "unknown") : null,
    code: report.code ?? null,
    enhancedCode: report.enhancedCode ?? null,
    diagnostic: line(report.diagnostic, 1000),
    reportedRecipient: line(report.finalRecipient ?? report.originalRecipient, 320),
    remoteMta: line(report.remoteMta, 255),
    reportingMta: line(reportingMta, 255),
    source,
    proof,
    suppressed: false,
    sourceId,
    receivedAt,
  };
}

/** The text of a report as one clean line of limited length, or null if nothing is left. */
function line(text: string | undefined, length: number): string | null {
  return text === undefined ? null : cleanLine(text, length) || null;
}

/** Suppresses the recipients who unsubscribed, for the inbox of the message. Returns no reports. */
function optOut(state: MessageState, arrived: ArrivedReport, policy: ReportPolicy): KeptReport[] {
  for (const { recipient, report, index } of reportedRecipients(state.message, arrived.recipients)) {
    const ids = arrived.ids[index];
    if (ids === undefined || !maySuppress(state.message, { recipient, proof: arrived.proof }, policy)) continue;
    const detail = line(report.diagnostic, 500);
    const asked = { id: ids.suppression, recipient, reason: "unsubscribe" as const, detail, at: arrived.receivedAt };
    suppress(state, automaticSuppression(state.message, asked, policy), ids);
  }
  return [];
}

/** Adds a suppression and its event to the state. The store writes the event only if it writes the suppression. */
function suppress(
  { message, suppressions, events }: MessageState,
  suppression: ReturnType<typeof automaticSuppression>,
  ids: ReportIds,
): void {
  suppressions.push(suppression);
  const { id, address, inboxId, reason, expiresAt, createdAt } = suppression;
  const data: AddedSuppression = {
    providerMessageId: message.providerMessageId,
    suppression: {
      id,
      address,
      inboxId: inboxId === "" ? null : inboxId,
      reason,
      expiresAt: expiresAt?.toISOString() ?? null,
    },
  };
  events.push({
    ...ofMessage(message),
    id: ids.suppressionEvent,
    type: "suppression.added",
    occurredAt: createdAt,
    data,
  });
}

function eventOf(message: KnownMessage, report: KeptReport, id: string, occurredAt: Date) {
  const { kind, type, recipient, code, enhancedCode, diagnostic, source, proof, suppressed } = report;
  const data: ReportData = {
    providerMessageId: message.providerMessageId,
    report: {
      id: report.id,
      kind,
      type,
      recipient: recipient === "" ? null : recipient,
      code,
      enhancedCode,
      diagnostic,
      source,
      proof,
      suppressed,
    },
  };
  return { ...ofMessage(message), id, type: `message.${kind}` as const, occurredAt, data };
}

function ofMessage({ accountId, inboxId, threadId, id }: KnownMessage) {
  return { accountId, inboxId, threadId, messageId: id };
}
