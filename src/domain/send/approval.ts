import type { Actor } from "../access/actor.ts";
import { Refusal } from "../errors.ts";
import { fingerprintOf } from "../idempotency.ts";
import { type AskedMail, type AttachmentPrint, fingerprintBody } from "./send-fingerprint.ts";

/** The reasons for which a mail waits for a person: a policy asks for all mail, or a recipient is not known. */
export const approvalReasons = ["policy", "new_recipient"] as const;
export type ApprovalReason = (typeof approvalReasons)[number];

export const approvalDecisions = ["approved", "rejected", "expired", "canceled"] as const;
export type ApprovalDecision = (typeof approvalDecisions)[number];

/** The one who decides about a draft: a key, or an approver who got a letter. */
export type Decider = { key: string } | { address: string };

/** The key that acts, as the one who decides. Undefined for the command line and the service itself. */
export function deciderOf({ type, id }: Actor): Decider | undefined {
  return type === "key" && id !== null ? { key: id } : undefined;
}

/** Why a mail waits for a person. */
export interface ApprovalNeed {
  reasons: readonly ApprovalReason[];
  newRecipients: readonly string[];
}

/** The approval of a draft, as its row and the API have it. Instants are in ISO 8601. */
export interface Approval extends ApprovalNeed {
  /** When the mail began to wait. */
  requestedAt: string;
  expiresAt: string;
  decision: ApprovalDecision | null;
  /** Null until somebody decides, and if it expired. */
  decidedBy: Decider | null;
  decidedAt: string | null;
  /** The reason that was given for a rejection. */
  reason: string | null;
  /** Whether somebody else than its maker changed it while it waited. */
  edited: boolean;
  /** The version that was approved; null for none. */
  approvedVersion: number | null;
}

/** The time after its last change for which a mail waits for a person. */
export const defaultApprovalHours = 72;

/** The request for an approval, after the step of a draft that waits for one. `changedBy` is the key that changed its content. */
export function approvalAsked(
  need: ApprovalNeed,
  before: { approval: Approval | null; requestedBy: string } | undefined,
  { at, hours, changedBy }: { at: Date; hours: number; changedBy: string | undefined },
): Approval {
  const asked = before?.approval ?? null;
  const isEdit = asked !== null && changedBy !== undefined && changedBy !== before?.requestedBy;
  return {
    ...need,
    requestedAt: asked?.decision === null ? asked.requestedAt : at.toISOString(),
    expiresAt: new Date(at.getTime() + hours * 3_600_000).toISOString(),
    decision: null,
    decidedBy: null,
    decidedAt: null,
    reason: null,
    edited: isEdit || asked?.edited === true,
    approvedVersion: null,
  };
}

/** An approval with its decision. `version` is the present one of the draft. */
export function approvalDecided(
  approval: Approval,
  { decision, by, reason = null, version, at }: Decision & { version: number; at: Date },
): Approval {
  return {
    ...approval,
    decision,
    decidedBy: by,
    decidedAt: at.toISOString(),
    reason,
    approvedVersion: decision === "approved" ? version : null,
  };
}

export interface Decision {
  decision: ApprovalDecision;
  by: Decider | null;
  reason?: string | null | undefined;
}

/** Whether a person has approved the present version of a draft. */
export function isApproved({ approval, version }: { approval: Approval | null; version: number }): boolean {
  return approval?.decision === "approved" && approval.approvedVersion === version;
}

/** A mail that a person has rejected a short time ago. */
export interface Rejection {
  inboxId: string;
  draftId: string;
  fingerprint: string;
  /** The key with which it was made. */
  requestedBy: string;
  reason: string | null;
}

/** The time for which a rejected mail is refused if somebody asks for it again. */
export const rejectionMs = 7 * 24 * 3_600_000;

/**
 * The fingerprint of a mail in its stored form, by which a rejected mail is recognised. Fields that are not in the mail are left out, so that
 * another time or another id in `metadata` does not make it another mail.
 */
export function fingerprintOfMail(
  inboxId: string,
  content: Omit<AskedMail, "attachments" | "sendAt">,
  attachments: readonly AttachmentPrint[] | undefined,
): string {
  const apart = Object.fromEntries(notInMail.map((field) => [field, undefined]));
  return fingerprintOf(inboxId, fingerprintBody({ ...content, ...apart, attachments }));
}

const notInMail = [
  "sendAt",
  "unlessReplied",
  "ifUnanswered",
  "readUpToMessageId",
  "ignoreLoop",
  "metadata",
  "labels",
] as const satisfies readonly (keyof AskedMail)[];

export function draftRejected({ draftId, reason }: Rejection): Refusal {
  const why = reason === null ? "" : `: ${reason}`;
  return new Refusal("draft_rejected", `Cannot send: a person has rejected this mail${why}`, {
    extra: { draftId, reason },
  });
}
