import { Elysia } from "elysia";
import type { Logger } from "pino";
import { loggablePath } from "./loggable.ts";
import { requestIdHeader } from "./request-id.ts";

/** One line for each request, at level debug. Where that is off it costs nothing, not even a hook. */
export function accessLog(log: Logger) {
  const app = new Elysia();
  if (!log.isLevelEnabled("debug")) return app;
  return app.onAfterResponse({ as: "global" }, ({ request, path, set }) => {
    log.debug(
      {
        request_id: set.headers[requestIdHeader],
        method: request.method,
        path: loggablePath(path),
        status: Number(set.status ?? 200),
      },
      "request answered",
    );
  });
}
