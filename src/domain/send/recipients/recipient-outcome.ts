import type { StoredFailure } from "../../outcome.ts";
import type { Delivery } from "../../reports/delivery.ts";
import type { RecipientType } from "./entries.ts";

/** What has become of one recipient's copy. */
export interface RecipientOutcome {
  address: string;
  name: string | null;
  type: RecipientType;
  status: "pending" | "sent" | "failed";
  providerMessageId: string | null;
  failure: StoredFailure | null;
  /** What came back about it since. An event, which tells of the attempt, has none. */
  delivery?: Delivery | null;
}

/** As it is written when the message is accepted. */
export interface NewRecipient {
  messageId: string;
  inboxId: string;
  position: number;
  address: string;
  name: string | undefined;
  type: RecipientType;
  destination: number;
  /** Failed: he is suppressed. */
  status: "pending" | "failed";
  failure: StoredFailure | null;
}
