import type { ReadInbox } from "../../domain/receive/known-of-mails.ts";
import { passingMemory } from "../../primitives/memory.ts";

/**
 * Inboxes as this process left them. While mail after mail comes for the same few they need not be read again, since the
 * statement that writes makes sure that they are as it says.
 */
export interface InboxMemory {
  /** All of them, or undefined where one is not known. */
  recall(ids: readonly string[]): ReadInbox[] | undefined;
  remember(inboxes: readonly ReadInbox[]): void;
  /** One of them was not as remembered. Others write to it as well, so for a while it is read each time. */
  mistrust(ids: readonly string[]): void;
}

const rememberedMs = 2_000;
const mistrustedMs = 10_000;
const mostRemembered = 10_000;

export function inboxMemory(now: () => Date): InboxMemory {
  const known = passingMemory<string, ReadInbox | "mistrusted">(mostRemembered);

  return {
    recall(ids) {
      const nowMs = now().getTime();
      const inboxes: ReadInbox[] = [];
      for (const id of ids) {
        const inbox = known.get(id, nowMs);
        if (inbox === undefined || inbox === "mistrusted") return undefined;
        inboxes.push(inbox);
      }
      return inboxes;
    },
    remember(inboxes) {
      const nowMs = now().getTime();
      for (const inbox of inboxes) {
        if (known.get(inbox.id, nowMs) !== "mistrusted") known.set(inbox.id, inbox, nowMs + rememberedMs);
      }
    },
    mistrust(ids) {
      const untilMs = now().getTime() + mistrustedMs;
      for (const id of ids) known.set(id, "mistrusted", untilMs);
    },
  };
}
