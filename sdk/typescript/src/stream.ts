import type { Caller } from "./call.ts";
import { eventSource, type PlacedEvent } from "./event-source.ts";
import { InboxdError } from "./failures.ts";
import { pause } from "./machine.ts";
import { listByPlace } from "./pages.ts";
import { mayPass } from "./retries.ts";
import type { InboxdEvent, OperationOf, QueryOf } from "./types.ts";

type LogQuery = QueryOf<OperationOf<"GET", "/v1/events">>;

export interface StreamOptions extends Omit<LogQuery, "limit" | "after"> {
  /** The id of the last event that was dealt with, or `start` for all that the log has. Without it: from now on. */
  after?: string;
  /** Ends the stream. */
  signal?: AbortSignal;
}

/** What the service says at once goes through at once, unless something keeps it back. */
const beginMs = 5_000;
/** A stream that comes about has told its place by then. */
const soonMs = 250;

/**
 * Each event once and in order, until the signal or whoever listens ends it. Over cut connections it goes on behind the last event that was
 * dealt with; while there is no stream to be had it reads the log, every 5 s.
 */
export async function* streamEvents(
  caller: Caller,
  { signal, after, types = "message.received", ...words }: StreamOptions,
): AsyncGenerator<InboxdEvent, void, undefined> {
  const over = new AbortController();
  const end = () => over.abort();
  if (signal?.aborted) end();
  signal?.addEventListener("abort", end);
  // Named even where it is the default: only then the log says how far it has looked.
  const query = { ...words, types };
  try {
    const source = eventSource({
      fetch: caller.fetch,
      url: caller.addressOf({ path: "/v1/events/stream", query: { ...query, after } }),
      headers: caller.headers,
      // The log's name for its beginning is no place that a stream can come again to.
      lastEventId: after === "start" ? undefined : after,
      signal: over.signal,
      meanwhile: (place) => fromLog(caller, query, place || "start", over.signal),
      ...(after === undefined && { findPlace: (unneeded) => endOfLog(caller, unneeded) }),
      beginMs,
    });
    for await (const { event, data } of source) {
      if (event !== "ready" && event !== "end") yield JSON.parse(data);
    }
  } finally {
    signal?.removeEventListener("abort", end);
    end();
  }
}

/** What the log has behind the place. What will pass is passed over: it is asked again. */
async function* fromLog(
  { ask }: Caller,
  query: LogQuery,
  place: string,
  signal: AbortSignal,
): AsyncGenerator<PlacedEvent> {
  try {
    for await (const { data, last } of logPages(ask, { ...query, after: place }, { signal, retries: 0 })) {
      for (const event of data) yield { event: event.event, id: event.event_id, data: JSON.stringify(event) };
      if (last) yield { event: "message", id: last, data: undefined };
    }
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof InboxdError) || !mayPass(error)) throw error;
  }
}

/** Where the log ends, as its pages say it: of what hardly ever happens many events are looked at in one call. */
async function endOfLog({ ask }: Caller, signal: AbortSignal): Promise<string> {
  await pause(soonMs, signal);
  signal.throwIfAborted();
  let place = "start";
  for await (const { last } of logPages(ask, { types: "webhook.disabled", after: place }, { signal })) {
    place = last ?? place;
  }
  return place;
}

function logPages(
  ask: Caller["ask"],
  query: LogQuery,
  options: { signal: AbortSignal; retries?: number },
): AsyncIterable<LogPage> {
  return listByPlace(
    (place) =>
      ask({
        method: "GET",
        path: "/v1/events",
        query: { ...query, limit: 100, ...(place.after !== undefined && { after: place.after }) },
        ...options,
      }) as Promise<LogPage>,
  ).pages();
}

interface LogPage {
  data: InboxdEvent[];
  hasMore: boolean;
  last?: string | null;
}
