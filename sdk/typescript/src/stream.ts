import type { Caller } from "./call.ts";
import { InboxdError } from "./errors.ts";
import { type EventOrPosition, eventSource } from "./event-source.ts";
import { controllerWith, pause } from "./machine.ts";
import { listByPosition } from "./pages.ts";
import { mayPass } from "./retries.ts";
import type { InboxdEvent, OperationOf, QueryOf, Schemas } from "./types.ts";

type LogQuery = QueryOf<OperationOf<"GET", "/v1/events">>;

export interface StreamOptions extends Omit<LogQuery, "limit" | "after"> {
  /** The id of the last event that was processed, or `start` for the whole log. Without it: from now on. */
  after?: string | undefined;
  /** Ends the stream. */
  signal?: AbortSignal | undefined;
  /**
   * Whether to read the log every 5 s while no stream can be opened: true by default. If false, the stream ends at a failure that
   * a retry cannot mend, and at a failed first connection without `after`.
   */
  readsLog?: boolean | undefined;
  /**
   * Called when a connection begins, with the position after which it sends events. The stream waits for the returned promise.
   */
  onReady?: ((position: string) => void | Promise<void>) | undefined;
  /** Called with each failure that is retried. */
  onTrouble?: ((error: InboxdError) => void) | undefined;
}

const path = "/v1/events/stream";
/** The service sends the first bytes at once. They take longer if a proxy holds them back. */
const beginMs = 5_000;
/** A stream that works sends its position within this time. */
const soonMs = 250;

/**
 * Yields each event once and in order, until the signal or the reader ends it. After a cut it resumes after the last event that was
 * processed.
 */
export async function* streamEvents(
  caller: Caller,
  { signal, after, types = "message.received", readsLog = true, onReady, onTrouble, ...filters }: StreamOptions,
): AsyncGenerator<InboxdEvent, void, undefined> {
  const over = controllerWith(signal);
  // Sent even if it is the default, because with `types` the log returns the last event that it read.
  const query = { ...filters, types };
  try {
    const source = eventSource({
      fetch: caller.fetch,
      url: caller.addressOf({ path, query: { ...query, after } }),
      headers: caller.headers,
      lastEventId: after,
      signal: over.signal,
      operation: { name: `GET ${path}`, baseUrl: caller.baseUrl },
      ...(onTrouble && { onTrouble }),
      ...(readsLog && {
        meanwhile: (position) => fromLog(caller, query, position || "start", over.signal),
        ...(after === undefined && { findPosition: (unneeded) => endOfLog(caller, unneeded) }),
        beginMs,
      }),
    });
    for await (const { event, id, data } of source) {
      if (event === "ready") await onReady?.(id);
      else if (event !== "end") yield JSON.parse(data);
    }
  } finally {
    over.abort();
  }
}

/** The events of the log after `position`. Ignores failures that a retry may mend. */
async function* fromLog(
  caller: Caller,
  query: LogQuery,
  after: string,
  signal: AbortSignal,
): AsyncGenerator<EventOrPosition> {
  const pages = listByPosition((position) =>
    readLog(caller, { ...query, after, limit: 100, ...position }, { signal, retries: 0 }),
  ).pages();
  try {
    for await (const { data, last } of pages) {
      for (const event of data) yield { event: event.event, id: event.event_id, data: JSON.stringify(event) };
      if (last) yield { event: "message", id: last, data: undefined };
    }
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof InboxdError) || !mayPass(error)) throw error;
  }
}

/** Finds the last position of the log, unless the stream sends it within `soonMs`. */
async function endOfLog(caller: Caller, signal: AbortSignal): Promise<string> {
  await pause(soonMs, signal);
  signal.throwIfAborted();
  const { data } = await readLog(caller, { types: "*", order: "desc", limit: 1 }, { signal });
  return data[0]?.event_id ?? "start";
}

async function readLog(
  { call }: Caller,
  query: LogQuery,
  options: { signal: AbortSignal; retries?: number },
): Promise<Schemas["EventPage"]> {
  return (await call({ method: "GET", path: "/v1/events", query, ...options })) as Schemas["EventPage"];
}
