import type { Logger } from "pino";
import { type Config, readConfig } from "../../config.ts";
import { describeOutbound } from "../../domain/outbound.ts";
import { type Service, startService } from "../../service/start.ts";
import { logUnheardRejections } from "../../service/unheard-rejections.ts";
import { version } from "../../version.ts";
import { checkListeners } from "./before-start.ts";
import { loggerOf } from "./logger.ts";

/** Runs the service until a signal ends it. `started` is called once all doors are open. */
export async function serve(started: (service: Service, log: Logger) => void = () => undefined): Promise<number> {
  const config = readConfig(process.env, process.stdout.isTTY);
  const log = loggerOf(config, process.stdout);
  logUnheardRejections(log);
  await checkListeners(config);
  const service = await startService(config, log);
  process.stdout.write(banner(config, service));
  log.info({ version, engine: service.engine, api: service.apiUrl.href, smtp_port: service.smtp.port }, "started");
  started(service, log);
  return untilStopped(service, log);
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
  process.on("SIGHUP", () => {
    service.reloadCertificate().then(
      () => log.info("certificate read again"),
      (error: unknown) => log.error({ err: error }, "certificate not changed: the new one cannot be used"),
    );
  });
  return promise;
}

/** The text at the start: addresses, secrets that are shown once, and one curl line that works as printed. */
function banner(config: Config, { apiUrl, smtp, metricsUrl, engine, firstStart, signIn }: Service): string {
  const base = apiUrl.origin;
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
    "",
  ];
  if (firstStart.apiKey !== undefined) lines.push(`  API key          ${firstStart.apiKey}`);
  if (firstStart.webhookSecret !== undefined) lines.push(`  Webhook secret   ${firstStart.webhookSecret}`);
  if (firstStart.apiKey !== undefined || firstStart.webhookSecret !== undefined) {
    lines.push("  Save the values above: they are shown only once.", "");
  }
  if (signIn !== undefined) {
    lines.push(
      "  The console, in a browser. The link works once, within 5 minutes; inboxd console prints another:",
      `    ${signIn.url}`,
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
