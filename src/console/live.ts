import { useEffect, useRef } from "preact/hooks";
import { connection, type InboxdEvent, inboxd } from "./api.ts";
import { now } from "./machine.ts";

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

interface Pace {
  /** The wait after the first event, in which its effects happen too, for example its delivery. */
  waitMs?: number;
  /** The shortest time between two calls. */
  pauseMs?: number;
  /** Each further event begins the wait again, but for at most this time. */
  longestMs?: number;
}

/** The pace of a screen that loads much: a burst of events costs it two loads. */
export const unhurried: Pace = { pauseMs: 5_000 };

/** The pace of a screen that shows sums: it loads once a burst of events is over, and every 10 s while it goes on. */
export const afterBurst: Pace = { waitMs: 1_000, longestMs: 10_000 };

/**
 * Calls `reload` after a matching event, once for all events that follow while it waits. A hidden tab waits until it is
 * shown again.
 */
export function useReloadOn(
  matches: (type: string, event: InboxdEvent) => boolean,
  reload: () => void,
  { waitMs = 400, pauseMs = waitMs, longestMs = 0 }: Pace = {},
): void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const firstAt = useRef(0);
  const lastAt = useRef(0);
  const current = useRef(reload);
  current.current = reload;

  function run() {
    if (document.hidden) return;
    clearTimeout(timer.current);
    timer.current = undefined;
    lastAt.current = now().getTime();
    current.current();
  }
  useEffect(() => {
    const runIfDue = () => timer.current !== undefined && run();
    document.addEventListener("visibilitychange", runIfDue);
    return () => {
      document.removeEventListener("visibilitychange", runIfDue);
      clearTimeout(timer.current);
    };
  }, []);
  useEvents((event) => {
    if (!matches(event.event, event)) return;
    const nowMs = now().getTime();
    if (timer.current === undefined) firstAt.current = nowMs;
    else if (nowMs + waitMs > firstAt.current + longestMs) return;
    clearTimeout(timer.current);
    const pauseLeftMs = Math.min(pauseMs, lastAt.current + pauseMs - nowMs);
    timer.current = setTimeout(run, Math.max(waitMs, pauseLeftMs));
  });
}
