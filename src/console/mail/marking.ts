import { signal } from "@preact/signals";
import { inboxd, wordsOf } from "../api.ts";
import { tell } from "../frame/notice.tsx";

/** Flags that were set here, shown at once wherever the thread is. */
export const marked = signal<ReadonlyMap<string, boolean>>(new Map());

export function isReadNow(thread: { id: string; isRead: boolean }): boolean {
  return marked.value.get(thread.id) ?? thread.isRead;
}

/** Shown at once; taken back where the service refuses it. `upTo` is the last message that was seen. */
export async function mark(id: string, isRead: boolean, upTo?: string): Promise<void> {
  const before = marked.value.get(id);
  set(id, isRead);
  try {
    const answer = await inboxd.threads.mark(id, {
      is_read: isRead,
      ...(isRead && upTo !== undefined && { up_to_message_id: upTo }),
    });
    set(id, answer.isRead);
    if (answer.reason === "newer_inbound") tell("It stays unread: newer mail has come in");
  } catch (error) {
    set(id, before);
    tell(wordsOf(error), "bad");
  }
}

/** What the service says of a thread counts from then on. */
export function forgetMarks(): void {
  marked.value = new Map();
}

function set(id: string, isRead: boolean | undefined): void {
  const next = new Map(marked.value);
  if (isRead === undefined) next.delete(id);
  else next.set(id, isRead);
  marked.value = next;
}
