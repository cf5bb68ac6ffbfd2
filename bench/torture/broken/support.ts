import { sql } from "drizzle-orm";
import { pino } from "pino";
import { loggerOf } from "../../../src/commands/serve/logger.ts";
import type { Config } from "../../../src/config.ts";
import { readConfig } from "../../../src/config.ts";
import { query } from "../../../src/database/db.ts";
import { returnPaths } from "../../../src/domain/reports/return-path.ts";
import { unsubscribeNames } from "../../../src/domain/reports/unsubscribing.ts";
import { signingKeyOf } from "../../../src/flows/account/signing-key.ts";
import type { Deps } from "../../../src/flows/deps.ts";
import { ownHosts } from "../../../src/flows/own-hosts.ts";
import { type MailDoor, mailDoor } from "../../../src/flows/receive/accept-mail.ts";
import { mailReceiver } from "../../../src/flows/receive/receive-email.ts";
import { reportReception } from "../../../src/flows/receive/receive-report.ts";
import { unsubscribing } from "../../../src/flows/send/unsubscribe.ts";
import { mailParser } from "../../../src/mail/read/parse.ts";
import { smtpDoor } from "../../../src/service/receiving.ts";
import { type Service, startService } from "../../../src/service/start.ts";
import { selfSigned } from "../../../src/smtp/certificate.ts";
import { startSmtp } from "../../../src/smtp/listener.ts";
import { originOf } from "../../../src/standards/ip.ts";
import { returnPathKey } from "../../../src/standards/signature.ts";
import { workEarly } from "../early-work.ts";

/** Runs the service like `serve`: `before` may change its settings, `after` the running service. */
export async function serveBroken(
  before: (config: Config) => Promise<Config>,
  after: (service: Service, config: Config) => Promise<{ smtpPort: number; inboundUrl?: string }>,
): Promise<void> {
  const config = await before(readConfig(process.env));
  const service = await startService(config, pino({ level: "silent" }));
  const { smtpPort, inboundUrl } = await after(service, config);
  if (inboundUrl !== undefined) process.stdout.write(`  inbound    ${inboundUrl}\n`);
  process.stdout.write(`  API        ${service.apiUrl.origin}/v1\n  SMTP       127.0.0.1:${smtpPort}, broken\n`);
  process.on("SIGTERM", () => void service.stop().then(() => process.exit(0)));
}

export const asItIs = async (config: Config) => config;
export const portOf = async (service: Service) => ({ smtpPort: service.smtp.port });

/** Changes the database of the service, often by a trigger. */
export async function runStatements({ deps }: Service, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await query(deps.db.api, sql.raw(statement));
}

/** Does early what the run waits for, as the service of the run does, and logs what is wrong then. */
export async function workingEarly(service: Service, config: Config, mailKeptMs?: number) {
  workEarly(service, loggerOf(config, process.stdout), mailKeptMs);
  return portOf(service);
}

/** The door for mail, but for reports: it says that each was applied, and drops it. */
export async function doorWithoutReports(deps: Deps, config: Config): Promise<MailDoor> {
  const { parseQueued: parse } = mailParser({ mailDomain: config.mailDomain, onFault: () => undefined });
  const key = await returnPathKey(await signingKeyOf(deps, config.signingKey));
  const leaving = unsubscribing({ ...deps, names: unsubscribeNames(key, config.mailDomain) });
  const reports = reportReception({
    ...deps,
    returnPaths: returnPaths(key, config.mailDomain),
    applyReports: async (told) => told.map(() => "applied"),
  });
  const hosts = ownHosts(deps, false);
  const authenticate = async () => undefined;
  const receiving = { ...deps, parse, authenticate, reports, unsubscribing: leaving, receive: mailReceiver(deps) };
  return mailDoor({ ...receiving, hosts, operatorInbox: undefined });
}

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
