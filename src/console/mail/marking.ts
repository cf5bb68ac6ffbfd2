import { signal } from "@preact/signals";
import { errorText, inboxd } from "../api.ts";
import { formatCount } from "../format.ts";
import { notify } from "../frame/notice.tsx";
import { mapAtMost } from "../parts/loaded.ts";

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

/** The flag of a thread as the screens show it. It is remembered, so that undoing a mark leaves a thread that had it already. */
export function isReadNow(thread: AsOf<{ id: string; isRead: boolean }>): boolean {
  const mark = marked.value.get(thread.id);
  const isRead = mark !== undefined && mark.asOf > thread.asOf ? mark.isRead : thread.isRead;
  shown.set(thread.id, isRead);
  return isRead;
}

const shown = new Map<string, boolean>();

/**
 * Marks a thread. The mark is shown at once, and dropped if the service refuses it. `upTo` is the last message seen. A notice offers to
 * undo it, together with marks at the same time.
 */
export async function mark(id: string, isRead: boolean, upTo?: string): Promise<void> {
  const isChange = shown.get(id) !== isRead;
  underway += 1;
  const answer = await markAs(id, isRead, upTo);
  underway -= 1;
  if (answer?.reason === "newer_inbound") stays += 1;
  else if (isChange && answer !== undefined) {
    // A mark that takes back an earlier one leaves nothing to undo.
    if (done.get(id)?.isRead === !isRead) done.delete(id);
    else done.set(id, { isRead, upTo });
  }
  clearTimeout(telling);
  if (underway === 0) telling = setTimeout(() => tell(isRead), togetherMs);
}

async function markAs(id: string, isRead: boolean, upTo: string | undefined) {
  const before = marked.value.get(id);
  set(id, { isRead, asOf: Number.POSITIVE_INFINITY });
  try {
    const answer = await inboxd.threads.change(id, {
      is_read: isRead,
      ...(isRead && upTo !== undefined && { up_to_message_id: upTo }),
    });
    set(id, { isRead: answer.isRead, asOf: nextStep() });
    return answer;
  } catch (error) {
    set(id, before);
    notify(errorText(error), "bad");
    return undefined;
  }
}

/** The marks that the next notice can undo, by thread. */
let done = new Map<string, { isRead: boolean; upTo: string | undefined }>();
/** The threads that stay unread because of newer mail. */
let stays = 0;
/** The marks that are not answered yet. The notice waits for them. */
let underway = 0;
let telling: ReturnType<typeof setTimeout> | undefined;
/** Marks that begin within this time after the last answer share its notice. */
const togetherMs = 300;

function tell(isRead: boolean): void {
  const marks = [...done];
  const texts = [
    ...(marks.length > 0 ? [`${formatCount(marks.length, "thread")} marked ${isRead ? "read" : "unread"}`] : []),
    ...(stays > 0
      ? [`${formatCount(stays, "thread stays", "threads stay")} unread because newer mail has arrived`]
      : []),
  ];
  done = new Map();
  stays = 0;
  const undo = () => void mapAtMost(marks, ([id, { isRead, upTo }]) => markAs(id, !isRead, upTo), 4);
  if (texts.length > 0) notify(texts.join(". "), "good", marks.length > 0 ? { verb: "Undo", run: undo } : undefined);
}

function set(id: string, mark: Mark | undefined): void {
  const next = new Map(marked.value);
  if (mark === undefined) next.delete(id);
  else next.set(id, mark);
  marked.value = next;
}
