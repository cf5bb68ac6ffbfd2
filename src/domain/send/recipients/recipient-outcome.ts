import type { StoredFailure } from "../../outcome.ts";
import type { Delivery } from "../../reports/delivery.ts";
import type { RecipientType } from "./entries.ts";

/** A recipient of an outbound message, and the result of sending it to them. */
export interface RecipientOutcome {
  address: string;
  name: string | null;
  type: RecipientType;
  status: "pending" | "sent" | "failed";
  providerMessageId: string | null;
  failure: StoredFailure | null;
  /** The worst report about the mail to this recipient. Left out in events, which describe only the attempt to send. */
  delivery?: Delivery | null;
}

/** The row of a recipient when the message is accepted. */
export interface NewRecipient {
  messageId: string;
  inboxId: string;
  position: number;
  address: string;
  name: string | undefined;
  type: RecipientType;
  destination: number;
  /** `failed` for a suppressed recipient. */
  status: "pending" | "failed";
  failure: StoredFailure | null;
}
