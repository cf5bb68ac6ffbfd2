import type { ReadInbox } from "../../domain/receive/known-of-mails.ts";
import { passingMemory } from "../../primitives/memory.ts";

/**
 * Inboxes as this process last wrote them. The next mail can be filed by them without a read, because the statement that writes the mail
 * checks that the inboxes are unchanged.
 */
export interface InboxMemory {
  /** Returns these inboxes, or undefined if one of them is not remembered. */
  recall(ids: readonly string[]): ReadInbox[] | undefined;
  remember(inboxes: readonly ReadInbox[]): void;
  /** Forgets these inboxes, and does not remember them for 10 seconds, because another process writes to one of them too. */
  mistrust(ids: readonly string[]): void;
  /** Notes that another process has written to one of these inboxes between a read and its write. */
  contest(ids: readonly string[]): void;
  /** Whether one of these inboxes was contested in the last second. */
  isContested(ids: readonly string[]): boolean;
}

const rememberedMs = 2_000;
const mistrustedMs = 10_000;
const contestedMs = 1_000;
const mostRemembered = 10_000;

export function inboxMemory(now: () => Date): InboxMemory {
  const known = passingMemory<string, ReadInbox | "mistrusted">(mostRemembered);
  const contested = passingMemory<string, true>(mostRemembered);

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
    contest(ids) {
      const untilMs = now().getTime() + contestedMs;
      for (const id of ids) contested.set(id, true, untilMs);
    },
    isContested(ids) {
      const nowMs = now().getTime();
      return ids.some((id) => contested.get(id, nowMs) === true);
    },
  };
}
