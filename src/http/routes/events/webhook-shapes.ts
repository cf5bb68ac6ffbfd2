import { Type } from "@sinclair/typebox";
import type { EndpointChange } from "../../../domain/events/endpoint.ts";
import { mostEndpointHeaders, readEndpointHeaders } from "../../../domain/events/endpoint-headers.ts";
import { eventTypes, everyEvent } from "../../../domain/events/event-types.ts";
import { includeWords } from "../../../domain/events/subscription.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import type { FieldsRead } from "../../judging/faults.ts";
import { instant, nextCursor, nullable, oneOf, pageQuery, text } from "../../shell/models.ts";
import { cursorParameter } from "../../shell/parameters.ts";
import { isTexts, texts } from "../../shell/texts.ts";

/** How long the old secret still signs after a rotation, by default. */
export const defaultOverlapSeconds = 86_400;

export const webhookUrl = text({
  min: 1,
  max: 2048,
  description: "https, unless private webhooks are allowed",
  examples: [examples.webhookUrl],
});

export const webhookSecret = Type.String({
  description: "The key of the signatures. It is shown once: store it",
  examples: [examples.secret],
});

export const SecretRotation = named(
  "SecretRotation",
  Type.Object(
    {
      overlapSeconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 7 * defaultOverlapSeconds,
          default: defaultOverlapSeconds,
          description: "How long the old secret signs too. Use 0 if it has leaked",
        }),
      ),
    },
    { description: "How to replace the secret" },
  ),
);

export const WebhookTestResult = named(
  "WebhookTestResult",
  Type.Object(
    {
      delivered: Type.Boolean({ description: "Whether it was answered with 2xx", examples: [true] }),
      status: nullable(Type.Integer({ examples: [200] }), {
        description: "Status of the answer; null if there was none",
      }),
      latencyMs: Type.Integer({ minimum: 0, description: "How long it took", examples: [42] }),
      error: nullable(Type.String({ examples: ["connection refused"] }), {
        description: "Null if it was delivered",
        examples: [null],
      }),
    },
    { description: "The result of the test" },
  ),
);

export const WebhookSecret = named(
  "WebhookSecret",
  Type.Object({ secret: webhookSecret }, { description: "The new secret, shown once" }),
);

const askable = oneOf([everyEvent, ...eventTypes], { examples: ["message.received"] });

const endpointFields = {
  id: Type.String({ description: "Id of the endpoint", examples: [examples.webhookId] }),
  url: nullable(Type.String({ examples: [examples.webhookUrl] }), {
    description:
      "URL to which its events are posted. Null for a default endpoint that has a secret but no URL yet; the list leaves it out",
  }),
  description: nullable(Type.String({ examples: ["Order desk"] }), { description: "Your own description" }),
  eventTypes: Type.Array(Type.String({ examples: ["message.received"] }), {
    description: "Which events it gets; `*` for all. Some types do not exist yet",
    examples: [["message.received", "message.failed"]],
  }),
  inboxIds: nullable(Type.Array(Type.String({ examples: [examples.inboxId] })), {
    description: "Only events of these inboxes; null: all events, also those about no inbox",
    examples: [null],
  }),
  skipAutomated: Type.Boolean({
    description: "Whether `message.received` of automated mail is left out",
    examples: [false],
  }),
  include: Type.Array(Type.String({ examples: ["extracted"] }), {
    description: "Groups of fields that its `message` has in addition to the usual ones",
    examples: [["extracted"]],
  }),
  isDefault: Type.Boolean({
    description: "Whether it is the endpoint of `/v1/webhook`",
    examples: [false],
  }),
  secretLast4: Type.String({
    description: "The end of its secret, to tell secrets apart",
    examples: [examples.secret.slice(-4)],
  }),
  createdAt: instant({ description: "When it was created", examples: [examples.inboxCreatedAt] }),
  disabledAt: nullable(instant(), {
    description: "When it was disabled; it has got no events since then",
    examples: [null],
  }),
  disabledReason: nullable(oneOf(["gone", "failing", "manual"]), {
    description: "`gone`: it answered 410; `failing`: all deliveries failed for days; `manual`: a request disabled it",
    examples: [null],
  }),
  failingSince: nullable(instant(), {
    description: "Time of the first failed attempt since the last 2xx answer",
    examples: [null],
  }),
};

