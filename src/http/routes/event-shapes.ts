import { Kind, type Static, type TObject, type TProperties, type TSchema, Type, TypeRegistry } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { examples } from "../document/examples.ts";
import { named, placeOf } from "../document/schema.ts";
import type { EventKind } from "../document/webhooks.ts";
import { instant, nullable, oneOf } from "../shell/models.ts";
import { Attachment } from "./message-shape.ts";

/** What belongs to one attempt and to nothing else (contract §10.7). */
const attempt = {
  delivered_at: instant({ description: "When this attempt was made", examples: ["2026-03-21T10:05:01.000Z"] }),
  attempt: Type.Integer({ description: "The number of the attempt, from 1", examples: [1] }),
};

/** Every kind of event, with what stands in it beside what all have: a new kind is one entry here (contract §10). */
const MessageReceived = eventOf("message.received", {
  name: "MessageReceived",
  description: "Mail has come in at an inbox",
  fields: {
    inbox_id: Type.String({ description: "Inbox that it came in at", examples: [examples.inboxId] }),
    external_id: nullable(Type.String({ examples: [examples.externalId] }), {
      description: "Your own id of the inbox's owner, where it has one",
    }),
    thread_id: Type.String({ description: "Thread that it joined or began", examples: [examples.threadId] }),
    message: named(
      "ReceivedMessage",
      Type.Object(
        {
          id: Type.String({ description: "Id of the message", examples: [examples.messageId] }),
          rfc_message_id: Type.String({ description: "Its `Message-ID`", examples: [examples.rfcMessageId] }),
          from: Type.String({ description: "Address of the sender, as the mail says", examples: [examples.sender] }),
          to: Type.String({ description: "Address that it came in at", examples: [examples.address] }),
          cc: Type.Array(Type.String({ examples: ["joe@example.com"] }), {
            description: "Addresses of further recipients, as the mail says",
          }),
          subject: Type.String({ description: "Empty where it has none", examples: [examples.subject] }),
          body_text: Type.String({
            description: "Made from the HTML where only HTML came",
            examples: [examples.question],
          }),
          attachments: Type.Array(Attachment, { description: "Its files, with fresh addresses" }),
          received_at: instant({ description: "When it was taken in" }),
        },
        { description: "The mail, in the words of events" },
      ),
    ),
  },
});

const WebhookTest = eventOf("webhook.test", {
  name: "WebhookTest",
  description: "You asked for a test: it tells of nothing, is in no log, and is not repeated",
  fields: {},
});

/** What the log has. */
export const Event = namedUnion("Event", "What has happened, told apart by `event`", [MessageReceived.logged]);

/** What webhooks are told. */
export const eventKinds: readonly EventKind[] = [MessageReceived, WebhookTest].map(
  ({ event, description, delivery }) => ({
    ...{ event, delivery },
    summary: `Be told: ${event}`,
    description: `${description}. Verify the signature, answer with any 2xx within 15 seconds, and work behind the answer; \`event_id\` tells a delivery that came twice.`,
  }),
);

interface EventParts<Fields extends TProperties> {
  name: string;
  description: string;
  fields: Fields;
}

/** An event as the log has it and as a delivery tells it. The fields stand in the order in which they go over the wire. */
function eventOf<const Event extends string, Fields extends TProperties>(
  event: Event,
  { name, description, fields }: EventParts<Fields>,
) {
  const head = {
    event: oneOf([event], { description: "The kind of event" }),
    event_id: Type.String({
      description: "The same at each attempt: a delivery that came twice is known by it",
      examples: [examples.eventId],
    }),
    occurred_at: instant({ description: "When it happened" }),
  };
  const logged = named(name, Type.Object({ ...head, ...fields }, { description }));
  const delivery = named(`${name}Delivery`, Type.Object({ ...head, ...attempt, ...fields }, { description }));
  return { event, description, logged, delivery };
}

interface TEventUnion<Members extends readonly TObject[]> extends TSchema {
  [Kind]: "EventUnion";
  static: Static<Members[number]>;
  oneOf: Members;
}

function namedUnion<Members extends readonly TObject[]>(name: string, description: string, members: Members) {
  const mapping = Object.fromEntries(members.map((member) => [member.properties.event?.enum[0], placeOf(member)]));
  return named(name, {
    ...{ description, oneOf: members, discriminator: { propertyName: "event", mapping } },
    [Kind]: "EventUnion",
  } as unknown as TEventUnion<Members>);
}

TypeRegistry.Set<TEventUnion<TObject[]>>("EventUnion", ({ oneOf: members }, value) =>
  members.some((member) => Value.Check(member, value)),
);
