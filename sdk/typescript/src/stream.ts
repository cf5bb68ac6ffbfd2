import type { Caller } from "./call.ts";
import { eventSource, type PlacedEvent } from "./event-source.ts";
import { InboxdError } from "./failures.ts";
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
const beginMs = 15_000;

/**
 * Each event once and in order, until the signal or whoever listens ends it. Over cut connections it goes on behind the last event that was
 * dealt with; while there is no stream to be had it reads the log.
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
      meanwhile: (place) => fromLog(caller, query, place || after, over.signal),
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

/** What the log has behind the place. Without one that is where it ends: then nothing is told, and the place alone is found. */
async function* fromLog(
  { ask }: Caller,
  query: LogQuery,
  place: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<PlacedEvent> {
  // Of what hardly ever happens many events are looked at in one call.
  const asked = place === undefined ? { types: "webhook.disabled" } : query;
  const log = listByPlace(
    ({ after = place ?? "start" }) =>
      ask({
        method: "GET",
        path: "/v1/events",
        query: { ...asked, after, limit: 100 },
        signal,
        // It is asked again with the next attempt to get a stream.
        ...(place !== undefined && { retries: 0 }),
      }) as Promise<LogPage>,
  );
  try {
    for await (const { data, last } of log.pages()) {
      if (place !== undefined) {
        for (const event of data) yield { event: event.event, id: event.event_id, data: JSON.stringify(event) };
      }
      const reached = last ?? (place === undefined ? "start" : undefined);
      if (reached !== undefined) yield { event: "message", id: reached, data: undefined };
    }
  } catch (error) {
    if (signal.aborted) return;
    if (place === undefined || !(error instanceof InboxdError) || !mayPass(error)) throw error;
  }
}

interface LogPage {
  data: InboxdEvent[];
  hasMore: boolean;
  last?: string | null;
}
