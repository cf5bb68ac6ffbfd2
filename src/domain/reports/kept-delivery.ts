import type { BounceType, ReportKind } from "./report.ts";

export const reportSources = ["dsn", "arf", "relay"] as const;
export const reportProofs = ["return_path", "message_id", "relay"] as const;

/** What came back about a message that was sent, as its row keeps it and the API shows it. */
export interface Delivery {
  /** A lesser one never replaces a worse one (delivery.ts). */
  state: ReportKind;
  /** Null unless it bounced. */
  type: BounceType | null;
  code: number | null;
  enhancedCode: string | null;
  diagnostic: string | null;
  remoteMta: string | null;
  source: (typeof reportSources)[number];
  proof: (typeof reportProofs)[number];
  reportId: string;
  /** As JSON writes an instant. */
  at: string;
}
