import type { Delivery, reportProofs, reportSources } from "./delivery.ts";
import type { BounceType, RecipientReport, ReportKind } from "./report.ts";

export type ReportSource = (typeof reportSources)[number];
export type ReportProof = (typeof reportProofs)[number];

/** A report about a message that we sent, with its proof. */
export interface ReportedMessage {
  messageId: string;
  /** The inboxes whose messages the proof is valid for. Undefined: all inboxes. */
  ofInboxes: readonly string[] | undefined;
  source: ReportSource;
  proof: ReportProof;
  /** Never empty. */
  recipients: readonly RecipientReport[];
  /** Whether the recipient unsubscribes. This adds a suppression, and no report is stored. */
  isOptOut: boolean;
  reportingMta: string | undefined;
  /** The mail, or the JSON of the relay, as it came. */
  raw: Uint8Array;
}

/** A report that is ready to be judged, with the ids of its rows. */
export interface ArrivedReport extends ReportedMessage {
  receivedAt: Date;
  sourceId: string;
  /** The ids of the rows, one entry for each of `recipients`. */
  ids: readonly ReportIds[];
}

export interface ReportIds {
  report: string;
  event: string;
  suppression: string;
  suppressionEvent: string;
}

/** A message that we sent from an inbox that exists, with its reports so far, the oldest first. */
export interface KnownMessage {
  id: string;
  accountId: string;
  inboxId: string;
  threadId: string;
  providerMessageId: string | null;
  createdAt: Date;
  recipients: readonly { position: number; address: string }[];
  reports: readonly KeptReport[];
}

/** The row of a report. */
export interface KeptReport {
  id: string;
  accountId: string;
  inboxId: string;
  messageId: string;
  /** "" if it is about the message as a whole. */
  recipient: string;
  kind: ReportKind;
  type: BounceType | null;
  code: number | null;
  enhancedCode: string | null;
  diagnostic: string | null;
  reportedRecipient: string | null;
  remoteMta: string | null;
  reportingMta: string | null;
  source: ReportSource;
  proof: ReportProof;
  suppressed: boolean;
  sourceId: string | null;
  receivedAt: Date;
}

/** A report in the form that a message or a recipient shows as its `delivery`. */
export function deliveryBy(report: KeptReport): Delivery {
  const { kind, type, code, enhancedCode, diagnostic, remoteMta, source, proof, id, receivedAt } = report;
  const said = { type, code, enhancedCode, diagnostic, remoteMta };
  return { state: kind, ...said, source, proof, reportId: id, at: receivedAt.toISOString() };
}
