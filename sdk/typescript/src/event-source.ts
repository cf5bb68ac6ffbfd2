import { InboxdError, noAnswer, type Operation, refusal } from "./errors.ts";
import { controllerWith, pause } from "./machine.ts";

/** An event of a stream of server-sent events (HTML standard §9.2). */
export interface ServerSentEvent {
  event: string;
  /** The position after the event, from which a stream can resume; empty if the server gives none. */
  id: string;
  data: string;
}

export interface EventSourceOptions {
  fetch(
    url: URL | string,
    init: { headers: Record<string, string>; signal: AbortSignal; redirect: "manual" },
  ): Promise<Response>;
  url: URL | string;
  /** The operation as errors name it. */
  operation: Operation;
  headers?: Readonly<Record<string, string>>;
  /** The id of the last event that was processed. Without it the server gives the first position, so the first connection must succeed. */
  lastEventId?: string | undefined;
  signal: AbortSignal;
  /** Called with each failure that is retried. */
  onTrouble?(error: InboxdError): void;
  /**
   * Reads the events after that position from another source while the stream fails. An event without data only moves the position. With
   * such a source, failures of the stream are always retried, and only what this throws ends it.
   */
  meanwhile?(lastEventId: string): AsyncIterable<EventOrPosition>;
  /** Finds the first position by other means, in case a proxy holds back the first bytes of the stream. */
  findPosition?(signal: AbortSignal): Promise<string>;
  /** The pause between two reads of the other source. */
  pollMs?: number;
  /** The longest silence of a connection. The service sends a comment every 15 s. */
  quietMs?: number;
  /** The longest wait for the first bytes of a connection. If they take longer, a proxy probably holds them back. */
  beginMs?: number;
  /** The pause before the next connection after a proxy has held one back, if there is another source. */
  heldBackMs?: number;
}

export type EventOrPosition = Omit<ServerSentEvent, "data"> & { data: string | undefined };

const usualRetryMs = 1_000;
const longestRetryMs = 5_000;
/** The longest `Retry-After` that is followed. */
const longestRetryAfterMs = 60_000;

/**
 * Reads server-sent events, and resumes after cut connections and restarts. Needs only `fetch`. Yields each event once and in order, until
 * the signal aborts. An event counts as processed when the next one is requested: after a cut the stream resumes after the last processed
 * event, and an event that came in part comes again whole. Throws failures that a retry cannot mend.
 */
export async function* eventSource(options: EventSourceOptions): AsyncGenerator<ServerSentEvent, void, undefined> {
  const { operation, signal, onTrouble, meanwhile, quietMs = 45_000, beginMs = quietMs } = options;
  const { pollMs = 5_000, heldBackMs = 60_000 } = options;
  let lastEventId = options.lastEventId ?? "";
  let retryMs = usualRetryMs;
  let failures = 0;
  const search = controllerWith(signal);
  const position = lastEventId === "" ? options.findPosition?.(search.signal) : undefined;
  // `fromOtherSource` gets the failure when it awaits the position. Otherwise this handler prevents an unhandled rejection.
  Promise.resolve(position)
    .catch(() => undefined)
    .finally(() => search.abort());

  async function* fromOtherSource(): AsyncGenerator<ServerSentEvent> {
    try {
      if (lastEventId === "") lastEventId = (await position) ?? "";
    } catch (fault) {
      if (!signal.aborted) throw fault;
    }
    if (signal.aborted) return;
    for await (const { event, id, data } of meanwhile?.(lastEventId) ?? []) {
      if (data !== undefined) yield { event, id, data };
      if (signal.aborted) return;
      lastEventId = id;
    }
  }

  while (!signal.aborted) {
    let pauseMs = 0;
    let isFailing = false;
    let isHeldBack = false;
    let hasBegun = false;
    // A connection to a machine that was switched off would stay open, so it is closed if nothing comes for too long.
    const connection = controllerWith(signal);
    try {
      const body = await patiently(connection, connected(options, lastEventId, connection.signal), beginMs);
      const read = frameReader(lastEventId);
      const reader = body.getReader();
      for (;;) {
        const { value, done } = await patiently(connection, reader.read(), hasBegun ? quietMs : beginMs);
        if (done) break;
        hasBegun = true;
        for (const { event, id, data, retryMs: wantedMs = retryMs } of read(value)) {
          failures = 0;
          retryMs = wantedMs;
          if (id !== "") search.abort();
          if (data !== undefined) yield { event, id, data };
          if (signal.aborted) return;
          lastEventId = id;
        }
      }
      if (lastEventId === "") throw new Error("the stream ended before it began");
    } catch (trouble) {
      if (signal.aborted) return;
      const error = trouble instanceof InboxdError ? trouble : noAnswer(operation, trouble);
      const { status, retryAfterSeconds = 0 } = error;
      const isRefused = status > 0 && status < 500 && status !== 429;
      isFailing = meanwhile !== undefined;
      if (!isFailing && (isRefused || lastEventId === "")) throw error;
      pauseMs = Math.min(retryAfterSeconds * 1_000, longestRetryAfterMs);
      isHeldBack = isFailing && trouble instanceof Silence && !hasBegun;
      onTrouble?.(error);
    } finally {
      connection.abort();
    }
    if (isFailing) yield* fromOtherSource();
    const ownPauseMs = Math.min(retryMs * 2 ** Math.min(failures, 10), longestRetryMs);
    const waitMs = isHeldBack ? heldBackMs : Math.max(pauseMs, ownPauseMs);
    for (let leftMs = waitMs; leftMs > 0 && !signal.aborted; leftMs -= pollMs) {
      await pause(Math.min(leftMs, pollMs), signal);
      if (isFailing && waitMs > pollMs) yield* fromOtherSource();
    }
    failures += 1;
  }
}

