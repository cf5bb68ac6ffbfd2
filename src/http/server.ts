import { setTimeout as sleep } from "node:timers/promises";
import type { AnyElysia } from "elysia";

/** Where to listen: an address of the network, or a socket in the file system (the operator's own channel). */
export type HttpAddress = { hostname: string; port: number } | { unix: string };

export interface HttpServer {
  /** With the port that was taken when 0 was asked for; `undefined` on a socket of the file system. */
  readonly url: URL | undefined;
  /** Ends listening at once and lets requests in flight end; what is not done after `graceMs` is cut off. */
  stop(graceMs: number): Promise<void>;
}

/** Serves the app. Throws at once when the address is taken. */
export function serveHttp(app: AnyElysia, address: HttpAddress): HttpServer {
  const shared = {
    fetch: app.fetch,
    // The door refuses large bodies itself (body.ts), with a body of its own: Bun's 413 is bare. Unread bytes are
    // not buffered by Bun, so that this opens nothing.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  };
  const server =
    "unix" in address
      ? Bun.serve({ ...shared, unix: address.unix })
      : Bun.serve({ ...shared, ...address, idleTimeout });
  return {
    url: "unix" in address ? undefined : server.url,
    async stop(graceMs) {
      const ended = server.stop(false);
      await Promise.race([ended, sleep(graceMs)]);
      await server.stop(true);
    },
  };
}

/** In seconds. Longer than any answer takes to begin: Bun's 10 would cut off a send that waits for its twin. */
const idleTimeout = 60;
