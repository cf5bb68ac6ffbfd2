import { delivered } from "../domain/events/delivered.ts";
import { isOfMessage } from "../domain/events/event-types.ts";
import { inOrder } from "../domain/events/subscription.ts";
import type { Deps } from "../flows/deps.ts";
import { eventPayload, type PayloadDeps } from "../flows/events/event-payload.ts";
import { signerCache, webhookHeaders } from "../standards/signature.ts";
import type { ClaimedDelivery } from "../store/outbox/deliveries.ts";
import type { DeliveryContent } from "./large-deliveries.ts";

/** A delivery that can be sent: its event exists, with its message if it has one, and its endpoint has a URL and is not disabled. */
export type Deliverable = {
  [Name in keyof ClaimedDelivery]: Name extends Needed ? NonNullable<ClaimedDelivery[Name]> : ClaimedDelivery[Name];
};
type Needed = "type" | "occurredAt" | "isUnsent" | "url" | "secret" | "include" | "headers" | "webhookId";

export function isDeliverable<Item extends ClaimedDelivery>(item: Item): item is Item & Deliverable {
  return hasContent(item) && item.url !== null && item.disabledAt === null;
}

/** Whether the event exists, and its message if it has one. */
export function hasContent({ type, messageId }: ClaimedDelivery): boolean {
  return type !== null && (messageId !== null || !isOfMessage(type));
}

export interface DeliveryRequest {
  headers: Record<string, string>;
  body: string;
}

/** Writes the request of a delivery, with fresh links, signed with the secret of its endpoint. */
export function deliveryWriter(
  deps: PayloadDeps & Pick<Deps, "sealing">,
): (item: Deliverable, content: DeliveryContent, sentAt: Date) => Promise<DeliveryRequest | undefined> {
  const signerOf = signerCache();

  async function payloadOf(item: Deliverable, content: DeliveryContent, deliveredAt: Date) {
    const event = await eventPayload(
      deps,
      { ...item, ...content, id: item.eventId },
      inOrder(item.include),
      deliveredAt,
    );
    return event && delivered(event, { deliveredAt, attempt: item.attempt });
  }

  function replacedSigner({ previousSecret, previousSecretUntil, webhookId }: Deliverable, at: Date) {
    const isOverlap = previousSecret !== null && previousSecretUntil !== null && at < previousSecretUntil;
    return isOverlap ? signerOf(deps.sealing.open(previousSecret, webhookId)) : undefined;
  }

  return async (item, content, sentAt) => {
    const payload = await payloadOf(item, content, sentAt);
    if (payload === undefined) return undefined;
    const body = JSON.stringify(payload);
    const headers = await webhookHeaders({
      eventId: item.eventId,
      sentAt,
      body,
      added: item.headers,
      signer: await signerOf(deps.sealing.open(item.secret, item.webhookId)),
      replacedSigner: await replacedSigner(item, sentAt),
    });
    return { headers, body };
  };
}
