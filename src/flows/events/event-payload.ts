import type { Automated } from "../../domain/automated.ts";
import type { EventData, EventType } from "../../domain/events/event-types.ts";
import type { IncludeWord } from "../../domain/events/subscription.ts";
import type { Metadata } from "../../domain/metadata.ts";
import type { StoredFailure } from "../../domain/outcome.ts";
import { type Authentication, inContractOrder, type Spam } from "../../domain/receive/authentication.ts";
import type { RecipientOutcome } from "../../domain/send/recipients/recipient-outcome.ts";
import type { Extraction } from "../../extract/extract.ts";
import { tagOf } from "../../standards/address.ts";
import type { EventContent } from "../../store/events/event-content.ts";
import type { ListedAttachment } from "../../store/mail/attachments.ts";
import type { IncludedRow } from "../../store/mail/included.ts";
import { type AttachmentLinks, type LinkedAttachment, linkedAttachments } from "../read/attachment-links.ts";
import { type ExtractingDeps, extractedOf } from "../read/extracted.ts";

/*
 * The payloads of events, as deliveries, the log and streams send them (contract §10). The route of the log returns them with the type
 * of its schema, so a payload that the schema does not allow fails the type check.
 */

export interface PayloadDeps extends ExtractingDeps {
  links: Pick<AttachmentLinks, "attachmentUrl">;
}

/** The row of an event with everything that its payload is made from. */
export type WholeEvent = EventContent & {
  id: string;
  accountId: string;
  attachments: readonly ListedAttachment[];
  /** The data for the words of `include`. Undefined if there are no such words. */
  included: IncludedRow | undefined;
};

export type EventPayload<Types extends EventType = EventType> = {
  [Type in Types]: { event: Type; event_id: string; occurred_at: string } & Body<Type>;
}[Types];

/** Makes the payload of an event, with links that are signed at this instant. Undefined if the event's message is deleted. */
export async function eventPayload(
  deps: PayloadDeps,
  event: WholeEvent,
  include: readonly IncludeWord[],
  at: Date,
): Promise<EventPayload | undefined> {
  return payloadOf(event.type, event.data, event, await messageOf(deps, event, include, at));
}

function payloadOf<Type extends EventType>(
  type: Type,
  data: EventData[Type],
  event: EventRow,
  message: EventMessage | undefined,
): EventPayload<Type> | undefined {
  const writers: { [Each in EventType]: Writer<Each, Body<Each>> } = bodies;
  const body = writers[type](data, event, message);
  return body && { event: type, event_id: event.id, occurred_at: event.occurredAt.toISOString(), ...body };
}

type EventRow = Pick<WholeEvent, "id" | "occurredAt" | "inboxId" | "externalId" | "threadId">;

type Body<Type extends EventType> = NonNullable<ReturnType<(typeof bodies)[Type]>>;

type Writer<Type extends EventType, Result> = (
  data: EventData[Type],
  event: EventRow,
  message: EventMessage | undefined,
) => Result | undefined;

