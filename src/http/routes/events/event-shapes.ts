import { Type } from "@sinclair/typebox";
import { failedReasons } from "../../../domain/domains/domain-states.ts";
import { failureReasons } from "../../../domain/outcome.ts";
import { reportKinds } from "../../../domain/reports/report.ts";
import { eventOf } from "../../document/event-schema.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { taggedUnion } from "../../document/tagged-union.ts";
import type { EventKind } from "../../document/webhooks.ts";
import { instant, nullable, oneOf } from "../../shell/models.ts";
import { domainFields, recordFields } from "../account/domain-shape.ts";
import { AuthenticationOfEvent, SpamOfEvent } from "../mail/authentication-shape.ts";
import { Code, Link } from "../mail/extracted-shape.ts";
import { Attachment, Automated } from "../mail/message-shape.ts";
import { quarantineFields } from "../mail/quarantine-shape.ts";
import { addressee } from "../mail/recipient-shape.ts";
import { reportFields } from "../mail/report-shapes.ts";
import { approvalFields, reasonsShown } from "../send/approval-shape.ts";

const ofInbox = {
  inbox_id: Type.String({ description: "The inbox that the event is about", examples: [examples.inboxId] }),
  external_id: nullable(Type.String({ examples: [examples.externalId] }), {
    description: "Your own id for the inbox's owner, if it has one",
  }),
};

const ofThread = {
  ...ofInbox,
  thread_id: Type.String({ description: "Thread of the message", examples: [examples.threadId] }),
};

const ofNoInbox = {
  inbox_id: nullable(Type.String(), { description: "Null: the event is about no inbox", examples: [null] }),
  external_id: nullable(Type.String(), { description: "Null: the event is about no inbox", examples: [null] }),
};

const ofDomain = {
  ...ofNoInbox,
  domain: named(
    "DomainOfEvent",
    Type.Object(
      {
        id: domainFields.id,
        domain: domainFields.domain,
        status: domainFields.status,
        sending: domainFields.sending,
        receiving: domainFields.receiving,
        reason: nullable(oneOf(failedReasons, { examples: ["proof_gone"] }), {
          description:
            "Why it failed; null unless it did. `never_proven`: its DKIM record was not found within 72 hours; `proof_gone`: the record was gone for too long; `moved`: another account has proven the domain",
        }),
      },
      { description: "The domain, with the field names of events" },
    ),
  ),
  records: Type.Array(
    named(
      "DomainRecordOfEvent",
      Type.Object(
        {
          purpose: recordFields.purpose,
          name: recordFields.name,
          type: recordFields.type,
          status: recordFields.status,
          problem: recordFields.problem,
        },
        { description: "A DNS record of the domain, as the last check found it" },
      ),
    ),
    { description: "Its DNS records" },
  ),
};

/** Fields of a message in all its events. */
const messageFields = {
  id: Type.String({ description: "Id of the message", examples: [examples.messageId] }),
  rfc_message_id: Type.String({ description: "Its `Message-ID`", examples: [examples.rfcMessageId] }),
  from: Type.String({ description: "Address of the sender, as the mail says", examples: [examples.sender] }),
  to: Type.String({ description: "Address that received it, or that it goes to", examples: [examples.address] }),
  cc: Type.Array(Type.String({ examples: ["joe@example.com"] }), {
    description: "Addresses of further recipients, as the mail says",
  }),
  subject: Type.String({ description: "Empty if it has none", examples: [examples.subject] }),
  body_text: Type.String({
    description: "Made from the HTML if the mail has no text",
    examples: [examples.question],
  }),
  attachments: Type.Array(Attachment, { description: "Its files, with newly signed URLs" }),
};

