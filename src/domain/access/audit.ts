import type { Actor } from "./actor.ts";

/** The actions in the audit. It has no entries for received and sent mail. */
export const auditActions = [
  "account.created",
  "account.changed",
  "account.deleted",
  "account.imported",
  "account.suspended",
  "account.resumed",
  "console.signed_in",
  "console.signed_out",
  "domain.added",
  "domain.changed",
  "domain.failed",
  "domain.failing",
  "domain.key_rotated",
  "domain.removed",
  "domain.verified",
  "domain.verified_by_operator",
  "draft.approved",
  "draft.link_made",
  "draft.rejected",
  "event.redelivered",
  "export.read",
  "grant.ended",
  "grant.made",
  "inbox.alias_added",
  "inbox.alias_removed",
  "inbox.changed",
  "inbox.created",
  "inbox.deleted",
  "inbox.erased",
  "key.changed",
  "key.created",
  "key.revoked",
  "key.rotated",
  "message.removed",
  "operator.acted",
  "operator.created",
  "operator.revoked",
  "outbox.canceled",
  "outbox.retried",
  "policy.changed",
  "quarantine.deleted",
  "quarantine.released",
  "retention.changed",
  "rule.added",
  "rule.removed",
  "suppression.added",
  "suppression.removed",
  "thread.filed",
  "thread.marked",
  "thread.removed",
  "token.made",
  "webhook.changed",
  "webhook.created",
  "webhook.deleted",
  "webhook.recovered",
  "webhook.secret_rotated",
  "webhook.tested",
] as const;

export type AuditAction = (typeof auditActions)[number];

/** One entry of the audit, before it is written. It must have no mail and no secret. */
export interface Audited {
  action: AuditAction;
  /** Null for a change of the whole service. */
  accountId: string | null;
  actor: Actor;
  target: { type: AuditTarget; id: string };
  details?: Readonly<Record<string, unknown>>;
}

export const auditTargets = [
  "account",
  "domain",
  "event",
  "grant",
  "inbox",
  "key",
  "message",
  "operator",
  "outbox_item",
  "quarantined_mail",
  "route",
  "rule",
  "suppression",
  "thread",
  "token",
  "webhook",
] as const;

export type AuditTarget = (typeof auditTargets)[number];
