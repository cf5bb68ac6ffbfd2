import type { Logger } from "pino";
import { loggable } from "../http/shell/loggable.ts";

/** Logs one line for a promise that was rejected without a handler. Without this the runtime prints a stack, or ends the process. */
export function logUnheardRejections(log: Logger): void {
  process.on("unhandledRejection", (reason) => {
    log.error({ error: loggable(reason) }, "a rejection was not handled");
  });
}