/** Fields that an event has only with `include`. */
const includedFields = {
  body_html: Type.Optional(
    nullable(Type.String(), {
      description: "With `include` of `html`: the HTML as it came, not sanitised",
      examples: [null],
    }),
  ),
  from_name: Type.Optional(
    nullable(Type.String({ examples: ["Ada Lovelace"] }), { description: "With `html`: name of the sender" }),
  ),
  reply_to: Type.Optional(
    nullable(Type.String({ examples: [examples.sender] }), { description: "With `html`: where replies go" }),
  ),
  extracted_text: Type.Optional(
    Type.String({ description: "With `extracted`: the text without quotes and signature" }),
  ),
  extracted_html: Type.Optional(
    nullable(Type.String(), {
      description: "With `extracted`: the HTML without quotes and signature",
      examples: [null],
    }),
  ),
  codes: Type.Optional(Type.Array(Code, { description: "With `extracted`: one-time codes, best first" })),
  links: Type.Optional(Type.Array(Link, { description: "With `extracted`: links, in order" })),
  automated: Type.Optional(
    nullable(Automated, {
      description: "With `automated`: the signs that a program wrote it; null if there are none",
      examples: [null],
    }),
  ),
  to_list: Type.Optional(
    Type.Array(Type.String({ examples: [examples.address] }), {
      description: "With `recipients`: the addresses of its To field",
    }),
  ),
  tag: Type.Optional(
    nullable(Type.String({ examples: ["orders"] }), {
      description: "With `recipients`, of inbound mail: the part behind the `+` in `to`",
      examples: [null],
    }),
  ),
  thread_metadata: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description: "With `recipients`: the metadata of its thread",
      examples: [{}],
    }),
  ),
  authentication: Type.Optional(
    nullable(AuthenticationOfEvent, {
      description: "With `authentication`: who really sent it; null if that was not checked",
      examples: [null],
    }),
  ),
  spam: Type.Optional(
    nullable(SpamOfEvent, {
      description: "With `spam`: what the operator's spam filter says; null without one",
      examples: [null],
    }),
  ),
};

const acceptedFields = {
  provider_message_id: Type.String({
    description: "The relay's id of the message, if it named one",
    examples: [examples.rfcMessageId],
  }),
  created_at: instant({ description: "When it was accepted for sending" }),
};

const failure = Type.Object(
  {
    code: nullable(Type.Integer({ examples: [550] }), { description: "Null if no server answered" }),
    enhanced_code: nullable(Type.String({ examples: ["5.1.1"] }), { description: "Enhanced status code (RFC 3463)" }),
    message: Type.String({ description: "The answer in one line", examples: ["No such user"] }),
    reason: oneOf(failureReasons, { description: "Why it failed", examples: ["refused"] }),
  },
  { description: "Why it failed" },
);

/** Fields for recipients and metadata. They come last in a payload. */
const addressingFields = {
  recipients: Type.Array(
    Type.Object({
      ...addressee,
      status: oneOf(["pending", "sent", "failed"], {
        description: "Status of this copy at that time",
        examples: ["sent"],
      }),
      provider_message_id: nullable(Type.String({ examples: [examples.providerMessageId] }), {
        description: "The relay's id of this copy, if it named one",
      }),
      failure: nullable(failure, { description: "Why this copy could not be delivered", examples: [null] }),
    }),
    { description: "All recipients, each with the status of its copy at that time" },
  ),
  metadata: Type.Record(Type.String(), Type.String(), { description: "The metadata of the send", examples: [{}] }),
};

const inbox = {
  id: Type.String({ description: "Id of the inbox", examples: [examples.inboxId] }),
  address: Type.String({ description: "Its address", examples: [examples.address] }),
  external_id: ofInbox.external_id,
  created_at: instant({ description: "When it was created", examples: [examples.inboxCreatedAt] }),
};

/** A message of the account, in the events about a report or a suppression. */
const MessageInShort = named(
  "MessageInShort",
  Type.Object(
    {
      id: Type.String({ description: "Id of the message", examples: [examples.answerId] }),
      rfc_message_id: Type.String({ description: "Its `Message-ID`", examples: [examples.rfcMessageId] }),
      provider_message_id: Type.String({
        description: "The relay's id of the message, if it named one",
        examples: [examples.providerMessageId],
      }),
      to: Type.String({ description: "Address that it went to", examples: [examples.sender] }),
      subject: Type.String({ description: "Empty if it has none", examples: [examples.subject] }),
      created_at: instant({ description: "When it was accepted for sending" }),
    },
    { description: "Your message that the event is about" },
  ),
);

const ToldReport = named(
  "ToldReport",
  Type.Object(
    {
      id: Type.String({ description: "Id of the report", examples: [examples.reportId] }),
      kind: oneOf(reportKinds, { description: "What the report says about the message", examples: ["bounced"] }),
      type: reportFields.type,
      recipient: nullable(Type.String({ examples: [examples.sender] }), {
        description: "The recipient; null if the report names none of them",
      }),
      code: reportFields.code,
      enhanced_code: reportFields.enhancedCode,
      diagnostic: reportFields.diagnostic,
      source: reportFields.source,
      proof: reportFields.proof,
      suppressed: Type.Boolean({ description: "Whether it suppressed the recipient", examples: [true] }),
    },
    { description: "The report, with the field names of events" },
  ),
);

