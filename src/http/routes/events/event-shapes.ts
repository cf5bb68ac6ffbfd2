import { Type } from "@sinclair/typebox";
import { failureReasons } from "../../../domain/outcome.ts";
import { reportKinds } from "../../../domain/reports/report.ts";
import { recipientTypes } from "../../../domain/send/recipients/entries.ts";
import { eventOf, eventUnion } from "../../document/event-schema.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import type { EventKind } from "../../document/webhooks.ts";
import { instant, nullable, oneOf } from "../../shell/models.ts";
import { Code, Link } from "../mail/extracted-shape.ts";
import { Attachment, Automated } from "../mail/message-shape.ts";
import { reportFields } from "../mail/report-shapes.ts";

const ofInbox = {
  inbox_id: Type.String({ description: "Inbox that it is about", examples: [examples.inboxId] }),
  external_id: nullable(Type.String({ examples: [examples.externalId] }), {
    description: "Your own id of the inbox's owner, where it has one",
  }),
};

const ofThread = {
  ...ofInbox,
  thread_id: Type.String({ description: "Thread of the message", examples: [examples.threadId] }),
};

/** Fields of a message in all its events. */
const messageFields = {
  id: Type.String({ description: "Id of the message", examples: [examples.messageId] }),
  rfc_message_id: Type.String({ description: "Its `Message-ID`", examples: [examples.rfcMessageId] }),
  from: Type.String({ description: "Address of the sender, as the mail says", examples: [examples.sender] }),
  to: Type.String({ description: "Address that it came in at, or goes to", examples: [examples.address] }),
  cc: Type.Array(Type.String({ examples: ["joe@example.com"] }), {
    description: "Addresses of further recipients, as the mail says",
  }),
  subject: Type.String({ description: "Empty where it has none", examples: [examples.subject] }),
  body_text: Type.String({
    description: "Made from the HTML where only HTML came",
    examples: [examples.question],
  }),
  attachments: Type.Array(Attachment, { description: "Its files, with fresh addresses" }),
};

/** Fields that an event has only with `include`. */
const includedFields = {
  body_html: Type.Optional(
    nullable(Type.String(), { description: "With `include` of `html`: as it came, not made safe", examples: [null] }),
  ),
  from_name: Type.Optional(
    nullable(Type.String({ examples: ["Ada Lovelace"] }), { description: "With `html`: name of the sender" }),
  ),
  reply_to: Type.Optional(
    nullable(Type.String({ examples: [examples.sender] }), { description: "With `html`: where answers shall go" }),
  ),
  extracted_text: Type.Optional(Type.String({ description: "With `extracted`: what is new in a reply" })),
  extracted_html: Type.Optional(
    nullable(Type.String(), { description: "With `extracted`: the same of the HTML", examples: [null] }),
  ),
  codes: Type.Optional(Type.Array(Code, { description: "With `extracted`: one-time codes, best first" })),
  links: Type.Optional(Type.Array(Link, { description: "With `extracted`: links, in their order" })),
  automated: Type.Optional(
    nullable(Automated, {
      description: "With `automated`: by what it shows that no person wrote it; null where it shows nothing",
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
      description: "With `recipients`, of mail that came in: what stands behind the `+` in `to`",
      examples: [null],
    }),
  ),
};

const acceptedFields = {
  provider_message_id: Type.String({
    description: "What the relay calls it, where it said so",
    examples: [examples.rfcMessageId],
  }),
  created_at: instant({ description: "When it was accepted for sending" }),
};

const failure = Type.Object(
  {
    code: nullable(Type.Integer({ examples: [550] }), { description: "Null where nobody answered" }),
    enhanced_code: nullable(Type.String({ examples: ["5.1.1"] }), { description: "As RFC 3463 has it" }),
    message: Type.String({ description: "One line", examples: ["No such user"] }),
    reason: oneOf(failureReasons, { description: "`refused` for good, or `timed_out`", examples: ["refused"] }),
  },
  { description: "Why" },
);

