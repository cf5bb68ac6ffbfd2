/** What came back about a message that was sent, from the least to the worst: a lesser one never replaces a worse one. */
export const deliveryStates = ["delayed", "delivered", "bounced", "complained"] as const;
export type DeliveryState = (typeof deliveryStates)[number];

export const bounceTypes = ["hard", "soft", "block", "unknown"] as const;
export type BounceType = (typeof bounceTypes)[number];

export const reportSources = ["dsn", "arf", "relay"] as const;
export const reportProofs = ["return_path", "message_id", "relay"] as const;

/** As a row keeps it, and as the API shows it. */
export interface Delivery {
  state: DeliveryState;
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
