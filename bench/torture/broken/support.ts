import { pino } from "pino";
import type { Config } from "../../../src/config.ts";
import { readConfig } from "../../../src/config.ts";
import { type Service, startService } from "../../../src/service/start.ts";

/** Runs the service as `serve` does, with a hand on it: `before` may change its settings, `after` what has started. */
export async function serveBroken(
  before: (config: Config) => Promise<Config>,
  after: (service: Service, config: Config) => Promise<{ smtpPort: number }>,
): Promise<void> {
  const config = await before(readConfig(process.env));
  const service = await startService(config, pino({ level: "silent" }));
  const { smtpPort } = await after(service, config);
  process.stdout.write(`  API        ${service.apiUrl.origin}/v1\n  SMTP       127.0.0.1:${smtpPort}, broken\n`);
  process.on("SIGTERM", () => void service.stop().then(() => process.exit(0)));
}

export const asItIs = async (config: Config) => config;
export const portOf = async (service: Service) => ({ smtpPort: service.smtp.port });
