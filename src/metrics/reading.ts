import { noTextReasons } from "../domain/document.ts";
import type { EndReason } from "../flows/events/open-streams.ts";
import type { MailWaits } from "../flows/read/wait-for-mail.ts";
import { type Fetching, type RequestObserver, type Routed, timedApp } from "../http/shell/timed-app.ts";
import type { DocumentReader } from "../mail/documents/document-reader.ts";
import { tools } from "../mcp/tools.ts";
import { classOf, observeSince, quickBounds } from "./measures.ts";
import type { Counter, Histogram, Registry } from "./registry.ts";

type ReadsDocuments = Pick<DocumentReader, "read">;

/** Measures of what clients ask for: requests, tools, streams, waits and documents. */
export interface ReadingWatch {
  /** Counts and times HTTP requests. */
  app(app: Routed): Fetching;
  /** Counts calls of MCP tools. Undefined if metrics are off. */
  toolCall: ToolCallObserver | undefined;
  streams: StreamObserver;
  wait: WatchWait;
  /** Counts and times the documents that are read. */
  documents(reader: ReadsDocuments): ReadsDocuments;
}

/** Counts waits for mail by how they end. If a mail ends a wait, measures the time from its arrival to the answer. */
export type WatchWait = (wait: MailWaits["wait"], now: () => Date) => MailWaits["wait"];

/** Called by streams: for each event sent, each read of the log, and each end of a stream. */
export interface StreamObserver {
  sent?(): void;
  feedRead?(): void;
  closed?(reason: EndReason | "left"): void;
}

/** Called for each call of an MCP tool. The outcome is `ok` or the code of the error. */
export type ToolCallObserver = (tool: string, outcome: string) => void;

export const unwatchedReading: ReadingWatch = {
  app: (app) => app,
  toolCall: undefined,
  streams: {},
  wait: (wait) => wait,
  documents: (reader) => reader,
};

export function watchReading(metrics: Registry): ReadingWatch {
  const observe = requestObserver(metrics);
  return {
    app: (app) => timedApp(app, observe),
    toolCall: toolCallObserver(metrics),
    streams: streamObserver(metrics),
    wait: watchedWait(metrics),
    documents: watchedDocuments(metrics),
  };
}

function requestObserver(metrics: Registry): RequestObserver {
  const requests = metrics.counter("inboxd_http_requests_total", "Requests that were answered", [
    "method",
    "route",
    "status",
  ]);
  const seconds = metrics.histogram(
    "inboxd_http_request_seconds",
    "Seconds from a request to the beginning of its answer. A send request waits for the first attempt",
    quickBounds,
    ["method", "route"],
  );
  // The series are kept by method, route and status, so that no labels are made for each request.
  const known = new Map<string, { count: () => void; took: Histogram }>();
  return (method, route, status, tookSeconds) => {
    const key = `${method} ${route} ${status}`;
    let series = known.get(key);
    if (series === undefined) {
      const counter = requests({ method, route, status: classOf(status) });
      series = { count: () => counter.add(), took: seconds({ method, route }) };
      known.set(key, series);
    }
    series.count();
    series.took.observe(tookSeconds);
  };
}

function toolCallObserver(metrics: Registry): ToolCallObserver {
  const calls = metrics.counter("inboxd_mcp_calls_total", "MCP tool calls, by outcome: ok, or the error code", [
    "tool",
    "outcome",
  ]);
  for (const { name } of tools) calls({ tool: name, outcome: "ok" });
  return (tool, outcome) => calls({ tool, outcome }).add();
}

const streamEnds = ["left", "shutting_down", "unauthorized", "slow", "expired"] as const;

function streamObserver(metrics: Registry): StreamObserver {
  const sent = metrics.counter("inboxd_stream_events_total", "Events that were written to streams", [])({});
  const reads = metrics.counter("inboxd_feed_reads_total", "Statements that read new events for streams", [])({});
  const closes = metrics.counter(
    "inboxd_stream_closes_total",
    "Ended streams, by reason: left (the client disconnected), shutting_down, unauthorized (the key was revoked), slow (the client took less than 64 KiB in a minute while more was waiting), expired (the token)",
    ["reason"],
  );
  const closed = Object.fromEntries(streamEnds.map((reason) => [reason, closes({ reason })])) as Record<
    (typeof streamEnds)[number],
    Counter
  >;
  return {
    sent: () => sent.add(),
    feedRead: () => reads.add(),
    closed: (reason) => closed[reason].add(),
  };
}

function watchedWait(metrics: Registry): WatchWait {
  const ends = metrics.counter(
    "inboxd_waits_total",
    "Ended waits for mail, by outcome: found, timeout (also if the service stopped), gone (the client disconnected)",
    ["outcome"],
  );
  const outcomes = {
    found: ends({ outcome: "found" }),
    timeout: ends({ outcome: "timeout" }),
    gone: ends({ outcome: "gone" }),
    forbidden: ends({ outcome: "forbidden" }),
  };
  const woke = metrics.histogram(
    "inboxd_wait_wake_seconds",
    "Seconds from the arrival of a mail to the answer of a request that waited for it",
    quickBounds,
    [],
  )({});
  return (wait, now) => async (request) => {
    const beganAt = now().toISOString();
    const result = await wait(request);
    outcomes[result.end === "stopping" ? "timeout" : result.end].add();
    // Leaves out mail that was stored before the wait began: its age says nothing about how quickly the wait ended.
    if (result.end === "found" && result.message.createdAt > beganAt) {
      woke.observe(Math.max(0, now().getTime() - Date.parse(result.message.createdAt)) / 1000);
    }
    return result;
  };
}

function watchedDocuments(metrics: Registry): ReadingWatch["documents"] {
  const documents = metrics.counter(
    "inboxd_documents_total",
    "Documents whose text was wanted, by outcome: read, the reason for which there is none, or unserved (no process was free). Kept texts are not counted again",
    ["outcome"],
  );
  const seconds = metrics.histogram(
    "inboxd_document_seconds",
    "Seconds from the load of a document to its text",
    quickBounds,
    [],
  )({});
  for (const outcome of ["read", ...noTextReasons, "unserved"]) documents({ outcome });
  return ({ read }) => ({
    async read(load, owner) {
      let startMs = 0;
      const document = await read(() => {
        startMs = performance.now();
        return load();
      }, owner);
      if (document !== undefined) observeSince(seconds, startMs);
      documents({
        outcome: document === undefined ? "unserved" : "reason" in document ? document.reason : "read",
      }).add();
      return document;
    },
  });
}
