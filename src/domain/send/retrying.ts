import { Refusal } from "../errors.ts";
import type { FailureReason } from "../outcome.ts";

/** How often a message may be retried, and for how long after it was accepted. */
const mostRetries = 5;
const longestMs = 30 * 86_400_000;

/** The reasons of failures that a retry may change: the answer of a server, or none in time. */
const retried: readonly FailureReason[] = ["refused", "timed_out"];

/** A message to retry, with its recipients. */
export interface RetriedMessage {
  inboxId: string;
  threadId: string;
  fromAddr: string;
  direction: "inbound" | "outbound";
  status: string;
  createdAt: Date;
  retries: number;
  recipients: readonly RetriedRecipient[];
}

export interface RetriedRecipient {
  position: number;
  address: string;
  destination: number;
  status: "pending" | "sent" | "failed";
  failure: { reason: FailureReason } | null;
}

export function notRetryable(status: string, why: string): Refusal {
  return new Refusal("not_retryable", `Cannot retry message: ${why}`, { extra: { message_status: status } });
}

/** The recipients to which a message is sent again. Throws if there are none, if it is still being sent, or if it is too late. */
export function recipientsToRetry(message: RetriedMessage, at: Date): readonly RetriedRecipient[] {
  const { recipients, retries, createdAt, status } = message;
  const refuse = (why: string) => notRetryable(status, why);
  if (message.direction === "inbound") throw refuse("it is an inbound message");
  if (recipients.some((recipient) => recipient.status === "pending")) throw refuse("it is still being sent");
  const failed = recipients.filter(
    (recipient) =>
      recipient.status === "failed" && recipient.failure !== null && retried.includes(recipient.failure.reason),
  );
  if (failed.length === 0) throw refuse("no recipient was refused or timed out");
  if (retries >= mostRetries) throw refuse(`it was retried ${mostRetries} times`);
  if (at.getTime() - createdAt.getTime() > longestMs) throw refuse("it is more than 30 days old");
  return failed;
}

/** The refusal of a retry that a person would have to approve, and has not. A new send asks for the approval. */
export function retryNotApproved({ status }: Pick<RetriedMessage, "status">): Refusal {
  return notRetryable(status, "a person must approve it, so send it anew");
}