/** The fields of each event type, in the order of the contract, without those that every event has. */
const bodies = {
  "message.received": (_data, event, message) =>
    message && {
      ...threadFields(event),
      message: { ...messageFields(message), received_at: message.createdAt.toISOString(), ...message.included },
    },
  "message.sent": (data, event, message) =>
    message && {
      ...threadFields(event),
      message: {
        ...sentFields(message, data),
        sent_at: event.occurredAt.toISOString(),
        ...message.included,
        ...addressingFields(message, data),
      },
    },
  "message.failed": (data, event, message) =>
    message && {
      ...threadFields(event),
      message: {
        ...sentFields(data.isUnapproved ? { ...message, bodyText: "", attachments: [] } : message, data),
        failed_at: event.occurredAt.toISOString(),
        failure: failureFields(data.failure),
        ...(data.isUnapproved ? {} : message.included),
        ...addressingFields(message, data),
      },
    },
  "inbox.created": (data, event) => ({ ...inboxFields(event), inbox: inboxFacts(data, event) }),
  "inbox.deleted": (data, event) => ({
    ...inboxFields(event),
    inbox: { ...inboxFacts(data, event), deleted_at: event.occurredAt.toISOString() },
  }),
  "webhook.disabled": ({ webhookId, url, reason }, { occurredAt }) => ({
    inbox_id: null,
    external_id: null,
    webhook: { id: webhookId, url, reason, disabled_at: occurredAt.toISOString() },
  }),
  "message.delayed": reportBody,
  "message.delivered": reportBody,
  "message.bounced": reportBody,
  "message.complained": reportBody,
  "message.blocked": ({ id, reason, ruleId, from, to, subject }, event) => ({
    ...inboxFields(event),
    thread_id: null,
    quarantined: { id, reason, rule_id: ruleId, from, to, subject, received_at: event.occurredAt.toISOString() },
  }),
  "suppression.added": ({ providerMessageId, suppression }, event, message) =>
    message && {
      ...threadFields(event),
      message: shortMessage(message, providerMessageId),
      suppression: {
        id: suppression.id,
        address: suppression.address,
        inbox_id: suppression.inboxId,
        reason: suppression.reason,
        expires_at: suppression.expiresAt,
      },
    },
  "domain.verified": domainBody,
  "domain.failing": domainBody,
  "domain.failed": domainBody,
  "approval.requested": (data, event, message) =>
    message && {
      ...threadFields(event),
      draft: {
        id: data.id,
        version: data.version,
        reasons: [...data.reasons],
        new_recipients: [...data.newRecipients],
        from: data.from,
        to: [...data.to],
        cc: [...data.cc],
        bcc: [...data.bcc],
        subject: data.subject,
        body_text: message.bodyText,
        attachments: message.attachments,
        metadata: data.metadata,
        send_at: data.sendAt,
        requested_at: data.requestedAt,
        expires_at: data.expiresAt,
      },
    },
  "approval.resolved": (data, event) => ({
    ...threadFields(event),
    draft: {
      id: data.id,
      version: data.version,
      decision: data.decision,
      decided_by: data.decidedBy,
      decided_at: data.decidedAt,
      reason: data.reason,
      edited: data.edited,
    },
  }),
} satisfies { [Type in EventType]: Writer<Type, object> };

function domainBody({ domain: { name, ...domain }, records }: EventData["domain.verified"]) {
  const { id, status, sending, receiving, reason } = domain;
  return {
    inbox_id: null,
    external_id: null,
    domain: { id, domain: name, status, sending, receiving, reason },
    records: records.map(({ purpose, name, type, status, problem }) => ({ purpose, name, type, status, problem })),
  };
}

function reportBody(
  { providerMessageId, report }: EventData["message.bounced"],
  event: EventRow,
  message: EventMessage | undefined,
) {
  if (message === undefined) return undefined;
  return {
    ...threadFields(event),
    message: shortMessage(message, providerMessageId),
    report: {
      id: report.id,
      kind: report.kind,
      type: report.type,
      recipient: report.recipient,
      code: report.code,
      enhanced_code: report.enhancedCode,
      diagnostic: report.diagnostic,
      source: report.source,
      proof: report.proof,
      suppressed: report.suppressed,
    },
  };
}

function inboxFields({ inboxId, externalId }: EventRow) {
  return { inbox_id: inboxId ?? "", external_id: externalId };
}

function threadFields(event: EventRow) {
  return { ...inboxFields(event), thread_id: event.threadId ?? "" };
}

function inboxFacts({ address, externalId, createdAt }: EventData["inbox.created"], { inboxId }: EventRow) {
  return { id: inboxId ?? "", address, external_id: externalId, created_at: createdAt };
}

function messageFields(message: EventMessage) {
  return {
    id: message.id,
    rfc_message_id: message.rfcMessageId,
    from: message.from,
    to: message.to,
    cc: message.cc,
    subject: message.subject,
    body_text: message.bodyText,
    attachments: message.attachments,
  };
}

/** The fields of an outbound message in an event about a report or a suppression. */
function shortMessage(message: EventMessage, providerMessageId: string | null) {
  return {
    id: message.id,
    rfc_message_id: message.rfcMessageId,
    provider_message_id: providerMessageId ?? message.rfcMessageId,
    to: message.to,
    subject: message.subject,
    created_at: message.createdAt.toISOString(),
  };
}

