import { type TProperties, Type } from "@sinclair/typebox";
import { instant, oneOf } from "../shell/models.ts";
import { examples } from "./examples.ts";
import { named } from "./schema.ts";

/** Fields that only a delivery has: they describe one attempt to deliver the event (contract §10.7). */
const attempt = {
  delivered_at: instant({ description: "When this attempt was made", examples: ["2026-03-21T10:05:01.000Z"] }),
  attempt: Type.Integer({ description: "The number of the attempt, from 1", examples: [1] }),
};

export interface EventParts<Fields extends TProperties> {
  name: string;
  description: string;
  fields: Fields;
}

/**
 * Makes two schemas of an event: one for the log, one for a delivery to a webhook. The fields are in the order of the
 * payload.
 */
export function eventOf<const Event extends string, Fields extends TProperties>(
  event: Event,
  { name, description, fields }: EventParts<Fields>,
) {
  const head = {
    event: oneOf([event], { description: "The type of event" }),
    event_id: Type.String({
      description: "The same at each attempt, so that you can recognise a repeated delivery",
      examples: [examples.eventId],
    }),
    occurred_at: instant({ description: "When it happened" }),
  };
  const logged = named(name, Type.Object({ ...head, ...fields }, { description }));
  const delivery = named(`${name}Delivery`, Type.Object({ ...head, ...attempt, ...fields }, { description }));
  return { event, description, logged, delivery };
}
