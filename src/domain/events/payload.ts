import type { Automated } from "../automated.ts";
import { reasonOf, type StoredFailure } from "../outcome.ts";
import type { RecipientOutcome } from "../send/recipients/recipient-outcome.ts";
import type {
  AddedSuppression,
  DisabledWebhook,
  EventData,
  MessageOutcome,
  ReportData,
  ToldInbox,
} from "./event-data.ts";
import type { EventType } from "./event-types.ts";

/** The events that receivers get, as they go over the wire (contract §10). A new event is an entry of `matterOf`. */

/** What an event tells of, as it is kept. */
export interface EventFacts {
  id: string;
  type: EventType;
  occurredAt: Date;
  inboxId: string | null;
  externalId: string | null;
  threadId: string | null;
  data: EventData | null;
  /** Of the types that tell of a message. */
  message: ToldMessage | undefined;
}

export interface ToldMessage {
  id: string;
  rfcMessageId: string;
  fromAddr: string;
  toAddr: string;
  cc: string[];
  subject: string;
  bodyText: string;
  createdAt: Date;
  metadata: Readonly<Record<string, string>> | null;
}

/** What a message says, as it is extracted when it is shown. */
export interface Extraction {
  extractedText: string;
  extractedHtml: string | null;
  codes: readonly object[];
  links: readonly object[];
}

/** Of a message, what only those see who asked for it: each block where its word was. */
export interface IncludedOfMessage {
  html?: { bodyHtml: string | null; fromName: string | null; replyTo: string | null };
  extracted?: Extraction;
  automated?: { automated: Automated | null };
  recipients?: { toList: readonly string[]; tag: string | null };
}

/** What goes over the wire beside the facts; `attachments` have links that are fresh each time. */
export interface ShownOfMessage<Attachment> {
  attachments: readonly Attachment[];
  included: IncludedOfMessage;
}

/** What belongs to one attempt to deliver an event, and to nothing else (contract §10.7). */
export interface DeliveryFacts {
  deliveredAt: Date;
  /** From 1. */
  attempt: number;
}

/** An event as the log tells it, which knows of no delivery. Undefined where what it tells of is gone. */
export function toldEvent<Attachment>(event: EventFacts, shown: ShownOfMessage<Attachment>): ToldEvent | undefined {
  const matter = matterOf[event.type](event, shown);
  return matter && { ...headOf(event), ...matter };
}

function headOf({ id, type, occurredAt, inboxId, externalId }: EventFacts) {
  const told = { event: type, event_id: id, occurred_at: occurredAt.toISOString() };
  return { ...told, inbox_id: inboxId, external_id: externalId };
}

type Matter = (event: EventFacts, shown: ShownOfMessage<unknown>) => object | undefined;

/** What each type tells beside what all have. The fields in the order of the contract. */
const matterOf: Readonly<Record<EventType, Matter>> = {
  "message.received": ({ threadId, message }, { attachments, included }) =>
    message && {
      thread_id: threadId,
      message: {
        ...messageFields(message, attachments),
        received_at: message.createdAt.toISOString(),
        ...includedFields(included),
      },
    },
  "message.sent": outcomeOfMessage,
  "message.failed": outcomeOfMessage,
  "inbox.created": inboxMatter,
  "inbox.deleted": inboxMatter,
  "webhook.disabled": ({ occurredAt, data }) => {
    const { webhookId, url, reason } = data as DisabledWebhook;
    return { webhook: { id: webhookId, url, reason, disabled_at: occurredAt.toISOString() } };
  },
  "message.delayed": reportOfMessage,
  "message.delivered": reportOfMessage,
  "message.bounced": reportOfMessage,
  "message.complained": reportOfMessage,
  "suppression.added": ({ threadId, message, data }) => {
    const { providerMessageId, suppression } = data as AddedSuppression;
    const { id, address, inboxId, reason, expiresAt } = suppression;
    return (
      message && {
        thread_id: threadId,
        message: messageInShort(message, providerMessageId),
        suppression: { id, address, inbox_id: inboxId, reason, expires_at: expiresAt },
      }
    );
  },
};

