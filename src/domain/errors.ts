/**
 * An error that the caller should see, with its reason. Any other error is a bug, and the caller sees no details.
 *
 * The field is `reason` and not `code`, because Elysia reads `error.code` before its own registry.
 */
export class Refusal extends Error {
  readonly reason: Reason;
  readonly details: RefusalDetails;

  constructor(reason: Reason, message: string, details: RefusalDetails = {}) {
    super(message);
    this.name = "Refusal";
    this.reason = reason;
    this.details = details;
  }
}

/** The HTTP status of each refusal (contract §2). */
export const statusOf = {
  invalid_json: 400,
  invalid_form: 400,
  validation_error: 400,
  invalid_username: 400,
  invalid_query: 400,
  missing_idempotency_key: 400,
  invalid_idempotency_key: 400,
  no_webhook_url: 400,
  unauthorized: 401,
  forbidden: 403,
  account_suspended: 403,
  inbox_disabled: 403,
  sending_disabled: 403,
  approval_forbidden: 403,
  recipient_not_allowed: 403,
  feature_requires_paid_plan: 403,
  sender_refused: 403,
  invalid_signature: 403,
  link_expired: 403,
  not_found: 404,
  method_not_allowed: 405,
  payload_too_large: 413,
  unsupported_media_type: 415,
  already_signed_in: 409,
  address_taken: 409,
  address_reserved: 409,
  idempotency_in_progress: 409,
  send_in_progress: 409,
  not_cancelable: 409,
  domain_in_use: 409,
  last_key: 409,
  answered_meanwhile: 409,
  draft_not_open: 409,
  not_retryable: 409,
  version_mismatch: 412,
  upgrade_required: 426,
  idempotency_key_reused: 422,
  mail_loop: 422,
  domain_not_verified: 422,
  invalid_webhook_url: 422,
  invalid_domain: 422,
  domain_reserved: 422,
  alias_limit: 422,
  quota_exceeded: 422,
  webhook_limit_reached: 422,
  no_recipient: 422,
  recipient_suppressed: 422,
  draft_rejected: 422,
  suppression_limit_reached: 422,
  unsubscribe_unavailable: 422,
  rule_limit_reached: 422,
  label_limit: 422,
  text_unavailable: 422,
  rate_limit_exceeded: 429,
  daily_limit_exceeded: 429,
  cold_outreach_limit: 429,
  inbox_creation_limit: 429,
  loop_detected: 429,
  upload_limit: 429,
  open_drafts_limit: 429,
  too_many_listeners: 429,
  internal_error: 500,
  service_unavailable: 503,
  storage_full: 507,
} as const;

export type Reason = keyof typeof statusOf;

/** A fault in a field of a body (at `pointer`) or in a parameter of a query (`parameter`). */
export type Fault = { pointer: string; detail: string } | { parameter: string; detail: string };

export interface RefusalDetails {
  /** Further fields of the error's JSON, for example the missing resource, the feature that a plan lacks, or the state of a limit. */
  extra?: Readonly<Record<string, string | number | null | object>>;
  faults?: readonly Fault[];
  retryAfterSeconds?: number;
  headers?: Readonly<Record<string, string>>;
}

export type Resource =
  | "inbox"
  | "alias"
  | "thread"
  | "message"
  | "draft"
  | "attachment"
  | "upload"
  | "event"
  | "webhook"
  | "outbox_item"
  | "suppression"
  | "rule"
  | "report"
  | "quarantined_mail"
  | "account"
  | "domain"
  | "key"
  | "grant"
  | "route";

export function notFound(resource: Resource): Refusal {
  const words = resource.replace("_", " ");
  return new Refusal("not_found", `Cannot find ${words}: no such ${words}`, { extra: { resource } });
}