const LastDelivery = named(
  "LastDelivery",
  Type.Object(
    {
      event_id: Type.String({ description: "Id of the event", examples: [examples.eventId] }),
      at: instant({ description: "When the attempt was made", examples: ["2026-03-21T10:05:01.000Z"] }),
      status: nullable(Type.Integer({ examples: [200] }), { description: "Null if nobody answered" }),
      error: nullable(Type.String({ examples: ["answered 500"] }), {
        description: "Null if it was delivered",
        examples: [null],
      }),
    },
    { description: "The last attempt to deliver an event to an endpoint" },
  ),
);

const aboutLast = { description: "The last attempt to deliver an event; null if there was none" };

/** Newer than the other fields, so it comes after all of them, also after `secret`. */
export const lastDelivery = nullable(LastDelivery, aboutLast);

/** The field `lastDelivery` in an answer that usually shows a new endpoint: its example is null. */
export const lastDeliveryOfNew = nullable(LastDelivery, { ...aboutLast, examples: [null] });

const externalIds = nullable(Type.Array(Type.String({ examples: [examples.externalId] })), {
  description: "Only events of inboxes with one of these `externalId`s; null: of all",
  examples: [null],
});

const headerNames = Type.Array(Type.String({ examples: ["X-Gateway-Key"] }), {
  description: "Names of the header fields that are sent with each delivery. Their values are never shown",
  examples: [["X-Gateway-Key"]],
});

const aboutEndpoint = { description: "A webhook endpoint: where events of an account go, and which events events" };

export const WebhookEndpoint = named(
  "WebhookEndpoint",
  Type.Object({ ...endpointFields, lastDelivery, headers: headerNames, externalIds }, aboutEndpoint),
);

export const CreatedWebhookEndpoint = named(
  "CreatedWebhookEndpoint",
  Type.Object(
    {
      ...endpointFields,
      secret: Type.Optional(webhookSecret),
      lastDelivery: lastDeliveryOfNew,
      headers: headerNames,
      externalIds,
    },
    { description: "The endpoint, and its secret if it was created just now" },
  ),
);

export const WebhookEndpointList = named(
  "WebhookEndpointList",
  Type.Object(
    { data: Type.Array(WebhookEndpoint, { description: "Endpoints, oldest first" }) },
    { description: "All endpoints of the account" },
  ),
);

const wanted = {
  description: Type.Optional(
    nullable(text({ max: 200 }), {
      description: "Your own description",
      error: "must be null or a string of at most 200 characters",
      examples: ["Order desk"],
    }),
  ),
  eventTypes: Type.Optional(
    Type.Array(askable, {
      minItems: 1,
      maxItems: 50,
      description:
        "Which events it gets; `*` for all. Without it: only `message.received`. Events about domains do not exist yet",
      examples: [["message.received", "message.failed"]],
    }),
  ),
  inboxIds: Type.Optional(
    nullable(Type.Array(text(), { minItems: 1, maxItems: 100 }), {
      description: "Only events of these inboxes; null: all",
      error: "must be null or an array of 1 to 100 ids of inboxes",
      examples: [[examples.inboxId]],
    }),
  ),
  skipAutomated: Type.Optional(
    Type.Boolean({ description: "Leaves out `message.received` of automated mail", examples: [true] }),
  ),
  include: Type.Optional(
    Type.Array(oneOf(includeWords), {
      maxItems: 50,
      description: "Groups of fields that its `message` gets in addition to the usual ones",
      examples: [["extracted"]],
    }),
  ),
  externalIds: Type.Optional(
    nullable(Type.Array(text({ min: 1, max: 255 }), { minItems: 1, maxItems: 100 }), {
      description:
        "Only events of inboxes with one of these `externalId`s, for example those of a tenant, also of inboxes that are created later. With `inboxIds`, both must hold; null: all",
      error: "must be null or an array of 1 to 100 external ids",
      examples: [[examples.externalId]],
    }),
  ),
  headers: Type.Optional(
    texts({
      description: `Header fields to send with each delivery, at most ${mostEndpointHeaders}, for example the key of a gateway. They replace earlier ones. Forbidden are the fields of the service, and names that begin with \`webhook-\` or end with \`signature\``,
      examples: [{ "X-Gateway-Key": "4711" }],
    }),
  ),
};

