import type { Inboxd, InboxdEvent } from "../../../sdk/typescript/src/inboxd.ts";
import { pause } from "../../../sdk/typescript/src/machine.ts";
import { messageOf } from "../failure.ts";
import type { Position } from "./position.ts";

export interface FollowOptions {
  client: Inboxd;
  inboxId: string | undefined;
  /** The position to begin after; undefined: only events from now on. */
  from: Position | undefined;
  /** Called once, as soon as the first position is known. */
  onBegin(position: Position): Promise<void>;
  /** Processes an event. `attempt` counts the tries of this event, from 1. Returns whether it succeeded. */
  handle(event: InboxdEvent, attempt: number): Promise<boolean>;
  /** Called after each processed event, before the next one. */
  save(position: Position): Promise<void>;
  /** Called with each failure of the connection that is retried. */
  warn(text: string): void;
  signal: AbortSignal;
}

const firstPauseMs = 500;
const longestPauseMs = 5000;
const startOfLog = "start";

/**
 * Processes the events after a position until the signal aborts. A failed event is retried, and later events wait, so that nothing is lost
 * and the order stays. Each attempt fetches the event again, because the addresses of its attachments expire.
 */
export async function follow({
  client,
  inboxId,
  from,
  onBegin,
  handle,
  save,
  warn,
  signal,
}: FollowOptions): Promise<void> {
  let position = from;
  let tried = { id: "", attempts: 0 };
  if (position !== undefined) await onBegin(position);
  for (let failures = 0; !signal.aborted; failures += 1) {
    if (failures > 0) await pause(Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 10)), signal);
    const events = client.events.stream({
      inbox_id: inboxId,
      after: position && (position.after ?? startOfLog),
      signal,
      readsLog: false,
      async onReady(id) {
        if (position !== undefined) return;
        position = { after: id === startOfLog ? null : id };
        await onBegin(position);
      },
      onTrouble: (error) => warn(messageOf(error)),
    });
    for await (const event of events) {
      const id = event.event_id;
      tried = { id, attempts: id === tried.id ? tried.attempts + 1 : 1 };
      if (!(await handle(withoutAttempt(event), tried.attempts))) break;
      failures = 0;
      position = { after: id };
      await save(position);
    }
  }
}

/** Removes the time and the number of the delivery. A stream sets both as for a first delivery, and this listener sets its own. */
function withoutAttempt(event: InboxdEvent): InboxdEvent {
  const { delivered_at: _at, attempt: _attempt, ...logged } = event as InboxdEvent & Record<string, unknown>;
  return logged as InboxdEvent;
}
