/**
 * The peer of bench/waits.ts: the least that a server must do to hold the same requests. No key, no database, no time-out: one route,
 * which answers when its client has left.
 */
import { Elysia } from "elysia";

const app = new Elysia().get("/v1/inboxes/:id/wait", async ({ request, params, query }) => {
  const left = Promise.withResolvers<void>();
  request.signal.addEventListener("abort", () => left.resolve(), { once: true });
  held.add(left);
  await left.promise;
  held.delete(left);
  return { id: params.id, timeout: query.timeout };
});
/** Keeps the requests, which the collector would free otherwise. */
const held = new Set<PromiseWithResolvers<void>>();
const server = Bun.serve({ port: 0, idleTimeout: 0, fetch: app.fetch });
process.stdout.write(`${server.port}\n`);
