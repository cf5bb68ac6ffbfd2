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

/** What is new at each attempt. */
export interface DeliveryFacts<Attachment> {
  deliveredAt: Date;
  attempt: number;
  attachments: Attachment[];
}

/** The fields in the order of the contract: receivers that serialise again must get the same bytes. */
export function messageReceived<Attachment>(event: EventFacts, delivery: DeliveryFacts<Attachment>) {
  const { message } = event;
  return {
    event: "message.received" as const,
    event_id: event.id,
    occurred_at: event.occurredAt.toISOString(),
    delivered_at: delivery.deliveredAt.toISOString(),
    attempt: delivery.attempt,
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
      attachments: delivery.attachments,
      received_at: message.createdAt.toISOString(),
    },
  };
}

/** An event that tells of nothing: it shows that a receiver is there and checks signatures. */
export function webhookTest(id: string, at: Date) {
  const instant = at.toISOString();
  return { event: "webhook.test" as const, event_id: id, occurred_at: instant, delivered_at: instant, attempt: 1 };
}
