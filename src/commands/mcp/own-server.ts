import { readConfig } from "../../config.ts";
import { DataDirectoryInUse } from "../../database/directory-lock.ts";
import type { Api } from "../../mcp/server.ts";
import { startService } from "../../service/start.ts";
import { checkListeners } from "../serve/before-start.ts";
import { loggerOf } from "../serve/logger.ts";
import { print } from "../terminal.ts";

/** The server that the tools call. */
export interface ModelServer {
  api: Api;
  observe?: ((tool: string, outcome: string) => void) | undefined;
  stop?: () => Promise<void>;
}

/**
 * Starts the whole service in this process. The tools do not use its ports, so it takes free ones unless PORT and SMTP_PORT are set. The
 * log goes to stderr, because stdout belongs to the protocol.
 */
export async function startOwnServer(): Promise<ModelServer> {
  const { PORT, SMTP_PORT, ...settings } = process.env;
  const config = readConfig({ ...settings, PORT: PORT || "0", SMTP_PORT: SMTP_PORT || "0" }, process.stderr.isTTY);
  await checkListeners(config);
  const service = await startService(config, loggerOf(config, process.stderr)).catch((error: unknown) => {
    if (error instanceof DataDirectoryInUse) print(hint, process.stderr);
    throw error;
  });
  const signals = ["SIGTERM", "SIGINT"] as const;
  const stop = () => {
    for (const signal of signals) process.off(signal, leave);
    return service.stop();
  };
  const leave = () => void stop().finally(() => process.exit(0));
  for (const signal of signals) process.on(signal, leave);
  return { api: { baseUrl: "", fetch: await service.askAsFirstAccount() }, observe: service.toolCall, stop };
}

const hint =
  "A server runs in this directory already. To use that one, leave --embedded out and set INBOXD_URL and INBOXD_API_KEY; or set DATA_DIR to another directory.\n";
