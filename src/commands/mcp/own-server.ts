import { readConfig } from "../../config.ts";
import { DataDirectoryInUse } from "../../database/directory-lock.ts";
import { startService } from "../../service/start.ts";
import { checkListeners } from "../serve/before-start.ts";
import { loggerOf } from "../serve/logger.ts";
import { tell } from "../terminal.ts";
import type { ServerOfTools } from "./server-of-tools.ts";

/**
 * The whole service in this process. Nobody asks it by its ports unless they are given, so any free ones will do, and a program can
 * start as many as it has directories. stdout is the protocol's, so the log goes to stderr.
 */
export async function ownServer(): Promise<ServerOfTools> {
  const { PORT, SMTP_PORT, ...settings } = process.env;
  const config = readConfig({ ...settings, PORT: PORT || "0", SMTP_PORT: SMTP_PORT || "0" }, process.stderr.isTTY);
  await checkListeners(config);
  const service = await startService(config, loggerOf(config, process.stderr)).catch((error: unknown) => {
    if (error instanceof DataDirectoryInUse) tell(hint, process.stderr);
    throw error;
  });
  const signals = ["SIGTERM", "SIGINT"] as const;
  const stop = () => {
    for (const signal of signals) process.off(signal, leave);
    return service.stop();
  };
  const leave = () => void stop().finally(() => process.exit(0));
  for (const signal of signals) process.on(signal, leave);
  const askApi = await service.askAsFirstAccount();
  return { askApi, headers: {}, toolCall: service.toolCall, stop };
}

const hint =
  "A server runs in this directory already. To use that one, leave --embedded out and set INBOXD_URL and INBOXD_API_KEY; or set DATA_DIR to another directory.\n";