/** Recipients and metadata, which come last. */
const addressingFields = {
  recipients: Type.Array(
    Type.Object({
      address: Type.String({ description: "His address", examples: [examples.sender] }),
      name: nullable(Type.String({ examples: [examples.senderName] }), {
        description: "As the mail has it",
        examples: [null],
      }),
      type: oneOf(recipientTypes, { description: "In which field he was given", examples: ["to"] }),
      status: oneOf(["pending", "sent", "failed"], { description: "What had become of his copy", examples: ["sent"] }),
      provider_message_id: nullable(Type.String({ examples: [examples.providerMessageId] }), {
        description: "What the relay calls his copy, where it said so",
      }),
      failure: nullable(failure, { description: "Why it could not be delivered to him", examples: [null] }),
    }),
    { description: "All to whom it goes, each with what had become of his copy" },
  ),
  metadata: Type.Record(Type.String(), Type.String(), { description: "What was given with it", examples: [{}] }),
};

const inbox = {
  id: Type.String({ description: "Id of the inbox", examples: [examples.inboxId] }),
  address: Type.String({ description: "Its address", examples: [examples.address] }),
  external_id: ofInbox.external_id,
  created_at: instant({ description: "When it was made", examples: [examples.inboxCreatedAt] }),
};

/** A message of the account, in the events about a report or a suppression. */
const MessageInShort = named(
  "MessageInShort",
  Type.Object(
    {
      id: Type.String({ description: "Id of the message", examples: [examples.answerId] }),
      rfc_message_id: Type.String({ description: "Its `Message-ID`", examples: [examples.rfcMessageId] }),
      provider_message_id: Type.String({
        description: "What the relay calls it, where it said so",
        examples: [examples.providerMessageId],
      }),
      to: Type.String({ description: "Address that it went to", examples: [examples.sender] }),
      subject: Type.String({ description: "Empty where it has none", examples: [examples.subject] }),
      created_at: instant({ description: "When it was accepted for sending" }),
    },
    { description: "The mail of yours that it came of" },
  ),
);

const ToldReport = named(
  "ToldReport",
  Type.Object(
    {
      id: Type.String({ description: "Id of the report", examples: [examples.reportId] }),
      kind: oneOf(reportKinds, { description: "What has become of the message", examples: ["bounced"] }),
      type: reportFields.type,
      recipient: nullable(Type.String({ examples: [examples.sender] }), {
        description: "Whom you wrote to; null where it names nobody of them",
      }),
      code: reportFields.code,
      enhanced_code: reportFields.enhancedCode,
      diagnostic: reportFields.diagnostic,
      source: reportFields.source,
      proof: reportFields.proof,
      suppressed: Type.Boolean({ description: "Whether it had the recipient suppressed", examples: [true] }),
    },
    { description: "What came back, in the words of events" },
  ),
);

const AddedSuppression = named(
  "AddedSuppression",
  Type.Object(
    {
      id: Type.String({ description: "Id of the suppression", examples: [examples.suppressionId] }),
      address: Type.String({ description: "Address that nothing is sent to any more", examples: [examples.sender] }),
      inbox_id: nullable(Type.String(), {
        description: "The inbox that it holds for; null: all of them",
        examples: [null],
      }),
      reason: oneOf(["bounce", "complaint", "unsubscribe"], { description: "Why", examples: ["bounce"] }),
      expires_at: nullable(instant({ examples: [examples.suppressedUntil] }), { description: "Null: it has no end" }),
    },
    { description: "The suppression, in the words of events" },
  ),
);

const reportEvent = { ...ofThread, message: MessageInShort, report: ToldReport };

