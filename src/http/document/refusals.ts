import type { TObject, TSchema } from "@sinclair/typebox";
import { leastAccess } from "../../domain/access/access.ts";
import { notFound, type Reason, Refusal, type RefusalDetails, type Resource, statusOf } from "../../domain/errors.ts";
import { mostLabelsOfInbox } from "../../domain/labels.ts";
import { mostRules } from "../../domain/rules.ts";
import { mostSuppressions } from "../../domain/send/suppressed.ts";
import { mostAliases } from "../../domain/username.ts";
import { type Operation, takesNoBody } from "../shell/described-operation.ts";
import { problemOf } from "../shell/errors.ts";
import { Problem } from "../shell/models.ts";
import { examples } from "./examples.ts";
import { isRequired, type SchemaWriter } from "./schema.ts";

export type AnyOperation = Operation<TSchema, TObject, Record<number, TSchema>>;

/** The method and path of an operation, as the document spells them. */
export interface OperationName {
  method: string;
  path: string;
}

/** All refusals of an operation: those that follow from its parameters, body and key, and those in `refuses`. */
function reasonsOf(of: AnyOperation, { method }: OperationName): ReadonlySet<Reason> {
  const isOpen = of.access === "open";
  return new Set<Reason>([
    ...(isOpen ? [] : (["unauthorized", "invalid_query"] as const)),
    ...(isOpen || of.access === "any" || of.access === "operator" ? [] : (["forbidden", "account_suspended"] as const)),
    // With any key but that of an operator.
    ...(of.access === "operator" ? (["not_found"] as const) : []),
    ...(of.path ? (["not_found"] as const) : []),
    ...(of.query ? (["invalid_query"] as const) : []),
    ...(of.body || (takesNoBody(of) && method !== "get")
      ? (["invalid_json", "validation_error", "unsupported_media_type"] as const)
      : []),
    ...(of.idempotencyKey === "required" ? (["missing_idempotency_key"] as const) : []),
    ...(of.idempotencyKey
      ? (["invalid_idempotency_key", "idempotency_in_progress", "idempotency_key_reused"] as const)
      : []),
    ...(of.refuses ?? []),
    // Every operation has this one: a body that is declared too large is refused before the route is known.
    "payload_too_large",
    "internal_error",
    "service_unavailable",
  ]);
}

/** The refusals of an operation by status, with an example for each code. */
export function refusalResponses(of: AnyOperation, name: OperationName, writer: SchemaWriter) {
  const byStatus = Map.groupBy(reasonsOf(of, name), (reason) => statusOf[reason]);
  const schema = writer.write(Problem);
  return Object.fromEntries(
    Array.from(byStatus, ([status, codes]) => {
      const said = Object.fromEntries(codes.map((code) => [code, { value: exampleProblem(code, of, name.path) }]));
      return [
        status,
        {
          description: codes.map((code) => `\`${code}\`: ${meanings[code]}`).join("; "),
          headers: headerObjects({ ...headersOf(codes), ...of.answerHeaders?.[status] }),
          content: { "application/problem+json": { schema, examples: said }, "application/json": { schema } },
        },
      ];
    }),
  );
}

function headersOf(codes: readonly Reason[]): ShownHeaders {
  const waits = codes.some((code) => waitingReasons.has(code));
  return {
    ...(codes.includes("unauthorized") && { "WWW-Authenticate": "`Bearer`" }),
    ...(waits && { "Retry-After": "Whole seconds to wait before the next try" }),
  };
}

/** Response headers: the description of each, by name. */
type ShownHeaders = Readonly<Record<string, string>>;

/** The headers of an answer in the document, with `X-Request-Id`, which every answer has. */
export function headerObjects(own: ShownHeaders) {
  const all = { "X-Request-Id": "Id of this request, or the one that the caller sent", ...own };
  return Object.fromEntries(
    Object.entries(all).map(([name, description]) => [name, { description, schema: schemaOf(name) }]),
  );
}

function schemaOf(name: string) {
  return name === "Retry-After" ? { type: "integer", minimum: 1 } : { type: "string" };
}

const waitingReasons: ReadonlySet<Reason> = new Set([
  "idempotency_in_progress",
  "send_in_progress",
  "rate_limit_exceeded",
  "daily_limit_exceeded",
  "cold_outreach_limit",
  "inbox_creation_limit",
  "loop_detected",
  "upload_limit",
  "too_many_listeners",
  "service_unavailable",
]);

/** An example of the error body that the service answers for a code. */
function exampleProblem(code: Reason, of: AnyOperation, path: string) {
  return problemOf(exampleRefusal(code, of, path), examplePath(path, of), examples.requestId).body;
}

