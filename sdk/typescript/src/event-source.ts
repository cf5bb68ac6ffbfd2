import { pause } from "./machine.ts";

/**
 * A client of server-sent events (HTML standard §9.2) that goes on over cut connections and restarts. It knows `fetch` alone;
 * the command line has it too.
 */
export interface ServerSentEvent {
  event: string;
  /** The place behind it; empty where the server names none. */
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
  /** What was dealt with last. Without it the server says where one begins, so that the first connection must come about. */
  lastEventId?: string | undefined;
  signal: AbortSignal;
  /** What is in the way. It is tried again. */
  onTrouble?(trouble: unknown): void;
  /**
   * What can be learnt in another way while the stream is in trouble, from that place on; without data it moves the place alone. It
   * then decides what will not pass: by throwing it.
   */
  meanwhile?(lastEventId: string): AsyncIterable<PlacedEvent>;
  /** Where one begins who has no place yet, for when the server's own word of it is kept back. */
  findPlace?(signal: AbortSignal): Promise<string>;
  /** While the stream is in trouble one asks so often what can be learnt in another way. */
  askMs?: number;
  /** So long a server may say nothing at all. One of ours says something every 15 s. */
  quietMs?: number;
  /** So long it may take until its first bytes are here: a proxy that keeps them back is found by that. */
  beginMs?: number;
  /** For so long a stream that was kept back is not tried again, where one can learn in another way. */
  keptBackMs?: number;
}

export type PlacedEvent = Omit<ServerSentEvent, "data"> & { data: string | undefined };

/** What answered instead of a stream. */
export class RefusedStream extends Error {
  readonly status: number;
  readonly text: string;
  readonly retryAfterMs: number;

  constructor({ status, headers }: Response, text: string) {
    super(`answered ${status} and no stream of events`);
    this.name = "RefusedStream";
    this.status = status;
    this.text = text;
    this.retryAfterMs = (Number(headers.get("retry-after")) || 0) * 1_000;
  }

  /** Whether the same may be answered otherwise later. */
  get mayPass(): boolean {
    return this.status >= 500 || this.status === 429;
  }
}

const usualRetryMs = 1_000;
const longestRetryMs = 5_000;
/** Longer than that nobody is made to wait, whatever the server says. */
const longestRetryAfterMs = 60_000;

/**
 * Each event once and in order, until the signal. One is dealt with when the next is asked for: a connection that is cut
 * begins again behind it, and an event that had come in part comes whole. Throws what will not pass by itself.
 */
export async function* eventSource(options: EventSourceOptions): AsyncGenerator<ServerSentEvent, void, undefined> {
  const { signal, onTrouble, meanwhile, quietMs = 45_000, beginMs = quietMs } = options;
  const { askMs = 5_000, keptBackMs = 60_000 } = options;
  let lastEventId = options.lastEventId ?? "";
  let retryMs = usualRetryMs;
  let failures = 0;
  const search = lastEventId === "" ? searchOf(options) : undefined;

  function unlessOver(fault: unknown): string {
    if (!signal.aborted) throw fault;
    return "";
  }
  async function* learnt(): AsyncGenerator<ServerSentEvent> {
    if (meanwhile === undefined || signal.aborted) return;
    if (lastEventId === "" && search !== undefined) lastEventId = await search.place.catch(unlessOver);
    if (signal.aborted) return;
    for await (const { event, id, data } of meanwhile(lastEventId)) {
      if (data !== undefined) yield { event, id, data };
      if (signal.aborted) return;
      lastEventId = id;
    }
  }

  while (!signal.aborted) {
    let pauseMs = 0;
    let isInTrouble = false;
    let isKeptBack = false;
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
        for (const { event, id, data, retryMs: asked = retryMs } of read(value)) {
          failures = 0;
          retryMs = asked;
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
      isInTrouble = meanwhile !== undefined;
      if (isRefused) pauseMs = Math.min(trouble.retryAfterMs, longestRetryAfterMs);
      isKeptBack = isInTrouble && trouble instanceof Silence && !hasBegun;
      onTrouble?.(trouble);
    } finally {
      connection.close();
    }
    if (isInTrouble) yield* learnt();
    const ownPauseMs = Math.min(retryMs * 2 ** Math.min(failures, 10), longestRetryMs);
    const waitMs = isKeptBack ? keptBackMs : Math.max(pauseMs, ownPauseMs);
    for (let leftMs = waitMs; leftMs > 0 && !signal.aborted; leftMs -= askMs) {
      await pause(Math.min(leftMs, askMs), signal);
      if (isInTrouble && waitMs > askMs) yield* learnt();
    }
    failures += 1;
  }
}

interface Search {
  place: Promise<string>;
  /** The place has been told. */
  end(): void;
}

function searchOf({ findPlace, signal }: EventSourceOptions): Search | undefined {
  if (findPlace === undefined) return undefined;
  const over = new AbortController();
  const end = () => over.abort();
  signal.addEventListener("abort", end);
  const place = findPlace(over.signal);
  // It fails for whoever needs it, if anybody does.
  place.catch(() => undefined).finally(() => signal.removeEventListener("abort", end));
  return { place, end };
}

async function connected(
  { fetch, url, headers = {} }: EventSourceOptions,
  lastEventId: string,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const place = lastEventId === "" ? {} : { "last-event-id": lastEventId };
  const asked = { ...headers, ...place, accept: "text/event-stream" };
  const response = await fetch(url, { headers: asked, signal, redirect: "manual" });
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
  /** What comes of it; cut off where that takes too long. The time between two of them is not the server's. */
  take<Value>(coming: Promise<Value>, patienceMs: number): Promise<Value>;
  close(): void;
}

/** A connection that is there in name alone, as behind a machine that was switched off, is found by its silence. */
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
  /** Undefined of a frame that tells nothing: it moves the id, or says that the server is there. */
  data: string | undefined;
  retryMs?: number;
}

/** More than any event of ours has. */
const mostFrameLength = 256 << 20;

/** Frames as they become whole, however the bytes come. What has no end yet is no frame. */
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
    const told = data.length === 0 ? undefined : data.join("\n");
    const frame = { event: event || "message", id, data: told, ...(retryMs !== undefined && { retryMs }) };
    [event, data, retryMs, length] = ["", [], undefined, 0];
    return frame;
  }

  return (bytes) => linesOf(decoder.decode(bytes, { stream: true })).flatMap((line) => take(line) ?? []);
}

/** Lines as they become whole. Each of the three ends counts, and one of two characters may come in two pieces. */
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
