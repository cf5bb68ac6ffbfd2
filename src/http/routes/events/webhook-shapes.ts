import { Type } from "@sinclair/typebox";
import { eventTypes, everyEvent, reservedEventTypes } from "../../../domain/events/event-types.ts";
import { includeWords } from "../../../domain/events/subscription.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { instant, nextCursor, nullable, oneOf, pageQuery, text } from "../../shell/models.ts";
import { cursorParameter } from "../../shell/parameters.ts";

/** The default time in which the old secret signs too. */
export const defaultOverlapSeconds = 86_400;

export const webhookUrl = text({
  min: 1,
  max: 2048,
  description: "https, unless private webhooks are allowed",
  examples: [examples.webhookUrl],
});

export const webhookSecret = Type.String({
  description: "Keys the signatures. Shown once: keep it",
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
          description: "For how long the old secret signs too: 0 when it has leaked",
        }),
      ),
    },
    { description: "How the secret is replaced" },
  ),
);

export const WebhookTestResult = named(
  "WebhookTestResult",
  Type.Object(
    {
      delivered: Type.Boolean({ description: "Whether it was answered with 2xx", examples: [true] }),
      status: nullable(Type.Integer({ examples: [200] }), { description: "Null when nobody answered" }),
      latencyMs: Type.Integer({ minimum: 0, description: "How long it took", examples: [42] }),
      error: nullable(Type.String({ examples: ["connection refused"] }), {
        description: "Null when it was delivered",
        examples: [null],
      }),
    },
    { description: "What came of the test" },
  ),
);

export const WebhookSecret = named(
  "WebhookSecret",
  Type.Object({ secret: webhookSecret }, { description: "The new secret, shown once" }),
);

const askable = oneOf([everyEvent, ...eventTypes, ...reservedEventTypes], { examples: ["message.received"] });

const endpointFields = {
  id: Type.String({ description: "Id of the endpoint", examples: [examples.webhookId] }),
  url: nullable(Type.String({ examples: [examples.webhookUrl] }), {
    description:
      "Where its events go. Null of a default endpoint that has a secret and no address yet: the list leaves it out",
  }),
  description: nullable(Type.String({ examples: ["Order desk"] }), { description: "Your own words" }),
  eventTypes: Type.Array(Type.String({ examples: ["message.received"] }), {
    description: "Which events it gets; `*` for all. What can be asked for already may be yet to come",
    examples: [["message.received", "message.failed"]],
  }),
  inboxIds: nullable(Type.Array(Type.String({ examples: [examples.inboxId] })), {
    description: "Only of these inboxes; null for all, and for what belongs to none",
    examples: [null],
  }),
  skipAutomated: Type.Boolean({
    description: "Whether `message.received` of mail that a program wrote is left out",
    examples: [false],
  }),
  include: Type.Array(Type.String({ examples: ["extracted"] }), {
    description: "Blocks of fields that its `message` has beside the usual ones",
    examples: [["extracted"]],
  }),
  isDefault: Type.Boolean({
    description: "Whether it is the one that `/v1/webhook` means",
    examples: [false],
  }),
  secretLast4: Type.String({
    description: "The end of its secret, to tell secrets apart",
    examples: [examples.secret.slice(-4)],
  }),
  createdAt: instant({ description: "When it was made", examples: [examples.inboxCreatedAt] }),
  disabledAt: nullable(instant(), { description: "Since when nothing is promised to it", examples: [null] }),
  disabledReason: nullable(oneOf(["gone", "failing", "manual"]), {
    description: "`gone`: it answered 410; `failing`: nothing but failures for days; `manual`: by a request",
    examples: [null],
  }),
  failingSince: nullable(instant(), {
    description: "The first failed attempt since the last that was answered with 2xx",
    examples: [null],
  }),
};

const aboutEndpoint = { description: "A webhook endpoint: where events of an account go, and which" };

export const WebhookEndpoint = named("WebhookEndpoint", Type.Object(endpointFields, aboutEndpoint));

export const CreatedWebhookEndpoint = named(
  "CreatedWebhookEndpoint",
  Type.Object(
    { ...endpointFields, secret: Type.Optional(webhookSecret) },
    { description: "The endpoint, and its secret where it was made just now" },
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
      description: "Your own words",
      error: "must be null or a string of at most 200 characters",
      examples: ["Order desk"],
    }),
  ),
  eventTypes: Type.Optional(
    Type.Array(askable, {
      minItems: 1,
      maxItems: 50,
      description:
        "Which events it gets: `message.received` unless given; `*` for all. What is told of domains may be asked for and does not come yet",
      examples: [["message.received", "message.failed"]],
    }),
  ),
  inboxIds: Type.Optional(
    nullable(Type.Array(text(), { minItems: 1, maxItems: 100 }), {
      description: "Only of these inboxes; null for all",
      error: "must be null or an array of 1 to 100 ids of inboxes",
      examples: [[examples.inboxId]],
    }),
  ),
  skipAutomated: Type.Optional(
    Type.Boolean({ description: "Leaves out `message.received` of mail that a program wrote", examples: [true] }),
  ),
  include: Type.Optional(
    Type.Array(oneOf(includeWords), {
      maxItems: 50,
      description: "Blocks of fields that its `message` shall have beside the usual ones",
      examples: [["extracted"]],
    }),
  ),
};

export const NewWebhookEndpoint = named(
  "NewWebhookEndpoint",
  Type.Object({ url: webhookUrl, ...wanted }, { description: "Where events shall go, and which" }),
);

export const WebhookEndpointChange = named(
  "WebhookEndpointChange",
  Type.Object(
    {
      url: Type.Optional(webhookUrl),
      ...wanted,
      disabled: Type.Optional(
        Type.Boolean({ description: "True: nothing is promised to it any more. False: again", examples: [false] }),
      ),
    },
    { description: "What shall be different; what is left out stays" },
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
              event: oneOf(eventTypes, { description: "Its kind" }),
              state: oneOf(states, {
                description:
                  "`pending`: in line; `delivered`: answered with 2xx once; `failed`: given up; `none`: the endpoint wants it, and it was never promised",
                examples: ["delivered"],
              }),
              attempts: Type.Integer({ minimum: 0, description: "How many there have been", examples: [1] }),
              lastAttemptAt: nullable(instant({ examples: ["2026-03-21T10:05:01.000Z"] }), {
                description: "When the last was made",
              }),
              lastStatus: nullable(Type.Integer({ examples: [200] }), { description: "Null when nobody answered" }),
              lastError: nullable(Type.String({ examples: ["answered 500"] }), {
                description: "Null when it was delivered",
                examples: [null],
              }),
              nextAttemptAt: nullable(instant(), {
                description: "When the next is due; null where none is, and where one is in line or under way",
                examples: [null],
              }),
            },
            { description: "What became of an event at one endpoint" },
          ),
        ),
        { description: "Events, newest first" },
      ),
      nextCursor: nextCursor(),
    },
    { description: "A page of events, and what became of them at one endpoint" },
  ),
);

export const Recovery = named(
  "Recovery",
  Type.Object(
    {
      after: text({
        min: 1,
        description: "Id of the event behind which it begins, or `start`",
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
      queued: Type.Integer({ minimum: 0, description: "How many events were put in line", examples: [12] }),
      hasMore: Type.Boolean({ description: "Whether to ask again, with `last` as `after`", examples: [false] }),
      last: nullable(Type.String({ examples: [examples.eventId] }), {
        description: "Id of the last event that was looked at; null where there was none behind `start`",
      }),
    },
    { description: "They go out soon, in the order in which they happened" },
  ),
);