const AddedSuppression = named(
  "AddedSuppression",
  Type.Object(
    {
      id: Type.String({ description: "Id of the suppression", examples: [examples.suppressionId] }),
      address: Type.String({ description: "The suppressed address", examples: [examples.sender] }),
      inbox_id: nullable(Type.String(), {
        description: "The inbox that it applies to; null: all inboxes",
        examples: [null],
      }),
      reason: oneOf(["bounce", "complaint", "unsubscribe"], { description: "Why", examples: ["bounce"] }),
      expires_at: nullable(instant({ examples: [examples.suppressedUntil] }), {
        description: "When it ends; null: never",
      }),
    },
    { description: "The suppression, with the field names of events" },
  ),
);

const BlockedMail = named(
  "BlockedMail",
  Type.Object(
    {
      id: Type.String({ description: "Id of the quarantined mail", examples: [examples.quarantinedId] }),
      reason: quarantineFields.reason,
      rule_id: quarantineFields.ruleId,
      from: quarantineFields.fromAddr,
      to: quarantineFields.toAddr,
      subject: quarantineFields.subject,
      received_at: quarantineFields.receivedAt,
    },
    {
      description:
        "The quarantined mail, with the field names of events. It has no body, so that no program acts on it",
    },
  ),
);

const addresses = (description: string, example: string[]) =>
  Type.Array(Type.String({ examples: [examples.sender] }), { description, examples: [example] });

const draftOfEvent = {
  id: Type.String({ description: "Id of the draft, and of its message", examples: [examples.draftId] }),
  version: Type.Integer({ minimum: 1, description: "The version that it is about", examples: [1] }),
};

const RequestedDraft = named(
  "RequestedDraft",
  Type.Object(
    {
      ...draftOfEvent,
      reasons: reasonsShown(),
      new_recipients: addresses("The recipients that the inbox does not know", [examples.sender]),
      from: Type.String({ description: "Address of the sender", examples: [examples.address] }),
      to: addresses("Recipients", [examples.sender]),
      cc: addresses("Visible further recipients", []),
      bcc: addresses("Hidden recipients", []),
      subject: Type.String({ description: "Empty if it has none", examples: [`Re: ${examples.subject}`] }),
      body_text: Type.String({
        description: "The text that would be sent, with its quote",
        examples: [examples.answer],
      }),
      attachments: Type.Array(Attachment, { description: "Its files, with newly signed URLs", examples: [[]] }),
      metadata: Type.Record(Type.String(), Type.String(), { description: "The metadata of the send", examples: [{}] }),
      send_at: nullable(instant(), {
        description: "When it is to be sent; null: once it is approved",
        examples: [null],
      }),
      requested_at: instant({ description: "When it began to wait" }),
      expires_at: instant({ description: "When it expires if nobody decides" }),
    },
    { description: "A mail that waits for a person, with the field names of events" },
  ),
);

const ResolvedDraft = named(
  "ResolvedDraft",
  Type.Object(
    {
      ...draftOfEvent,
      decision: approvalFields.decision,
      decided_by: approvalFields.decidedBy,
      decided_at: approvalFields.decidedAt,
      reason: approvalFields.reason,
      edited: approvalFields.edited,
    },
    { description: "The decision about a mail, with the field names of events" },
  ),
);

const reportEvent = { ...ofThread, message: MessageInShort, report: ToldReport };

