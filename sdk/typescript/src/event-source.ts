import { pause } from "./machine.ts";

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
  headers?: Readonly<Record<string, string>>;
  /** The id of the last event that was processed. Without it the server gives the first position, so the first connection must succeed. */
  lastEventId?: string | undefined;
  signal: AbortSignal;
  /** Called with each failure that is retried. */
  onTrouble?(trouble: unknown): void;
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

/** A response that is no stream of events. */
export class RefusedStream extends Error {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;

  constructor({ status, headers }: Response, text: string) {
    super(`answered ${status} and no stream of events`);
    this.name = "RefusedStream";
    this.status = status;
    this.headers = headers;
    this.text = text;
  }

  get retryAfterMs(): number {
    return (Number(this.headers.get("retry-after")) || 0) * 1_000;
  }

  /** Whether a later request may succeed. */
  get mayPass(): boolean {
    return this.status >= 500 || this.status === 429;
  }
}

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
  const { signal, onTrouble, meanwhile, quietMs = 45_000, beginMs = quietMs } = options;
  const { pollMs = 5_000, heldBackMs = 60_000 } = options;
  let lastEventId = options.lastEventId ?? "";
  let retryMs = usualRetryMs;
  let failures = 0;
  const search = lastEventId === "" ? searchOf(options) : undefined;

  function unlessOver(fault: unknown): string {
    if (!signal.aborted) throw fault;
    return "";
  }
  async function* fromOtherSource(): AsyncGenerator<ServerSentEvent> {
    if (meanwhile === undefined || signal.aborted) return;
    if (lastEventId === "" && search !== undefined) lastEventId = await search.position.catch(unlessOver);
    if (signal.aborted) return;
    for await (const { event, id, data } of meanwhile(lastEventId)) {
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
    const connection = patientConnection(signal);
    try {
      const body = await connection.take(connected(options, lastEventId, connection.signal), beginMs);
      const read = frameReader(lastEventId);
      const reader = body.getReader();
      for (;;) {
        const { value, done } = await connection.take(reader.read(), hasBegun ? quietMs : beginMs);
        if (done) break;
        hasBegun = true;
        for (const { event, id, data, retryMs: wantedMs = retryMs } of read(value)) {
          failures = 0;
          retryMs = wantedMs;
          if (id !== "") search?.end();
          if (data !== undefined) yield { event, id, data };
          if (signal.aborted) return;
          lastEventId = id;
        }
      }
      if (lastEventId === "") throw new Error("the stream ended before it began");
    } catch (trouble) {
      if (signal.aborted) return;
      const isRefused = trouble instanceof RefusedStream;
      if (meanwhile === undefined && (lastEventId === "" || (isRefused && !trouble.mayPass))) throw trouble;
      isFailing = meanwhile !== undefined;
      if (isRefused) pauseMs = Math.min(trouble.retryAfterMs, longestRetryAfterMs);
      isHeldBack = isFailing && trouble instanceof Silence && !hasBegun;
      onTrouble?.(trouble);
    } finally {
      connection.close();
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

interface Search {
  position: Promise<string>;
  end(): void;
}

function searchOf({ findPosition, signal }: EventSourceOptions): Search | undefined {
  if (findPosition === undefined) return undefined;
  const over = new AbortController();
  const end = () => over.abort();
  signal.addEventListener("abort", end);
  const position = findPosition(over.signal);
  // `fromOtherSource` gets the failure when it awaits the position. Otherwise this handler prevents an unhandled rejection.
  position.catch(() => undefined).finally(() => signal.removeEventListener("abort", end));
  return { position, end };
}

async function connected(
  { fetch, url, headers = {} }: EventSourceOptions,
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
  throw new RefusedStream(response, await response.text());
}

class Silence extends Error {
  constructor(patienceMs: number) {
    super(`nothing came for ${patienceMs / 1_000} s`);
  }
}

interface Connection {
  signal: AbortSignal;
  /** Resolves with the value of `coming`. Rejects and closes the connection if it takes longer than `patienceMs`. */
  take<Value>(coming: Promise<Value>, patienceMs: number): Promise<Value>;
  close(): void;
}

/** A connection that is closed if nothing comes for too long. One to a machine that was switched off would otherwise stay open. */
function patientConnection(signal: AbortSignal): Connection {
  const controller = new AbortController();
  const close = () => {
    signal.removeEventListener("abort", close);
    controller.abort();
  };
  signal.addEventListener("abort", close);
  return {
    signal: controller.signal,
    take(coming, patienceMs) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          reject(new Silence(patienceMs));
          controller.abort();
        }, patienceMs);
        coming.then(resolve, reject).finally(() => clearTimeout(timer));
      });
    },
    close,
  };
}

interface Frame {
  event: string;
  id: string;
  /** Undefined in a frame without data, which moves the id or keeps the connection alive. */
  data: string | undefined;
  retryMs?: number;
}

/** Longer than any event of the service. */
const mostFrameLength = 256 << 20;

/** Splits bytes into frames, wherever they are cut, and keeps the beginning of an incomplete frame. */
export function frameReader(lastEventId: string): (bytes: Uint8Array) => Frame[] {
  const decoder = new TextDecoder();
  const linesOf = lineReader();
  let id = lastEventId;
  let event = "";
  let data: string[] = [];
  let retryMs: number | undefined;
  let length = 0;

  function take(line: string): Frame | undefined {
    length += line.length;
    if (length > mostFrameLength) throw new Error("a frame of the stream has no end");
    if (line === "") return ended();
    const colon = line.indexOf(":");
    const [name, value] = colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
    if (name === "event") event = value;
    else if (name === "data") data.push(value);
    else if (name === "id" && !value.includes("\0")) id = value;
    else if (name === "retry" && /^\d{1,9}$/.test(value)) retryMs = Number(value);
    return undefined;
  }

  function ended(): Frame {
    const frame: Frame = { event: event || "message", id, data: data.length === 0 ? undefined : data.join("\n") };
    if (retryMs !== undefined) frame.retryMs = retryMs;
    [event, data, retryMs, length] = ["", [], undefined, 0];
    return frame;
  }

  return (bytes) => linesOf(decoder.decode(bytes, { stream: true })).flatMap((line) => take(line) ?? []);
}

/** Splits text into lines at any of the three line ends. A CR and its LF may come in two pieces. */
function lineReader(): (text: string) => string[] {
  let pieces: string[] = [];
  let length = 0;
  let isAfterReturn = false;
  return (text) => {
    if (text === "") return [];
    const lines = (isAfterReturn ? text.replace(/^\n/, "") : text).split(/\r\n|[\r\n]/);
    isAfterReturn = text.endsWith("\r");
    const rest = lines.pop() ?? "";
    if (lines.length > 0) {
      lines[0] = pieces.join("") + lines[0];
      [pieces, length] = [[], 0];
    }
    pieces.push(rest);
    length += rest.length;
    if (length > mostFrameLength) throw new Error("a line of the stream has no end");
    return lines;
  };
}
