import type { Logger } from "pino";
import { within } from "../../primitives/within.ts";
import { loggable } from "./loggable.ts";
import { type SocketDoor, type SocketSession, socketHandlers, upgraded } from "./sockets.ts";
import type { Fetching } from "./timed-app.ts";

/** Where to listen: an address of the network, or a socket in the file system (the operator's own channel). */
export type HttpAddress = { hostname: string; port: number } | { unix: string };

export interface HttpServer {
  /** With the port that was taken when 0 was asked for; `undefined` on a socket of the file system. */
  readonly url: URL | undefined;
  /** A request may be without an answer for as long as it takes. */
  mayTakeLong(request: Request): void;
  /** Whoever takes nothing of the answer for a few seconds more is cut off. */
  endsSoon(request: Request): void;
  /** Ends listening and closes idle connections at once, lets requests in flight end, cuts off after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/** Serves the app. Throws at once when the address is taken. */
export function serveHttp(app: Fetching, address: HttpAddress, log: Logger, sockets?: SocketDoor): HttpServer {
  // What Bun knows of a request it knows of the one that it gave.
  const asReceived = new WeakMap<Request, Request>();
  const shared = {
    async fetch(request: Request, bun: Bun.Server<SocketSession>) {
      const whole = withAbsoluteUrl(request, asReceived);
      if (sockets?.isAskedFor(whole)) return upgraded(request, bun, sockets.admit(whole));
      return answerOnceSent(whole, await app.fetch(whole));
    },
    websocket: socketHandlers,
    // What is thrown inside the app is answered there; this is for what not even its error hook could take.
    error: (error: Error) => {
      log.error({ error: loggable(error) }, "request failed: nothing could answer it");
      return new Response(null, { status: 500 });
    },
    // Else a failure is answered with a page that shows the source. Outside of development Bun also lets a second
    // process listen on the same port, and each would get some of the requests: hence `reusePort: false` below.
    development: false,
    // The door refuses large bodies itself (body.ts): Bun's own 413 is bare. What nobody reads, Bun doesn't keep.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  };
  const server =
    "unix" in address
      ? Bun.serve({ ...shared, unix: address.unix })
      : Bun.serve({ ...shared, ...address, reusePort: false, idleTimeout: idleTimeoutSeconds });
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

/** Longer than an answer takes to begin, unless it waits for mail: Bun's 10 s would cut off a send that waits for its twin. */
const idleTimeoutSeconds = 60;
const lastSeconds = 10;

/**
 * Without a Host that names one (HTTP/1.0, as old health checkers speak, or an empty field) Bun's url is the path
 * alone, where Elysia looks for the path behind the host.
 */
function withAbsoluteUrl(request: Request, asReceived: WeakMap<Request, Request>): Request {
  if (!request.url.startsWith("/")) return request;
  const whole = new Request(`http://localhost${request.url}`, request);
  asReceived.set(whole, request);
  return whole;
}

/** How much is read of a body only to be thrown away, and for how long. */
export interface ThrownAway {
  maxBytes: number;
  maxMs: number;
  /** Who sends nothing for so long waits for the answer. */
  silentMs: number;
}

/** Room for the files of the largest mail in base64. */
const usualThrownAway: ThrownAway = { maxBytes: 40_000_000, maxMs: 10_000, silentMs: 1000 };

/**
 * Where an answer ends its connection, what the client is still sending is thrown away before it goes out: most clients send all before
 * they read, and would see a broken connection in place of the answer. What declares more than that is not waited for.
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
