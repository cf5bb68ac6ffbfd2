import { signal } from "@preact/signals";
import { errorText, inboxd } from "../api.ts";
import { notify } from "../frame/notice.tsx";

interface Mark {
  isRead: boolean;
  asOf: number;
}

/** The read flags that were set on this page, by thread id. Each is shown at once, until its thread is loaded again. */
const marked = signal<ReadonlyMap<string, Mark>>(new Map());

let steps = 0;

/**
 * The next number for a load or a mark. They share one sequence, so that the later of a loaded and a marked read flag
 * wins.
 */
export function nextStep(): number {
  steps += 1;
  return steps;
}

/** A thread from the service, with the number of its load. */
export type AsOf<Thread> = Thread & { asOf: number };

export function isReadNow(thread: AsOf<{ id: string; isRead: boolean }>): boolean {
  const mark = marked.value.get(thread.id);
  return mark !== undefined && mark.asOf > thread.asOf ? mark.isRead : thread.isRead;
}

/** Marks a thread. The mark is shown at once, and undone if the service refuses it. `upTo` is the last message seen. */
export async function mark(id: string, isRead: boolean, upTo?: string): Promise<void> {
  const before = marked.value.get(id);
  set(id, { isRead, asOf: Number.POSITIVE_INFINITY });
  try {
    const answer = await inboxd.threads.mark(id, {
      is_read: isRead,
      ...(isRead && upTo !== undefined && { up_to_message_id: upTo }),
    });
    set(id, { isRead: answer.isRead, asOf: nextStep() });
    if (answer.reason === "newer_inbound") notify("The thread stays unread because newer mail has arrived");
  } catch (error) {
    set(id, before);
    notify(errorText(error), "bad");
  }
}

function set(id: string, mark: Mark | undefined): void {
  const next = new Map(marked.value);
  if (mark === undefined) next.delete(id);
  else next.set(id, mark);
  marked.value = next;
}