function outcomeOfMessage(
  { threadId, message, data, occurredAt }: EventFacts,
  { attachments, included }: ShownOfMessage<unknown>,
): object | undefined {
  if (message === undefined) return undefined;
  const { status, providerMessageId, failure, recipients } = data as MessageOutcome;
  const at = occurredAt.toISOString();
  const only: RecipientOutcome = {
    ...{ address: message.toAddr, name: null, type: "to", status, providerMessageId },
    failure: failure ?? null,
  };
  const told = { status, provider_message_id: providerMessageId ?? `<${message.rfcMessageId}>` };
  const outcome =
    failure === undefined
      ? { sent_at: at }
      : {
          failed_at: at,
          failure: failureFields(failure),
        };
  return {
    thread_id: threadId,
    message: {
      ...messageFields(message, attachments),
      ...{ ...told, created_at: message.createdAt.toISOString(), ...outcome },
      ...includedFields(included),
      recipients: (recipients ?? [only]).map(recipientFields),
      metadata: message.metadata ?? {},
    },
  };
}

function failureFields(failure: StoredFailure) {
  const { code, enhancedCode, message } = failure;
  return { code, enhanced_code: enhancedCode, message, reason: reasonOf(failure) };
}

function recipientFields({ address, name, type, status, providerMessageId, failure }: RecipientOutcome) {
  const told = { address, name, type, status, provider_message_id: providerMessageId };
  return { ...told, failure: failure === null ? null : failureFields(failure) };
}

function reportOfMessage({ threadId, message, data }: EventFacts): object | undefined {
  const { providerMessageId, report } = data as ReportData;
  const { id, kind, type, recipient, code, enhancedCode, diagnostic, source, proof, suppressed } = report;
  return (
    message && {
      thread_id: threadId,
      message: messageInShort(message, providerMessageId),
      report: {
        ...{ id, kind, type, recipient, code, enhanced_code: enhancedCode, diagnostic },
        ...{ source, proof, suppressed },
      },
    }
  );
}

function inboxMatter({ inboxId, data, type, occurredAt }: EventFacts): object {
  const { address, externalId, createdAt } = data as ToldInbox;
  const told = { id: inboxId, address, external_id: externalId, created_at: createdAt };
  return { inbox: type === "inbox.deleted" ? { ...told, deleted_at: occurredAt.toISOString() } : told };
}

/** A message of ours of which something came back. */
function messageInShort(message: ToldMessage, providerMessageId: string | null) {
  const rfcMessageId = `<${message.rfcMessageId}>`;
  return {
    ...{ id: message.id, rfc_message_id: rfcMessageId, provider_message_id: providerMessageId ?? rfcMessageId },
    ...{ to: message.toAddr, subject: message.subject, created_at: message.createdAt.toISOString() },
  };
}

function messageFields(message: ToldMessage, attachments: readonly unknown[]) {
  return {
    id: message.id,
    rfc_message_id: `<${message.rfcMessageId}>`,
    from: message.fromAddr,
    to: message.toAddr,
    cc: message.cc,
    subject: message.subject,
    body_text: message.bodyText,
    attachments,
  };
}

function includedFields({ html, extracted, automated, recipients }: IncludedOfMessage) {
  return {
    ...(html && { body_html: html.bodyHtml, from_name: html.fromName, reply_to: html.replyTo }),
    ...(extracted && {
      extracted_text: extracted.extractedText,
      extracted_html: extracted.extractedHtml,
      codes: extracted.codes,
      links: extracted.links,
    }),
    ...automated,
    ...(recipients && { to_list: recipients.toList, tag: recipients.tag }),
  };
}

/** An event that tells of nothing: it shows that a receiver is there and checks signatures. */
export function webhookTest(id: string, at: Date) {
  return delivered(
    { event: "webhook.test" as const, event_id: id, occurred_at: at.toISOString() },
    { deliveredAt: at, attempt: 1 },
  );
}

interface Told {
  event: string;
  event_id: string;
  occurred_at: string;
}

export type ToldEvent = Told & Record<string, unknown>;

/** An event as one attempt delivers it. The fields in the order of the contract: receivers that serialise again must get the same bytes. */
export function delivered<Event extends Told>(told: Event, { deliveredAt, attempt }: DeliveryFacts) {
  const { event, event_id, occurred_at, ...matter } = told;
  return { event, event_id, occurred_at, delivered_at: deliveredAt.toISOString(), attempt, ...matter };
}
