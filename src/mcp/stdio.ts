import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { type Serving, serverFactory } from "./server.ts";

/** Serves on stdin and stdout until stdin ends. */
export function serveOnStdio(serving: Serving): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  serveStdio(serverFactory(serving), { maxSubscriptions: 0, onerror: serving.onFault });
  process.stdin.once("end", resolve).once("close", resolve);
  return promise;
}
