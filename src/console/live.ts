import { useEffect, useRef } from "preact/hooks";
import { connection, type InboxdEvent, inboxd } from "./api.ts";

type Listener = (event: InboxdEvent) => void;

const listeners = new Set<Listener>();

/**
 * Passes each event of the account to all listeners until `signal` aborts. Reconnects and continues after the last
 * event.
 */
export async function listen(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const event of inboxd.events.stream({ types: "*", signal })) {
        for (const listener of listeners) listener(event);
      }
    } catch {
      // The error is not shown here, because the requests of the screens show it.
      connection.value = "away";
      await new Promise((resolve) => setTimeout(resolve, 5_000));
    }
  }
}

/** Calls the listener for each event while the component is mounted. */
export function useEvents(listener: Listener): void {
  const current = useRef(listener);
  current.current = listener;
  useEffect(() => {
    const latest: Listener = (event) => current.current(event);
    listeners.add(latest);
    return () => void listeners.delete(latest);
  }, []);
}

/** Calls `reload` once, `waitMs` after the first matching event, however many events follow meanwhile. */
export function useReloadOn(
  matches: (type: string, event: InboxdEvent) => boolean,
  reload: () => void,
  waitMs = 400,
): void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const current = useRef(reload);
  current.current = reload;
  useEffect(() => () => clearTimeout(timer.current), []);
  useEvents((event) => {
    if (!matches(event.event, event)) return;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      current.current();
    }, waitMs);
  });
}
