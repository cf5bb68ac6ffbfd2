/** The events that receivers get, as they go over the wire (contract §10). */

/** What an event tells of, as it is kept. */
export interface EventFacts {
  id: string;
  occurredAt: Date;
  inboxId: string;
  externalId: string | null;
  threadId: string;
  message: {
    id: string;
    rfcMessageId: string;
    fromAddr: string;
    toAddr: string;
    cc: string[];
    subject: string;
    bodyText: string;
    createdAt: Date;
  };
}

/** What belongs to one attempt to deliver an event, and to nothing else (contract §10.7). */
export interface DeliveryFacts {
  deliveredAt: Date;
  /** From 1. */
  attempt: number;
}

/** An event as the log tells it, which knows of no delivery. `attachments` have links that are fresh each time. */
export function messageReceived<Attachment>(event: EventFacts, attachments: Attachment[]) {
  const { message } = event;
  return {
    event: "message.received" as const,
    event_id: event.id,
    occurred_at: event.occurredAt.toISOString(),
    inbox_id: event.inboxId,
    external_id: event.externalId,
    thread_id: event.threadId,
    message: {
      id: message.id,
      rfc_message_id: `<${message.rfcMessageId}>`,
      from: message.fromAddr,
      to: message.toAddr,
      cc: message.cc,
      subject: message.subject,
      body_text: message.bodyText,
      attachments,
      received_at: message.createdAt.toISOString(),
    },
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

/** An event as one attempt delivers it. The fields in the order of the contract: receivers that serialise again must get the same bytes. */
export function delivered<Event extends Told>(told: Event, { deliveredAt, attempt }: DeliveryFacts) {
  const { event, event_id, occurred_at, ...matter } = told;
  return { event, event_id, occurred_at, delivered_at: deliveredAt.toISOString(), attempt, ...matter };
}
