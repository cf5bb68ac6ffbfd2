import { pino } from "pino";
import type { Config } from "../../../src/config.ts";
import { readConfig } from "../../../src/config.ts";
import type { Deps } from "../../../src/flows/deps.ts";
import type { MailDoor } from "../../../src/flows/receive/accept-mail.ts";
import { smtpDoor } from "../../../src/service/receiving.ts";
import { type Service, startService } from "../../../src/service/start.ts";
import { selfSigned } from "../../../src/smtp/certificate.ts";
import { startSmtp } from "../../../src/smtp/listener.ts";
import { originOf } from "../../../src/standards/ip.ts";

/** Runs the service like `serve`: `before` may change its settings, `after` the running service. */
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

/** A listener of its own with a broken door. */
export async function listenBroken(door: MailDoor, deps: Deps, config: Config): Promise<{ smtpPort: number }> {
  const smtp = await startSmtp(smtpDoor(door), {
    host: config.smtpHost,
    port: 0,
    hostname: config.smtpHostname,
    maxBytes: config.smtpMaxBytes,
    certificate: await selfSigned({ dataDir: config.dataDir, hostname: config.smtpHostname, ...deps }),
    originOf,
    observe: {},
  });
  return { smtpPort: smtp.port };
}