function sentFields<Status extends string>(
  message: EventMessage,
  { status, providerMessageId }: { status: Status; providerMessageId: string | null },
) {
  return {
    ...messageFields(message),
    status,
    provider_message_id: providerMessageId ?? message.rfcMessageId,
    created_at: message.createdAt.toISOString(),
  };
}

function addressingFields({ metadata }: EventMessage, { recipients }: EventData["message.sent" | "message.failed"]) {
  return { recipients: recipients.map(recipientFields), metadata: metadata ?? {} };
}

function recipientFields({ address, name, type, status, providerMessageId, failure }: RecipientOutcome) {
  return {
    address,
    name,
    type,
    status,
    provider_message_id: providerMessageId,
    failure: failure === null ? null : failureFields(failure),
  };
}

function failureFields(failure: StoredFailure) {
  const { code, enhancedCode, message, reason } = failure;
  return { code, enhanced_code: enhancedCode, message, reason };
}

/** A message as a payload shows it. */
interface EventMessage {
  id: string;
  rfcMessageId: string;
  from: string;
  to: string;
  cc: string[];
  subject: string;
  bodyText: string;
  attachments: LinkedAttachment[];
  createdAt: Date;
  metadata: Readonly<Record<string, string>> | null;
  included: IncludedFields;
}

/** The message of an event, as its payload shows it. Undefined if the event is about no message, or its message is deleted. */
async function messageOf(
  deps: PayloadDeps,
  event: WholeEvent,
  include: readonly IncludeWord[],
  at: Date,
): Promise<EventMessage | undefined> {
  const { messageId, bodyText } = event;
  if (messageId === null || bodyText === null) return undefined;
  const message = {
    id: messageId,
    rfcMessageId: `<${event.rfcMessageId ?? ""}>`,
    from: event.fromAddr ?? "",
    to: event.toAddr ?? "",
    cc: event.cc ?? [],
    subject: event.subject ?? "",
    bodyText,
    attachments: await linkedAttachments(deps.links, messageId, event.attachments, at),
    createdAt: event.receivedAt ?? event.occurredAt,
    metadata: event.metadata,
  };
  return { ...message, included: await includedFields(deps, event, message, include) };
}

/** The fields that the words of `include` add to a message. */
interface IncludedFields {
  body_html?: string | null;
  from_name?: string | null;
  reply_to?: string | null;
  extracted_text?: string;
  extracted_html?: string | null;
  codes?: Extraction["codes"];
  links?: Extraction["links"];
  automated?: Automated | null;
  to_list?: string[];
  tag?: string | null;
  thread_metadata?: Metadata;
  authentication?: ReturnType<typeof authenticationFields> | null;
  spam?: ReturnType<typeof spamFields> | null;
}

async function includedFields(
  deps: ExtractingDeps,
  { accountId, included: row }: WholeEvent,
  { to, subject, bodyText }: Pick<EventMessage, "to" | "subject" | "bodyText">,
  include: readonly IncludeWord[],
): Promise<IncludedFields> {
  if (row === undefined) return {};
  return {
    ...(include.includes("html") && { body_html: row.bodyHtml, from_name: row.fromName, reply_to: row.replyTo }),
    ...(include.includes("extracted") &&
      extractedFields(await extractedOf(deps, accountId, { ...row, subject, bodyText }))),
    ...(include.includes("automated") && { automated: row.automated }),
    ...(include.includes("recipients") && {
      to_list: row.toAddrs,
      tag: row.direction === "inbound" ? tagOf(to) : null,
      thread_metadata: row.threadMetadata ?? {},
    }),
    ...(include.includes("authentication") && {
      authentication: row.authentication && authenticationFields(row.authentication),
    }),
    ...(include.includes("spam") && { spam: row.spam && spamFields(row.spam) }),
  };
}

function authenticationFields(authentication: Authentication) {
  const { clientAddress, tls, ...fields } = inContractOrder(authentication);
  return { ...fields, client_address: clientAddress, tls };
}

function spamFields({ score, required, isSpam }: Spam) {
  return { score, required, is_spam: isSpam };
}

function extractedFields({ extractedText, extractedHtml, codes, links }: Extraction) {
  return { extracted_text: extractedText, extracted_html: extractedHtml, codes, links };
}
