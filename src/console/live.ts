import { useEffect, useRef } from "preact/hooks";
import { connection, type InboxdEvent, inboxd } from "./api.ts";

type Listener = (event: InboxdEvent) => void;

const listeners = new Set<Listener>();

/** The kinds that change what a screen shows. */
const types = "*";

/** Tells all that happens, from now on, to whoever listens; over cut connections it goes on behind the last event seen. */
export async function listen(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const event of inboxd.events.stream({ types, signal })) for (const told of listeners) told(event);
    } catch {
      // What ended it stands in the answers of all other calls.
      connection.value = "away";
      await new Promise((resolve) => setTimeout(resolve, 5_000));
    }
  }
}

/** While a component is shown, each event as it happens. */
export function useEvents(listener: Listener): void {
  const current = useRef(listener);
  current.current = listener;
  useEffect(() => {
    const told: Listener = (event) => current.current(event);
    listeners.add(told);
    return () => void listeners.delete(told);
  }, []);
}

/** Many events in a row ask once. */
const calmMs = 400;

/**
 * While a component is shown: what it has is asked for again when something has happened that it wants, `waitMs` after the first such
 * event, however many follow.
 */
export function useReloadAt(
  isWanted: (event: string, told: InboxdEvent) => boolean,
  reload: () => void,
  waitMs: number = calmMs,
): void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const current = useRef(reload);
  current.current = reload;
  useEffect(() => () => clearTimeout(timer.current), []);
  useEvents((told) => {
    if (!isWanted(told.event, told)) return;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      current.current();
    }, waitMs);
  });
}
