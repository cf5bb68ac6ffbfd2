import { type Static, type TObject, Type } from "@sinclair/typebox";
import { Refusal } from "../../../domain/errors.ts";
import { isAskableType } from "../../../domain/events/event-types.ts";
import { includeWords } from "../../../domain/events/subscription.ts";
import { bodyJudge, type FaultsOfFields, readAsTheyAre } from "../../judging/faults.ts";
import { parseJson } from "../../shell/body.ts";
import { nullable, oneOf, text } from "../../shell/models.ts";

const inboxIds = Type.Optional(nullable(Type.Array(text({ max: 100 }), { maxItems: 100 })));

const Subscribe = Type.Object({
  type: oneOf(["subscribe"]),
  inbox_ids: inboxIds,
  external_ids: Type.Optional(nullable(Type.Array(text({ min: 1, max: 255 }), { minItems: 1, maxItems: 100 }))),
  event_types: Type.Optional(nullable(Type.Array(text({ max: 100 }), { maxItems: 100 }))),
  include: Type.Optional(Type.Array(oneOf(includeWords), { maxItems: 10 })),
  automated: Type.Optional(nullable(Type.Boolean())),
  last_event_id: Type.Optional(nullable(text({ max: 100 }))),
});

const Unsubscribe = Type.Object({ type: oneOf(["unsubscribe"]), inbox_ids: inboxIds });

const Ping = Type.Object({ type: oneOf(["ping"]) });

export type SubscribeMessage = Static<typeof Subscribe>;
export type SocketMessage = SubscribeMessage | Static<typeof Unsubscribe> | Static<typeof Ping>;

const judges = {
  subscribe: judgeOf(Subscribe, "subscribe", ({ event_types: types }) =>
    Array.isArray(types) && !types.every((type) => typeof type === "string" && isAskableType(type))
      ? [{ pointer: "#/event_types", detail: "must be names of events, or *" }]
      : [],
  ),
  unsubscribe: judgeOf(Unsubscribe, "unsubscribe"),
  ping: judgeOf(Ping, "ping"),
};

/** Parses a message of a client. Throws a refusal to send back if the message is not valid. */
export function parseSocketMessage(message: string | Uint8Array): SocketMessage {
  const value = parseJson(typeof message === "string" ? new TextEncoder().encode(message) : message);
  const type = typeof value === "object" && value !== null && "type" in value ? value.type : undefined;
  if (type !== "subscribe" && type !== "unsubscribe" && type !== "ping") {
    throw new Refusal(
      "validation_error",
      'Cannot read message: "type" must be one of "subscribe", "unsubscribe", "ping"',
    );
  }
  return judges[type](value);
}

function judgeOf<Schema extends TObject>(
  schema: Schema,
  doing: string,
  alsoWrong?: FaultsOfFields,
): (value: unknown) => Static<Schema> {
  return bodyJudge(schema, doing, readAsTheyAre<Static<Schema>>(alsoWrong));
}
