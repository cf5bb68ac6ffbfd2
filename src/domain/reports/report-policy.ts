import { splitAddress } from "../../standards/address.ts";
import type { AddedSuppression } from "../events/event-types.ts";
import { endOfBounceSuppression, suppressedForm } from "../send/suppressed.ts";
import type { KeptReport, KnownMessage, ReportProof } from "./reported-message.ts";
import { hasSeveralRecipients } from "./reported-recipients.ts";
import { simulatedFateOf, simulatedSuppressionMs } from "./simulated.ts";

/** The operator's settings for reports. */
export interface ReportPolicy {
  mailDomain: string;
  /**
   * Whether a Message-ID is enough proof to suppress a recipient. Strangers can read Message-IDs in public list archives, so this is true
   * only if our mail has no return path of its own as a better proof (RETURN_PATH=inbox).
   */
  messageIdSuppresses: boolean;
  /** 0: a suppression by a bounce has no end. */
  bounceSuppressionDays: number;
}

type AutomaticReason = AddedSuppression["suppression"]["reason"];

/** The row of a suppression. */
export interface AutomaticSuppression {
  id: string;
  accountId: string;
  address: string;
  /** "" for the whole account. */
  inboxId: string;
  reason: AutomaticReason;
  detail: string | null;
  messageId: string;
  createdAt: Date;
  expiresAt: Date | null;
}

/** The reason for the suppression, if this report suppresses its recipient; otherwise undefined. */
export function reasonToSuppress(
  message: KnownMessage,
  { kind, type, proof, recipient }: Pick<KeptReport, "kind" | "type" | "proof" | "recipient">,
  policy: ReportPolicy,
): AutomaticReason | undefined {
  if (!maySuppress(message, { recipient, proof }, policy)) return undefined;
  if (kind === "complained") return "complaint";
  return kind === "bounced" && type === "hard" ? "bounce" : undefined;
}

/**
 * Whether a proof is enough to suppress a recipient. An address of our own domain is never suppressed, since its inbox may be created
 * at any time.
 */
export function maySuppress(
  message: KnownMessage,
  { recipient, proof }: { recipient: string; proof: ReportProof },
  policy: ReportPolicy,
): boolean {
  const { domain } = splitAddress(recipient) ?? {};
  if (domain === undefined || domain.toLowerCase() === policy.mailDomain.toLowerCase()) return false;
  return provesRecipient(message, proof) && (proof !== "message_id" || policy.messageIdSuppresses);
}

/**
 * Whether a proof is enough for a report about one recipient of the message. If the message has several recipients, each one knows the
 * return path and the Message-ID, and could report about the others; then only a notice of the relay is enough.
 */
export function provesRecipient(message: KnownMessage, proof: ReportProof): boolean {
  return proof === "relay" || !hasSeveralRecipients(message);
}

/** The suppression by a report: for the whole account after a bounce or a complaint, for the inbox after an unsubscription. */
export function automaticSuppression(
  message: KnownMessage,
  asked: { id: string; recipient: string; reason: AutomaticReason; detail: string | null; at: Date },
  { bounceSuppressionDays }: ReportPolicy,
): AutomaticSuppression {
  const { id, recipient, reason, detail, at } = asked;
  return {
    id,
    accountId: message.accountId,
    address: suppressedForm(recipient),
    inboxId: reason === "unsubscribe" ? message.inboxId : "",
    reason,
    detail: detail?.slice(0, mostOfDetail).toWellFormed() ?? null,
    messageId: message.id,
    createdAt: at,
    expiresAt: endOf(asked, bounceSuppressionDays),
  };
}

function endOf({ recipient, reason, at }: { recipient: string; reason: AutomaticReason; at: Date }, days: number) {
  if (simulatedFateOf(recipient) !== undefined) return new Date(at.getTime() + simulatedSuppressionMs);
  return reason === "bounce" ? endOfBounceSuppression(at, days) : null;
}

const mostOfDetail = 500;
