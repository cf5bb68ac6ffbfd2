import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { createServer } from "node:net";
import { listenPostgres } from "../../src/database/notifications.ts";

test("a listener keeps nothing of its earlier attempts to connect", async () => {
  const attempts = new EventTarget();
  let count = 0;
  const server = createServer((socket) => {
    socket.destroy();
    count++;
    attempts.dispatchEvent(new Event(String(count)));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as { port: number };
  const limits = { connectMs: 3_000, deadlineMs: 5_000, statementMs: 0, lockMs: 0, idleInTransactionMs: 0 };
  /** A connection of the driver has dozens of them. */
  const keptAfter = async (attempt: number) => {
    await new Promise((made) => attempts.addEventListener(String(attempt), made));
    Bun.gc(true);
    return heapStats().objectTypeCounts.AsyncFunction ?? 0;
  };

  const early = keptAfter(3);
  const late = keptAfter(11);
  const stop = await listenPostgres({ url: `postgres://127.0.0.1:${port}/nobody`, ...limits }, "news", () => undefined);
  expect((await late) - (await early)).toBeLessThan(100);
  await stop();
  server.close();
}, 30_000);
