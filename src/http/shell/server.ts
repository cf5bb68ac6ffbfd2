import type { Logger } from "pino";
import { within } from "../../primitives/within.ts";
import { notePeer } from "./client-address.ts";
import { loggable } from "./loggable.ts";
import { type SocketDoor, type SocketSession, socketHandlers, upgraded } from "./sockets.ts";
import type { Fetching } from "./timed-app.ts";

/**
 * Where to listen: a network address, or a Unix socket (the operator's channel). Several processes of one service listen at a shared
 * address, and Linux distributes the connections (SO_REUSEPORT).
 */
export type HttpAddress = { hostname: string; port: number; isShared?: boolean } | { unix: string };

export interface HttpServer {
  /** Has the real port if port 0 was given. Undefined for a Unix socket. */
  readonly url: URL | undefined;
  /** Lifts the limit on how long a request may stay without an answer. */
  mayTakeLong(request: Request): void;
  /** Closes the connection if the client reads nothing for 10 seconds. */
  endsSoon(request: Request): void;
  /** Stops listening, closes idle connections at once, and closes all others after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/** Serves the app. Throws if the address is in use. */
export function serveHttp(app: Fetching, address: HttpAddress, log: Logger, sockets?: SocketDoor): HttpServer {
  // The original of each request that was replaced: `server.timeout` accepts only the request object from Bun.
  const asReceived = new WeakMap<Request, Request>();
  const shared = {
    async fetch(request: Request, bun: Bun.Server<SocketSession>) {
      const whole = withAbsoluteUrl(request, asReceived);
      notePeer(whole, () => bun.requestIP(request)?.address);
      if (sockets?.isAskedFor(whole)) return upgraded(request, bun, sockets.admit(whole));
      return answerOnceSent(whole, await app.fetch(whole));
    },
    websocket: socketHandlers,
    // The app answers its own errors. This one is for errors that its error hook could not handle.
    error: (error: Error) => {
      log.error({ error: loggable(error) }, "request failed: nothing could answer it");
      return new Response(null, { status: 500 });
    },
    // In development mode Bun answers a failure with a page that shows the source. Outside of it Bun lets a second
    // process listen on the same port and get some of the requests, hence `reusePort` below. Only the processes of one
    // start may do that: their parent has looked that nobody else is there.
    development: false,
    // The app refuses large bodies itself (body.ts), because Bun's own 413 has no body. Bun does not buffer a body that
    // nobody reads.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  };
  const server = "unix" in address ? Bun.serve({ ...shared, unix: address.unix }) : serveAt(address);

  function serveAt({ hostname, port, isShared = false }: Exclude<HttpAddress, { unix: string }>) {
    return Bun.serve({ ...shared, hostname, port, reusePort: isShared, idleTimeout: idleTimeoutSeconds });
  }

  return {
    url: "unix" in address ? undefined : server.url,
    mayTakeLong: (request) => server.timeout(asReceived.get(request) ?? request, 0),
    endsSoon: (request) => server.timeout(asReceived.get(request) ?? request, lastSeconds),
    async stop(graceMs) {
      await within(graceMs, server.stop(false), () => undefined);
      await server.stop(true);
    },
  };
}

/**
 * A connection is closed after this long without traffic. Every answer begins earlier, except for waits, which lift the
 * limit. Bun's default of 10 s would cut off a send that waits for the outcome of its duplicate.
 */
const idleTimeoutSeconds = 60;
const lastSeconds = 10;

/**
 * Gives a request without a Host header (HTTP/1.0, as old health checkers use) a whole URL. Bun's URL is then only the
 * path, but Elysia looks for the path after the host.
 */
function withAbsoluteUrl(request: Request, asReceived: WeakMap<Request, Request>): Request {
  if (!request.url.startsWith("/")) return request;
  const whole = new Request(`http://localhost${request.url}`, request);
  asReceived.set(whole, request);
  return whole;
}

/** Limits on reading a body that is thrown away. */
export interface ThrownAway {
  maxBytes: number;
  maxMs: number;
  /** A client that sends nothing for this long is assumed to wait for the answer. */
  silentMs: number;
}

/** Enough for the files of the largest mail in base64. */
const usualThrownAway: ThrownAway = { maxBytes: 40_000_000, maxMs: 10_000, silentMs: 1000 };

/**
 * Reads and drops the rest of the request before an answer that closes the connection. Most clients send everything
 * before they read, and would see a broken connection instead of the answer. A body that declares more than `maxBytes`
 * is not read.
 */
export async function answerOnceSent(
  request: Request,
  answer: Response,
  bounds: ThrownAway = usualThrownAway,
): Promise<Response> {
  if (answer.headers.get("connection") !== "close") return answer;
  if (Number(request.headers.get("content-length") ?? 0) > bounds.maxBytes) return answer;
  const { body } = request;
  if (body !== null && !body.locked) await throwAway(body, bounds).catch(() => undefined);
  return answer;
}

async function throwAway(body: ReadableStream<Uint8Array>, { maxBytes, maxMs, silentMs }: ThrownAway): Promise<void> {
  const reader = body.getReader();
  const startMs = performance.now();
  let leftBytes = maxBytes;
  while (leftBytes > 0) {
    const leftMs = Math.min(silentMs, startMs + maxMs - performance.now());
    const piece = await within(leftMs, reader.read(), () => undefined);
    if (piece?.value === undefined) return;
    leftBytes -= piece.value.length;
  }
}