async function connected(
  { fetch, url, operation, headers }: EventSourceOptions,
  lastEventId: string,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const response = await fetch(url, {
    headers: { ...headers, ...(lastEventId !== "" && { "last-event-id": lastEventId }), accept: "text/event-stream" },
    signal,
    redirect: "manual",
  });
  const isStream = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
  if (response.status === 200 && isStream && response.body !== null) return response.body;
  throw refusal(operation, response, await response.text());
}

class Silence extends Error {}

/** Resolves with the value of `coming`. Rejects and closes the connection if it takes longer than `patienceMs`. */
function patiently<Value>(connection: AbortController, coming: Promise<Value>, patienceMs: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Silence(`nothing came for ${patienceMs / 1_000} s`));
      connection.abort();
    }, patienceMs);
    coming.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

interface Frame {
  event: string;
  id: string;
  /** Undefined in a frame without data, which moves the id or keeps the connection alive. */
  data: string | undefined;
  retryMs?: number | undefined;
}

/** Longer than any event of the service. */
const mostFrameBytes = 256 << 20;

/** Splits bytes into frames, wherever they are cut, and keeps the beginning of an incomplete frame. */
export function frameReader(lastEventId: string): (bytes: Uint8Array) => Frame[] {
  const decoder = new TextDecoder();
  let bytesOfFrame = 0;
  let isAfterReturn = false;
  let rest = "";
  let id = lastEventId;
  let event = "";
  let data: string[] = [];
  let retryMs: number | undefined;

  /** Splits at any of the three line ends. A CR and its LF may come in two pieces. */
  function linesOf(text: string): string[] {
    if (text === "") return [];
    const lines = (isAfterReturn ? text.replace(/^\n/, "") : text).split(/\r\n|[\r\n]/);
    isAfterReturn = text.endsWith("\r");
    lines[0] = rest + lines[0];
    rest = lines.pop() ?? "";
    return lines;
  }

  function frameEndedBy(line: string): Frame | undefined {
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "event") event = value;
    else if (name === "data") data.push(value);
    else if (name === "id" && !value.includes("\0")) id = value;
    else if (name === "retry" && /^\d{1,9}$/.test(value)) retryMs = Number(value);
    if (line !== "") return undefined;
    const frame = { event: event || "message", id, data: data.length === 0 ? undefined : data.join("\n"), retryMs };
    [event, data, retryMs, bytesOfFrame] = ["", [], undefined, 0];
    return frame;
  }

  return (bytes) => {
    bytesOfFrame += bytes.length;
    if (bytesOfFrame > mostFrameBytes) throw new Error("a frame of the stream has no end");
    return linesOf(decoder.decode(bytes, { stream: true })).flatMap((line) => frameEndedBy(line) ?? []);
  };
}
