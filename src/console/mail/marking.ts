import { signal } from "@preact/signals";
import { inboxd, wordsOf } from "../api.ts";
import { tell } from "../frame/notice.tsx";

interface Mark {
  isRead: boolean;
  asOf: number;
}

/** Flags that were set here, shown at once wherever the thread is, until the service is asked anew. */
const marked = signal<ReadonlyMap<string, Mark>>(new Map());

let steps = 0;

/** What is asked and what is marked has one order: of two words about a thread the later one holds. */
export function nextStep(): number {
  steps += 1;
  return steps;
}

/** What the service says of a thread, as of the step at which it was asked. */
export type AsOf<Thread> = Thread & { asOf: number };

export function isReadNow(thread: AsOf<{ id: string; isRead: boolean }>): boolean {
  const mark = marked.value.get(thread.id);
  return mark !== undefined && mark.asOf > thread.asOf ? mark.isRead : thread.isRead;
}

/** Shown at once; taken back where the service refuses it. `upTo` is the last message that was seen. */
export async function mark(id: string, isRead: boolean, upTo?: string): Promise<void> {
  const before = marked.value.get(id);
  set(id, { isRead, asOf: Number.POSITIVE_INFINITY });
  try {
    const answer = await inboxd.threads.mark(id, {
      is_read: isRead,
      ...(isRead && upTo !== undefined && { up_to_message_id: upTo }),
    });
    set(id, { isRead: answer.isRead, asOf: nextStep() });
    if (answer.reason === "newer_inbound") tell("It stays unread: newer mail has come in");
  } catch (error) {
    set(id, before);
    tell(wordsOf(error), "bad");
  }
}

function set(id: string, mark: Mark | undefined): void {
  const next = new Map(marked.value);
  if (mark === undefined) next.delete(id);
  else next.set(id, mark);
  marked.value = next;
}