function exampleRefusal(code: Reason, of: AnyOperation, path: string): Refusal {
  const doing = of.summary.charAt(0).toLowerCase() + of.summary.slice(1);
  if (code === "not_found") return notFound(resourceOf(path));
  const sentence = wholeSentences[code] ?? `Cannot ${doing}: ${meanings[code]}`;
  return new Refusal(code, sentence, exampleDetails(code, of));
}

function exampleDetails(code: Reason, of: AnyOperation): RefusalDetails {
  switch (code) {
    case "invalid_json":
      return { faults: [{ pointer: "#", detail: "must be one JSON value in UTF-8" }] };
    case "validation_error":
      return of.body === undefined && of.otherBodies === undefined
        ? { faults: [{ pointer: "#/forever", detail: "is not known here" }] }
        : { faults: [{ pointer: `#/${firstField(of.body)}`, detail: "is not of the right form" }] };
    case "invalid_query":
      return { faults: [{ parameter: firstField(of.query) || "page", detail: "is not of the right form" }] };
    case "forbidden":
      return of.access === "open" || of.access === "operator"
        ? {}
        : { extra: { required_access: leastAccess(of.access) } };
    case "account_suspended":
      return { extra: { scope: "all" } };
    case "feature_requires_paid_plan":
      return { extra: { feature: of.summary === "Add domain" ? "own_domains" : "external_reply_to" } };
    case "quota_exceeded":
      return { extra: { resource: "storage_bytes", limit: 1_000_000, used: 999_210 } };
    case "alias_limit":
      return { extra: { limit: mostAliases } };
    case "domain_in_use":
      return { extra: { inboxes: 3 } };
    case "webhook_limit_reached":
      return { extra: { limit: 20 } };
    case "suppression_limit_reached":
      return { extra: { limit: mostSuppressions } };
    case "label_limit":
      return { extra: { limit: mostLabelsOfInbox } };
    case "rule_limit_reached":
      return { extra: { limit: mostRules } };
    case "recipient_not_allowed":
      return { extra: { recipients: [examples.sender], rule_id: examples.ruleId } };
    case "recipient_suppressed":
      return {
        extra: { suppression_id: examples.suppressionId, reason: "bounce", expires_at: examples.suppressedUntil },
      };
    case "text_unavailable":
      return { extra: { reason: "encrypted" } };
    case "rate_limit_exceeded":
      return { extra: { limit: 10, used: 10, resets_at: "2026-03-21T10:06:00.000Z" } };
    case "daily_limit_exceeded":
    case "cold_outreach_limit":
    case "inbox_creation_limit":
      return { extra: { limit: 100, used: 100, resets_at: "2026-03-22T00:00:00.000Z" } };
    case "not_cancelable":
      return { extra: { message_status: "sent" } };
    case "domain_not_verified":
      return { extra: { domain: examples.domain, domain_status: "pending" } };
    case "draft_rejected":
      return { extra: { draftId: examples.draftId, reason: "Not before the price is final" } };
    case "answered_meanwhile":
      return { extra: { messageId: examples.answerId } };
    case "loop_detected":
      return { extra: { limit: 3, used: 3, resets_at: "2026-03-22T10:01:00.000Z" } };
    case "upload_limit":
      return { extra: { limit: 1_073_741_824 } };
    case "too_many_listeners":
      return { extra: { limit: 1000, scope: "account" } };
    default:
      return {};
  }
}

function firstField(schema: TSchema | undefined): string {
  const names = Object.keys(schema?.properties ?? {});
  return names.find((name) => isRequired(schema as TObject, name)) ?? names[0] ?? "";
}

/** The kind of the first resource in a path. The example of `not_found` names it. */
function resourceOf(path: string): Resource {
  if (path.startsWith("/v1/outbox")) return "outbox_item";
  if (path.startsWith("/v1/quarantine/")) return "quarantined_mail";
  if (path.includes("/attachments/")) return "attachment";
  if (path.startsWith("/v1/admin/accounts/")) return "account";
  if (path.startsWith("/v1/admin/domains/")) return "domain";
  const [, resource] =
    /^\/v1\/(inbox|thread|message|draft|attachment|upload|event|webhook|suppression|rule|domain|key)e?s\b/.exec(path) ??
    [];
  return (resource as Resource | undefined) ?? "route";
}

function examplePath(path: string, of: AnyOperation): string {
  return path.replaceAll(/\{([^}]+)\}/g, (whole, name) => of.path?.[name]?.example ?? whole);
}

