import { delivered, messageReceived } from "../domain/events/payload.ts";
import { type AttachmentLinks, linkedAttachments } from "../flows/read/attachment-links.ts";
import { signerCache, webhookHeaders } from "../standards/signature.ts";
import type { ClaimedDelivery } from "../store/outbox/deliveries.ts";
import type { DeliveryContent } from "./large-deliveries.ts";

/** An event whose delivery can be written: its message is there, and it has somewhere to go. */
export type Deliverable = {
  [Name in keyof ClaimedDelivery]: Name extends Optional ? ClaimedDelivery[Name] : NonNullable<ClaimedDelivery[Name]>;
};
type Optional = "externalId" | "previousSecret" | "previousSecretUntil" | "disabledAt" | "bodyText" | "longBody";

export function isDeliverable<Item extends ClaimedDelivery>(item: Item): item is Item & Deliverable {
  return item.occurredAt !== null && item.messageId !== null && item.url !== null && item.disabledAt === null;
}

export interface DeliveryRequest {
  headers: Record<string, string>;
  body: string;
}

/** Writes what is posted of an event: its message with fresh links, signed with the secret of its account. */
export function deliveryWriter(
  links: Pick<AttachmentLinks, "attachmentUrl">,
): (item: Deliverable, content: DeliveryContent, sentAt: Date) => Promise<DeliveryRequest> {
  const signerOf = signerCache();

  async function payloadOf(item: Deliverable, content: DeliveryContent, deliveredAt: Date) {
    const attachments = await linkedAttachments(links, item.messageId, content.attachments, deliveredAt);
    const message = { ...item, id: item.messageId, bodyText: content.bodyText, createdAt: item.receivedAt };
    const event = messageReceived({ ...item, id: item.subjectId, message }, attachments);
    return delivered(event, { deliveredAt, attempt: item.attempt });
  }

  function replacedSigner({ previousSecret, previousSecretUntil }: Deliverable, at: Date) {
    const isOverlap = previousSecret !== null && previousSecretUntil !== null && at < previousSecretUntil;
    return isOverlap ? signerOf(previousSecret) : undefined;
  }

  return async (item, content, sentAt) => {
    const body = JSON.stringify(await payloadOf(item, content, sentAt));
    const headers = await webhookHeaders({
      eventId: item.subjectId,
      sentAt,
      body,
      signer: await signerOf(item.secret),
      replacedSigner: await replacedSigner(item, sentAt),
    });
    return { headers, body };
  };
}
