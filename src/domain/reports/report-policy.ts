import { splitAddress } from "../../standards/address.ts";
import type { AddedSuppression } from "../events/event-types.ts";
import { endOfBounceSuppression, suppressedForm } from "../send/suppressed.ts";
import type { KeptReport, KnownMessage, ReportProof } from "./reported-message.ts";
import { hasSeveralRecipients } from "./reported-recipients.ts";
import { simulatedFateOf, simulatedSuppressionMs } from "./simulated.ts";

/** The operator's settings for reports. */
export interface ReportPolicy {
  mailDomain: string;
  /** Message-IDs are public in list archives, so they suppress only if mail goes out without return paths. */
  messageIdSuppresses: boolean;
  /** 0 for ever. */
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

/** The reason for which a report suppresses its recipient; undefined if it does not. */
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
 * Whether a proof is for this recipient. Each of several recipients knows the return path and the Message-ID of the mail, and could use
 * them to report about the others. A relay signs its notices.
 */
export function provesRecipient(message: KnownMessage, proof: ReportProof): boolean {
  return proof === "relay" || !hasSeveralRecipients(message);
}

/** A bounce or a complaint suppresses for the account, and an unsubscription for the inbox. */
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