/** Reads the settings of an endpoint, with the fields of `headers` as a list. */
export function readEndpoint(fields: Readonly<Record<string, unknown>>): FieldsRead<EndpointChange & { url: string }> {
  const { headers: asked, ...settings } = fields;
  const { headers, faults } = readEndpointHeaders(isTexts(asked) ? asked : undefined);
  return {
    faults,
    value: () => ({ ...settings, ...(asked !== undefined && { headers }) }) as EndpointChange & { url: string },
  };
}

export const NewWebhookEndpoint = named(
  "NewWebhookEndpoint",
  Type.Object({ url: webhookUrl, ...wanted }, { description: "Where events go, and which events" }),
);

export const WebhookEndpointChange = named(
  "WebhookEndpointChange",
  Type.Object(
    {
      url: Type.Optional(webhookUrl),
      ...wanted,
      disabled: Type.Optional(
        Type.Boolean({ description: "True: it gets no more events. False: it gets events again", examples: [false] }),
      ),
    },
    { description: "The changes. Missing fields stay as they are" },
  ),
);

const states = ["pending", "delivered", "failed", "none"] as const;

export const EndpointDeliveryQuery = Type.Object({
  limit: pageQuery().limit,
  cursor: Type.Optional(cursorParameter()),
  state: Type.Optional(oneOf(states, { description: "Only events in this state", examples: ["failed"] })),
});

export const EndpointDeliveryPage = named(
  "EndpointDeliveryPage",
  Type.Object(
    {
      data: Type.Array(
        named(
          "EndpointDelivery",
          Type.Object(
            {
              event_id: Type.String({ description: "Id of the event", examples: [examples.eventId] }),
              event: oneOf(eventTypes, { description: "Its type" }),
              state: oneOf(states, {
                description:
                  "`pending`: queued; `delivered`: answered with 2xx; `failed`: given up; `none`: the endpoint subscribes to it, but it was never queued",
                examples: ["delivered"],
              }),
              attempts: Type.Integer({ minimum: 0, description: "How many attempts there were", examples: [1] }),
              lastAttemptAt: nullable(instant({ examples: ["2026-03-21T10:05:01.000Z"] }), {
                description: "When the last attempt was made",
              }),
              lastStatus: nullable(Type.Integer({ examples: [200] }), {
                description: "Status of the last answer; null if there was none",
              }),
              lastError: nullable(Type.String({ examples: ["answered 500"] }), {
                description: "Null if it was delivered",
                examples: [null],
              }),
              nextAttemptAt: nullable(instant(), {
                description: "When the next attempt is due; null if there is none, or if it is queued or running",
                examples: [null],
              }),
              occurred_at: instant({ description: "When the event occurred" }),
              subject: nullable(Type.String({ examples: [examples.subject] }), {
                description: "The subject of its message; null for an event about no message",
              }),
              lastLatencyMs: nullable(Type.Integer({ minimum: 0, examples: [42] }), {
                description: "How long the last attempt took; null if there was none, or until it is known",
              }),
            },
            { description: "The state of an event at one endpoint" },
          ),
        ),
        { description: "Events, newest first" },
      ),
      nextCursor: nextCursor(),
    },
    { description: "A page of events, and their states at one endpoint" },
  ),
);

export const Recovery = named(
  "Recovery",
  Type.Object(
    {
      after: text({
        min: 1,
        description: "Id of the event after which to begin, or `start`",
        examples: [examples.eventId],
      }),
    },
    { description: "Where to begin" },
  ),
);

export const RecoveryResult = named(
  "RecoveryResult",
  Type.Object(
    {
      queued: Type.Integer({ minimum: 0, description: "How many events were queued", examples: [12] }),
      hasMore: Type.Boolean({ description: "Whether to call again with `last` as `after`", examples: [false] }),
      last: nullable(Type.String({ examples: [examples.eventId] }), {
        description: "Id of the last event that was read; null if there was none",
      }),
    },
    { description: "The queued events. They are delivered soon, in order" },
  ),
);
