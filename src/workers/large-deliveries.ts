import { pageBytes, shownAttachmentBytes } from "../domain/page-budget.ts";
import type { Deps } from "../flows/deps.ts";
import type { WholeEvent } from "../flows/events/event-payload.ts";
import { unsentMails } from "../flows/events/unsent-mails.ts";
import { sizeGate } from "../flows/size-gate.ts";
import { listAttachments } from "../store/mail/attachments.ts";
import { listBodyTexts } from "../store/mail/bodies.ts";
import { listIncluded } from "../store/mail/included.ts";
import type { ClaimedDelivery } from "../store/outbox/deliveries.ts";

/**
 * The content of a delivery beside the fields of its event. `bodyText` is null if the event has no message, and `included` is set if the
 * endpoint has `include`. A mail that was never sent has all its fields here.
 */
export type DeliveryContent = Pick<WholeEvent, "bodyText" | "attachments" | "included"> & Partial<WholeEvent>;

/** A delivery whose content is not read with the claim. */
export type LargeDelivery = Pick<ClaimedDelivery, "lane" | "bodyText" | "longBody" | "attachmentCount"> &
  Pick<ClaimedDelivery, "htmlBytes" | "include" | "isUnsent"> & { messageId: string };

const manyAttachments = 64;

/**
 * Whether the content of a delivery is read only after the claim, because it has a long body, many attachments or `include`, or is that of
 * a mail that was never sent. Other content is read with the claim: the bodies of a hundred such deliveries have at most 8 MiB.
 */
export function isLarge<Item extends ClaimedDelivery>(item: Item): item is Item & { messageId: string } {
  const { messageId, longBody, attachmentCount, include } = item;
  if (messageId === null) return false;
  return longBody !== null || (attachmentCount ?? 0) > manyAttachments || (include?.length ?? 0) > 0;
}

/**
 * Reads the content of a large delivery right before it is sent, and keeps it only until then. For each endpoint, the content in memory is
 * limited to 8 MiB (`pageBytes`). Other deliveries to the endpoint wait, so a slow receiver never blocks another.
 */
export function largeDeliveries({ db: { work: db }, mailDomain }: Pick<Deps, "db" | "mailDomain">) {
  const lines = new Map<string, { gate: ReturnType<typeof sizeGate>; users: number }>();

  /** Reads the content. Undefined if the message was deleted. */
  async function contentOf(large: LargeDelivery): Promise<DeliveryContent | undefined> {
    const { messageId, include } = large;
    if (large.isUnsent) return (await unsentMails(db, { mailDomain }, [messageId])).get(messageId);
    const [text] = large.longBody === null ? [large] : await listBodyTexts(db, [messageId]);
    const attachments = (large.attachmentCount ?? 0) > 0 ? await listAttachments(db, [messageId]) : [];
    const [included] = include?.length ? await listIncluded(db, [messageId]) : [];
    return text && { bodyText: text.bodyText, attachments, included };
  }

  return async <T>(large: LargeDelivery, deliver: (content: DeliveryContent | undefined) => Promise<T>): Promise<T> => {
    const line = lines.get(large.lane) ?? { gate: sizeGate(pageBytes), users: 0 };
    lines.set(large.lane, line);
    line.users += 1;
    const html = large.include?.length ? (large.htmlBytes ?? 0) : 0;
    const size = (large.longBody ?? 0) + html + (large.attachmentCount ?? 0) * shownAttachmentBytes;
    try {
      return await line.gate(size, async () => deliver(await contentOf(large)));
    } finally {
      line.users -= 1;
      if (line.users === 0) lines.delete(large.lane);
    }
  };
}