/** All events of the log, in the order of the documentation. The payloads are made in flows/events/event-payload.ts. */
const logged = [
  eventOf("message.received", {
    name: "MessageReceived",
    description: "Mail has come in at an inbox",
    fields: {
      ...ofThread,
      message: named(
        "ReceivedMessage",
        Type.Object(
          { ...messageFields, received_at: instant({ description: "When it was taken in" }), ...includedFields },
          { description: "The mail, in the words of events" },
        ),
      ),
    },
  }),
  eventOf("message.sent", {
    name: "MessageSent",
    description: "The next server has taken a mail of yours",
    fields: {
      ...ofThread,
      message: named(
        "SentMessage",
        Type.Object(
          {
            ...messageFields,
            status: oneOf(["sent"], { description: "What has become of it" }),
            ...acceptedFields,
            sent_at: instant({ description: "When that server took it" }),
            ...includedFields,
            ...addressingFields,
          },
          { description: "The mail, in the words of events" },
        ),
      ),
    },
  }),
  eventOf("message.failed", {
    name: "MessageFailed",
    description: "A mail of yours was refused for good, or given up",
    fields: {
      ...ofThread,
      message: named(
        "FailedMessage",
        Type.Object(
          {
            ...messageFields,
            status: oneOf(["failed", "sent"], { description: "`sent` where it reached others: it failed in part" }),
            ...acceptedFields,
            failed_at: instant({ description: "When it was given up" }),
            failure,
            ...includedFields,
            ...addressingFields,
          },
          { description: "The mail, in the words of events" },
        ),
      ),
    },
  }),
  eventOf("inbox.created", {
    name: "InboxCreated",
    description: "An inbox was made",
    fields: {
      ...ofInbox,
      inbox: named("CreatedInboxOfEvent", Type.Object(inbox, { description: "The inbox, in the words of events" })),
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
          { description: "The inbox, in the words of events" },
        ),
      ),
    },
  }),
  eventOf("webhook.disabled", {
    name: "WebhookDisabled",
    description: "A webhook endpoint gets nothing any more until it is enabled",
    fields: {
      inbox_id: nullable(Type.String(), { description: "Null: it is about no inbox", examples: [null] }),
      external_id: nullable(Type.String(), { description: "Null: it is about no inbox", examples: [null] }),
      webhook: named(
        "DisabledWebhook",
        Type.Object(
          {
            id: Type.String({ description: "Id of the endpoint", examples: [examples.webhookId] }),
            url: Type.String({ description: "Where it was", examples: [examples.webhookUrl] }),
            reason: oneOf(["gone", "failing", "manual"], {
              description: "`gone`: it answered 410; `failing`: it took nothing for days; `manual`: you asked for it",
              examples: ["failing"],
            }),
            disabled_at: instant({ description: "Since when" }),
          },
          { description: "The endpoint, in the words of events" },
        ),
      ),
    },
  }),
  eventOf("message.delayed", {
    name: "MessageDelayed",
    description: "A server still tries to deliver a mail of yours",
    fields: reportEvent,
  }),
  eventOf("message.delivered", {
    name: "MessageDelivered",
    description: "A mail of yours has arrived, as its recipient's server says",
    fields: reportEvent,
  }),
  eventOf("message.bounced", {
    name: "MessageBounced",
    description: "A mail of yours, which the next server had taken, came back",
    fields: reportEvent,
  }),
  eventOf("message.complained", {
    name: "MessageComplained",
    description: "The recipient of a mail of yours calls it unwanted",
    fields: reportEvent,
  }),
  eventOf("suppression.added", {
    name: "SuppressionAdded",
    description: "Nothing is sent to an address any more, since it bounced, complained or unsubscribed",
    fields: { ...ofThread, message: MessageInShort, suppression: AddedSuppression },
  }),
];

/** Any event of the log. */
export const Event = eventUnion(
  "Event",
  "What has happened, told apart by `event`",
  logged.map((event) => event.logged),
);

/** Sent to an endpoint when its owner asks for a test, and never in the log. */
const webhookTest = eventOf("webhook.test", {
  name: "WebhookTest",
  description: "You asked for a test: it tells of nothing, is in no log, and is not repeated",
  fields: {},
});

/** All events that a webhook endpoint can get. */
export const eventKinds: readonly EventKind[] = [...logged, webhookTest].map(({ event, description, delivery }) => ({
  event,
  delivery,
  summary: `Be told: ${event}`,
  description: `${description}. Verify the signature, answer with any 2xx within 15 seconds, and work behind the answer; \`event_id\` tells a delivery that came twice.`,
}));