/** All events of the log, in the order of the documentation. The payloads are made in flows/events/event-payload.ts. */
const logged = [
  eventOf("message.received", {
    name: "MessageReceived",
    description: "Mail arrived at an inbox",
    fields: {
      ...ofThread,
      message: named(
        "ReceivedMessage",
        Type.Object(
          { ...messageFields, received_at: instant({ description: "When it was received" }), ...includedFields },
          { description: "The message, with the field names of events" },
        ),
      ),
    },
  }),
  eventOf("message.sent", {
    name: "MessageSent",
    description: "The next server accepted a message of yours",
    fields: {
      ...ofThread,
      message: named(
        "SentMessage",
        Type.Object(
          {
            ...messageFields,
            status: oneOf(["sent"], { description: "Status of the message" }),
            ...acceptedFields,
            sent_at: instant({ description: "When that server accepted it" }),
            ...includedFields,
            ...addressingFields,
          },
          { description: "The message, with the field names of events" },
        ),
      ),
    },
  }),
  eventOf("message.failed", {
    name: "MessageFailed",
    description: "A message of yours was refused, given up or canceled",
    fields: {
      ...ofThread,
      message: named(
        "FailedMessage",
        Type.Object(
          {
            ...messageFields,
            status: oneOf(["failed", "sent"], { description: "`sent` if other recipients got it" }),
            ...acceptedFields,
            failed_at: instant({ description: "When it failed" }),
            failure,
            ...includedFields,
            ...addressingFields,
          },
          { description: "The message, with the field names of events" },
        ),
      ),
    },
  }),
  eventOf("inbox.created", {
    name: "InboxCreated",
    description: "An inbox was created",
    fields: {
      ...ofInbox,
      inbox: named(
        "CreatedInboxOfEvent",
        Type.Object(inbox, { description: "The inbox, with the field names of events" }),
      ),
    },
  }),
  eventOf("inbox.deleted", {
    name: "InboxDeleted",
    description: "An inbox was deleted",
    fields: {
      ...ofInbox,
      inbox: named(
        "DeletedInboxOfEvent",
        Type.Object(
          { ...inbox, deleted_at: instant({ description: "When it was deleted" }) },
          { description: "The inbox, with the field names of events" },
        ),
      ),
    },
  }),
  eventOf("webhook.disabled", {
    name: "WebhookDisabled",
    description: "A webhook endpoint was disabled: it gets no events until it is enabled",
    fields: {
      ...ofNoInbox,
      webhook: named(
        "DisabledWebhook",
        Type.Object(
          {
            id: Type.String({ description: "Id of the endpoint", examples: [examples.webhookId] }),
            url: Type.String({ description: "URL of the endpoint", examples: [examples.webhookUrl] }),
            reason: oneOf(["gone", "failing", "manual"], {
              description:
                "`gone`: it answered 410; `failing`: all deliveries failed for days; `manual`: you disabled it",
              examples: ["failing"],
            }),
            disabled_at: instant({ description: "When it was disabled" }),
          },
          { description: "The endpoint, with the field names of events" },
        ),
      ),
    },
  }),
  eventOf("message.delayed", {
    name: "MessageDelayed",
    description: "A server is still trying to deliver a message of yours",
    fields: reportEvent,
  }),
  eventOf("message.delivered", {
    name: "MessageDelivered",
    description: "A message of yours was delivered, as the recipient's server reports",
    fields: reportEvent,
  }),
  eventOf("message.bounced", {
    name: "MessageBounced",
    description: "A message of yours bounced after the next server had accepted it",
    fields: reportEvent,
  }),
  eventOf("message.complained", {
    name: "MessageComplained",
    description: "The recipient of a message of yours reported it as spam",
    fields: reportEvent,
  }),
  eventOf("message.blocked", {
    name: "MessageBlocked",
    description: "Mail was blocked by a rule or a policy, and went into the quarantine",
    fields: {
      ...ofInbox,
      thread_id: nullable(Type.String({ examples: [examples.threadId] }), {
        description: "Null: quarantined mail is in no thread",
        examples: [null],
      }),
      quarantined: BlockedMail,
    },
  }),
  eventOf("suppression.added", {
    name: "SuppressionAdded",
    description: "An address was suppressed, because it bounced, complained or unsubscribed",
    fields: { ...ofThread, message: MessageInShort, suppression: AddedSuppression },
  }),
  eventOf("domain.verified", {
    name: "DomainVerified",
    description: "A domain of yours is proven, for the first time or again: its inboxes send and receive",
    fields: ofDomain,
  }),
  eventOf("domain.failing", {
    name: "DomainFailing",
    description: "The proof of a domain is gone from the DNS. Everything goes on until the domain fails",
    fields: ofDomain,
  }),
  eventOf("domain.failed", {
    name: "DomainFailed",
    description: "A domain is not proven, or no longer: its inboxes send and receive no more",
    fields: ofDomain,
  }),
  eventOf("approval.requested", {
    name: "ApprovalRequested",
    description: "A mail waits for the approval of a person, or was changed while it waits",
    fields: { ...ofThread, draft: RequestedDraft },
  }),
  eventOf("approval.resolved", {
    name: "ApprovalResolved",
    description: "A mail waits for a person no longer: it was approved or rejected, has expired, or was canceled",
    fields: { ...ofThread, draft: ResolvedDraft },
  }),
];

/** Any event of the log. */
export const Event = taggedUnion(
  "event",
  "Event",
  "An event of any type. `event` is its type",
  logged.map((event) => event.logged),
);

/** The event of a requested test. It is sent to the endpoint only, and is not in the log. */
const webhookTest = eventOf("webhook.test", {
  name: "WebhookTest",
  description: "A test that you requested. It is not in the log and is not retried",
  fields: {},
});

/** All events that a webhook endpoint can get. */
export const eventKinds: readonly EventKind[] = [...logged, webhookTest].map(({ event, description, delivery }) => ({
  event,
  delivery,
  summary: `Receive ${event}`,
  description: `${description}. Verify the signature, answer with any 2xx within 15 seconds, and do the work afterwards. \`event_id\` shows whether a delivery came twice.`,
}));
