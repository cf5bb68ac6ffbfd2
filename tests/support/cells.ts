import type { World } from "./world.ts";

/** The INGEST_TOKEN that all cells share. */
export const cellToken = "token-of-all-cells-in-these-tests-0000";

/** An HTTP server in front of a cell, which can be away, or lose what the cell answers. */
export interface CellFront extends Disposable {
  origin: string;
  /** The paths of the requests so far. */
  requests: string[];
  behind: World | undefined;
  mode: "pass" | "away" | "lost";
}

export function cellFront(): CellFront {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 120,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      front.requests.push(pathname);
      if (front.mode === "away" || front.behind === undefined) return new Response("away", { status: 502 });
      const { method, headers } = request;
      const answer = await fetch(new URL(`${pathname}${search}`, front.behind.service.apiUrl), {
        method,
        headers,
        body: method === "GET" ? null : await request.bytes(),
        redirect: "manual",
      });
      return front.mode === "lost" ? new Response("lost", { status: 502 }) : answer;
    },
  });
  const front: CellFront = {
    origin: server.url.origin,
    requests: [],
    behind: undefined,
    mode: "pass",
    [Symbol.dispose]: () => void server.stop(true),
  };
  return front;
}
