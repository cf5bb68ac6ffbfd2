import type { Logger } from "pino";
import { type Config, readConfig } from "../../config.ts";
import { describeOutbound } from "../../domain/outbound.ts";
import type { Service } from "../../service/start.ts";
import { logUnheardRejections } from "../../service/unheard-rejections.ts";
import { version } from "../../version.ts";
import { checkListeners } from "./before-start.ts";
import { loggerOf } from "./logger.ts";
import type { Patience } from "./many.ts";
import { numberVariable, type Started, startedOf } from "./messages.ts";
import { reload } from "./reload.ts";

/**
 * Runs the service until a signal ends it, in this process or in several (PROCESSES). `started` is called in each process once all doors
 * are open. `patience` is that with a process of several that hangs.
 */
export async function serve(
  started: (service: Service, log: Logger) => void = () => undefined,
  patience?: Patience,
): Promise<number> {
  const config = readConfig(process.env, process.stdout.isTTY);
  const log = loggerOf(config, process.stdout);
  logUnheardRejections(log);
  const number = process.env[numberVariable];
  if (number !== undefined && process.send !== undefined) {
    const { serveAsOneOfMany } = await import("./one-of-many.ts");
    return serveAsOneOfMany(config, log.child({ process: Number(number) }), started);
  }
  await checkListeners(config);
  if (config.processes > 1) {
    const { serveByMany } = await import("./many.ts");
    return serveByMany(config, log, (facts) => announce(config, log, facts), patience);
  }
  // Imported when it is needed, because the parent of several processes has no use for it.
  const { startService } = await import("../../service/start.ts");
  const service = await startService(config, log);
  announce(config, log, startedOf(service));
  started(service, log);
  return untilStopped(service, log);
}

/** Prints the banner, and logs the start. */
function announce(config: Config, log: Logger, facts: Started): void {
  const { engine, apiUrl, smtp } = facts;
  process.stdout.write(banner(config, facts));
  const many = config.processes > 1 ? { processes: config.processes } : {};
  log.info({ version, engine, api: apiUrl, smtp_port: smtp.port, ...many }, "started");
}

function untilStopped(service: Service, log: Logger): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  let stopping = false;
  function stop(signal: NodeJS.Signals): void {
    // A second signal ends the process at once. Acknowledged mail is on disk anyway.
    if (stopping) process.exit(0);
    stopping = true;
    log.info({ signal }, "stopping");
    service.stop().then(
      () => {
        log.info("stopped");
        resolve(0);
      },
      (error: unknown) => {
        log.error({ err: error }, "stopped with an error");
        resolve(1);
      },
    );
  }
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  process.on("SIGHUP", () => void reload(service, log));
  return promise;
}

/** The text at the start: addresses, secrets that are shown once, and one curl line that works as printed. */
function banner(config: Config, { apiUrl, smtp, metricsUrl, engine, firstStart, signInUrl }: Started): string {
  const base = new URL(apiUrl).origin;
  const outbound = {
    sandbox: `sandbox mode, sends nothing. Mail to ${config.mailDomain} is delivered here, all other mail is written to ${config.dataDir}/sandbox`,
    direct: "directly to the mail servers of each recipient's domain",
    smtp: `through ${describeOutbound(config.outbound)}`,
  }[config.outbound.kind];
  const lines = [
    "",
    `inboxd ${version}`,
    "",
    `  API        ${base}/v1`,
    `  Docs       ${base}/docs, for language models ${base}/llms.txt`,
    `  SMTP       ${smtp.address}:${smtp.port}, for addresses at ${config.mailDomain}`,
    `  Outbound   ${outbound}`,
    `  Database   ${engine === "embedded" ? `embedded Postgres in ${config.dataDir}` : "Postgres"}`,
    ...(metricsUrl === undefined ? [] : [`  Metrics    ${metricsUrl}`]),
    ...(config.processes > 1 ? [`  Processes  ${config.processes}`] : []),
    "",
  ];
  if (firstStart.apiKey !== undefined) lines.push(`  API key          ${firstStart.apiKey}`);
  if (firstStart.webhookSecret !== undefined) lines.push(`  Webhook secret   ${firstStart.webhookSecret}`);
  if (firstStart.apiKey !== undefined || firstStart.webhookSecret !== undefined) {
    lines.push("  Save the values above: they are shown only once.", "");
  }
  if (signInUrl !== undefined) {
    lines.push(
      "  The console, in a browser. The link works once, within 5 minutes; inboxd console prints another:",
      `    ${signInUrl}`,
      "",
    );
  }
  const key = firstStart.apiKey ?? "$INBOXD_API_KEY";
  lines.push(
    "  Create your first inbox:",
    `    curl -s ${base}/v1/inboxes -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '{"username":"first"}'`.replace(
      /'Authorization: Bearer \$INBOXD_API_KEY'/,
      '"Authorization: Bearer $INBOXD_API_KEY"',
    ),
    "",
    "",
  );
  return lines.join("\n");
}
