import type { Delivery, reportProofs, reportSources } from "./kept-delivery.ts";
import type { BounceType, RecipientTold, ReportKind } from "./report.ts";

export type ReportSource = (typeof reportSources)[number];
export type ReportProof = (typeof reportProofs)[number];

/** What somebody tells of a message that we sent, and by what it is proven. */
export interface ReportedMessage {
  messageId: string;
  /** The message must be of one of these: the proof holds for no other. Undefined where it holds for any. */
  ofInboxes: readonly string[] | undefined;
  source: ReportSource;
  proof: ReportProof;
  /** Never empty. */
  recipients: readonly RecipientTold[];
  /** A wish to be left alone, and no report. */
  isOptOut: boolean;
  reportingMta: string | undefined;
  /** As it came: a mail, or the relay's JSON. */
  raw: Uint8Array;
}

/** The same with all that is uncertain settled before the decision. */
export interface ArrivedReport extends ReportedMessage {
  receivedAt: Date;
  sourceId: string;
  /** For each recipient that it tells of. */
  ids: readonly ReportIds[];
}

export interface ReportIds {
  report: string;
  event: string;
  suppression: string;
  suppressionEvent: string;
}

/** A message of ours in an inbox that lives, with what was reported of it so far, the oldest first. */
export interface KnownMessage {
  id: string;
  accountId: string;
  inboxId: string;
  threadId: string;
  toAddr: string;
  providerMessageId: string | null;
  createdAt: Date;
  /** Of a message to several, or to one by name; else empty, and `toAddr` is the one. */
  recipients: readonly { position: number; address: string }[];
  reports: readonly KeptReport[];
}

/** A report as its row keeps it. */
export interface KeptReport {
  id: string;
  accountId: string;
  inboxId: string;
  messageId: string;
  /** "" where it stands at the message. */
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

/** What a message or a recipient shows of the report that counts most. */
export function deliveryBy(report: KeptReport): Delivery {
  const { kind, type, code, enhancedCode, diagnostic, remoteMta, source, proof, id, receivedAt } = report;
  const said = { type, code, enhancedCode, diagnostic, remoteMta };
  return { state: kind, ...said, source, proof, reportId: id, at: receivedAt.toISOString() };
}