/** Whole messages of refusals that are the same for all operations. */
const wholeSentences: Partial<Record<Reason, string>> = {
  unauthorized: "Cannot authenticate: a valid API key is needed as Bearer token",
  invalid_json: "Cannot read body: it is not valid JSON in UTF-8",
  payload_too_large: "Cannot read body: it is larger than 2000000 bytes",
  unsupported_media_type: "Cannot read body: its Content-Type must be application/json in UTF-8",
  internal_error: "Cannot answer: something went wrong on our side",
  service_unavailable: "Cannot answer: the database is away",
};

const meanings: Record<Reason, string> = {
  account_suspended: "the operator has suspended the account, or its sending (`scope`)",
  invalid_json: "the body is not JSON in UTF-8, or is missing",
  invalid_form: "the body is not a complete form (RFC 7578)",
  validation_error: "fields of the body are missing, wrong or unknown",
  invalid_username: "the name cannot be part of an address",
  invalid_query: "query parameters are wrong or unknown",
  missing_idempotency_key: "the header Idempotency-Key is required",
  invalid_idempotency_key: "the header Idempotency-Key is not 1 to 255 visible ASCII characters",
  no_webhook_url: "no webhook URL is set",
  unauthorized: "the API key is missing, malformed, unknown or revoked",
  forbidden: "the access or the reach of the key or token does not suffice",
  feature_requires_paid_plan: "the account's plan does not include it",
  sender_refused: "a rule or a policy of the inbox refuses the mail",
  invalid_signature: "the signature of the URL is wrong",
  link_expired: "the URL has expired",
  not_found: "the account has no such resource",
  method_not_allowed: "the path does not take this method",
  payload_too_large: "the body is too large",
  unsupported_media_type: "the body is not application/json",
  already_signed_in: "the browser has a session already",
  address_taken: "the address is taken",
  address_reserved: "the address is reserved",
  idempotency_in_progress: "the first request with this key still runs",
  send_in_progress: "an attempt is running",
  not_cancelable: "all of it is sent, or has failed",
  answered_meanwhile: "this inbox has answered in the thread after readUpToMessageId, or has scheduled an answer",
  draft_not_open: "the draft is sent, scheduled, waits for approval, or is over (`state`)",
  not_retryable: "no recipient has failed in a way that a retry may change, or it is too late",
  version_mismatch: "the draft has changed since; `version` is that of now",
  upgrade_required: "this path is a WebSocket",
  idempotency_key_reused: "the key was used for another request",
  mail_loop: "the mail has more than 100 Received headers",
  domain_not_verified: "the domain is not verified, or has failed",
  invalid_webhook_url: "events may not be sent to this URL",
  invalid_domain: "mail cannot have this domain",
  alias_limit: "the inbox has its maximum of aliases",
  domain_reserved: "the domain belongs to the service",
  domain_in_use: "the domain has inboxes",
  last_key: "no other key could manage the account",
  quota_exceeded: "the account, or the inbox, has its maximum",
  webhook_limit_reached: "the account has its maximum of webhook endpoints",
  no_recipient: "the answered message has no other address to reply to",
  recipient_suppressed: "the address is suppressed: it bounced, complained, unsubscribed, or you added it",
  suppression_limit_reached: "the account has its maximum of suppressions",
  unsubscribe_unavailable: "BASE_URL is not https, or there is no DKIM key for the domain of the sender",
  inbox_disabled: "the inbox is disabled",
  sending_disabled: "the `sendPolicy` of the account, the tenant, the inbox or the key is `closed`",
  approval_forbidden: "the key made the draft, so another one must decide",
  draft_rejected: "a person has rejected this mail in the last 7 days (`reason`)",
  recipient_not_allowed:
    "an outbound rule blocks a recipient (`rule_id`), or `sendPolicy` allows known recipients alone",
  label_limit: "the inbox has its maximum of different labels",
  rule_limit_reached: "the account, or the inbox, has its maximum of rules, or of policies",
  text_unavailable: "the file has no text that can be read (`reason`)",
  rate_limit_exceeded: "too many within a minute",
  daily_limit_exceeded: "too many today",
  cold_outreach_limit: "too many to a recipient that the inbox does not know",
  inbox_creation_limit: "too many inboxes today",
  loop_detected: "the answers come from a program that answers every mail",
  upload_limit: "the account's uploads would become too large",
  open_drafts_limit: "the inbox has its maximum of open drafts",
  too_many_listeners: "the account or the process has too many waits and streams",
  internal_error: "something went wrong on our side",
  service_unavailable: "the database is not available or too busy, or the service is shutting down",
  storage_full: "the inbox, or its account, has used its quota of bytes",
};
