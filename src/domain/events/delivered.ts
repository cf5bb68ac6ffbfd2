/** The fields that every event has, in the log and in a delivery. */
interface AnyEvent {
  event: string;
  event_id: string;
  occurred_at: string;
}

/** The facts of one attempt to deliver an event. */
export interface DeliveryFacts {
  deliveredAt: Date;
  /** The number of the attempt, counted from 1. */
  attempt: number;
}

/**
 * Adds the facts of one attempt to an event (contract §10.7). The contract fixes the order of the fields: a receiver that parses the
 * body and serialises it again must get the same bytes.
 */
export function delivered<Event extends AnyEvent>(event: Event, { deliveredAt, attempt }: DeliveryFacts) {
  const { event: type, event_id, occurred_at, ...others } = event;
  return { event: type, event_id, occurred_at, delivered_at: deliveredAt.toISOString(), attempt, ...others };
}
