import type { TSchema } from "@sinclair/typebox";
import { examples } from "./examples.ts";
import { exampleOf, type SchemaWriter } from "./schema.ts";

/** A type of event that webhooks get. */
export interface EventKind {
  /** For example "message.received". */
  event: string;
  summary: string;
  description: string;
  /** The schema of the body. */
  delivery: TSchema;
}

/**
 * The section `webhooks` of the document, with one entry for each type of event. Each describes what the receiver must
 * answer, so its method is that of the service's request, `post`.
 */
export function webhooksSection(kinds: readonly EventKind[], writer: SchemaWriter) {
  return Object.fromEntries(kinds.map((kind) => [kind.event, { post: deliveryOperation(kind, writer) }]));
}

function deliveryOperation({ event, summary, description, delivery }: EventKind, writer: SchemaWriter) {
  return {
    operationId: `on${event.split(".").map(capitalised).join("")}`,
    tags: ["Events"],
    summary,
    description,
    // Empty, because the receiver needs no key: it checks the signature in the headers.
    security: [],
    parameters: deliveryHeaders.map(([name, about, example]) => ({
      name,
      in: "header",
      required: true,
      description: about,
      example,
      schema: { type: "string" },
    })),
    requestBody: {
      required: true,
      content: { "application/json": { schema: writer.write(delivery), example: exampleOf(delivery) } },
    },
    responses: {
      "2XX": { description: "Received: any 2xx within 15 seconds. The body does not matter" },
      "410": { description: "Disables the webhook: it gets no more events" },
      default: {
        description:
          "Not received, also if there is a redirect or no answer. The event is delivered again up to five times, after 30 s, 3 min, 18 min, 1 h 48 and 10 h 48. `Retry-After` of a 429 or 503 is respected",
      },
    },
  };
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

const deliveryHeaders: readonly (readonly [name: string, description: string, example: string])[] = [
  ["X-Event-Id", "The `event_id`: the same at each attempt", examples.eventId],
  ["X-Timestamp", "Unix seconds of this attempt. Refuse what is older than 300 seconds", "1774087501"],
  ["X-Signature", "Lower-case hex HMAC-SHA-256 of `<X-Timestamp>.<body>` under the whole secret", examples.signature],
  ["webhook-id", "The `event_id`, as Standard Webhooks has it", examples.eventId],
  ["webhook-timestamp", "The same as `X-Timestamp`", "1774087501"],
  [
    "webhook-signature",
    "Signatures as Standard Webhooks has them, one for each secret while a rotation overlaps",
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  ],
];
