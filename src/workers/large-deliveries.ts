import type { Db } from "../database/db.ts";
import { pageBytes, shownAttachmentBytes } from "../domain/page-budget.ts";
import { sizeGate } from "../flows/size-gate.ts";
import { listAttachments, type ShownAttachment } from "../store/mail/attachments.ts";
import { listBodyTexts } from "../store/mail/bodies.ts";

/** What a delivery tells beside the fields of its event. */
export interface DeliveryContent {
  bodyText: string;
  attachments: readonly ShownAttachment[];
}

/** A delivery whose content does not come with the claim. */
export interface LargeDelivery {
  accountId: string;
  messageId: string;
  longBody: number | null;
  attachmentCount: number;
}

const manyAttachments = 64;

/** A claim of a hundred others has less than a page may have. */
export function isLarge({ longBody, attachmentCount }: Record<"longBody" | "attachmentCount", number | null>): boolean {
  return longBody !== null || (attachmentCount ?? 0) > manyAttachments;
}

/**
 * Content that is read when it can go out at once, and is in memory until it has: of an account's large deliveries only so many go
 * on at a time as a page has room for, so a receiver that takes them slowly holds up no other account.
 */
export function largeDeliveries(db: Db) {
  const lines = new Map<string, { gate: ReturnType<typeof sizeGate>; users: number }>();

  /** Undefined where the message is gone. */
  async function contentOf({ messageId, attachmentCount }: LargeDelivery): Promise<DeliveryContent | undefined> {
    const [text] = await listBodyTexts(db, [messageId]);
    const attachments = attachmentCount > 0 ? await listAttachments(db, [messageId]) : [];
    return text && { bodyText: text.bodyText, attachments };
  }

  return async <T>(large: LargeDelivery, deliver: (content: DeliveryContent | undefined) => Promise<T>): Promise<T> => {
    const line = lines.get(large.accountId) ?? { gate: sizeGate(pageBytes), users: 0 };
    lines.set(large.accountId, line);
    line.users += 1;
    const size = (large.longBody ?? 0) + large.attachmentCount * shownAttachmentBytes;
    try {
      return await line.gate(size, async () => deliver(await contentOf(large)));
    } finally {
      line.users -= 1;
      if (line.users === 0) lines.delete(large.accountId);
    }
  };
}
