import { Resolver } from "node:dns/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import type { Config } from "./config.ts";
import { idMaker } from "./domain/ids.ts";
import { mailEntrance } from "./flows/accept-mail.ts";
import { attachmentLinks } from "./flows/attachment-links.ts";
import { type Authenticator, authenticator } from "./flows/authenticate.ts";
import type { Deps } from "./flows/deps.ts";
import { type FirstStart, seedFirstAccount } from "./flows/manage-accounts.ts";
import { mailReceiver } from "./flows/receive-email.ts";
import { emailSender } from "./flows/send-email.ts";
import { httpApp } from "./http/app.ts";
import { attachments } from "./http/attachments.ts";
import { events } from "./http/events.ts";
import { guides } from "./http/guides.ts";
import { inboxes } from "./http/inboxes.ts";
import { measured } from "./http/measured.ts";
import { messages } from "./http/messages.ts";
import { metrics, metricsPort } from "./http/metrics.ts";
import { send } from "./http/send.ts";
import { serveHttp } from "./http/server.ts";
import { threads } from "./http/threads.ts";
import { webhook } from "./http/webhook.ts";
import { directRelay } from "./mail/direct.ts";
import { dkimSigner } from "./mail/dkim.ts";
import { mailParser } from "./mail/parse.ts";
import { type Relay, smtpRelay } from "./mail/relay.ts";
import { sandboxRelay } from "./mail/sandbox.ts";
import { serviceMetrics } from "./metrics/service.ts";
import { type Certificate, loadCertificate, selfSigned } from "./smtp/certificate.ts";
import { startSmtp } from "./smtp/listener.ts";
import { type Change, changesChannel } from "./store/changes.ts";
import { type Database, openDatabase } from "./store/db.ts";
import { alignEventLog } from "./store/event-log.ts";
import { migrate } from "./store/migrate.ts";
import { findOrInsertSetting } from "./store/settings.ts";
import { version } from "./version.ts";
import { webhookClient } from "./webhook/client.ts";
import { startSearchIndexer } from "./workers/index-search.ts";
import { startWorkers, type Workers } from "./workers/scheduler.ts";

export interface Service {
  apiUrl: URL;
  smtp: { address: string; port: number };
  /** Where metrics are read, if they are. */
  metricsUrl: URL | undefined;
  engine: Database["engine"];
  /** What a first start made, to be shown once. */
  firstStart: FirstStart;
  /** For the command line's requests, when it can't open the database itself. */
  deps: Deps;
  control: Database["control"];
  /** Reads the certificate again; the old one stays in force when the new one is wrong. */
  reloadCertificate(): Promise<void>;
  /** Takes nothing new, lets what is in hand end, and releases what is claimed (contract §11). */
  stop(): Promise<void>;
}

/** Time and chance: the only place that may ask the machine for them. */
export interface World {
  now: () => Date;
  random: () => number;
  randomBytes: (length: number) => Uint8Array;
}

export const realWorld: World = {
  now: () => new Date(),
  random: Math.random,
  randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
};

export async function startService(config: Config, log: Logger, world: World = realWorld): Promise<Service> {
  const stack = closers();
  try {
    return await start(config, log, world, stack);
  } catch (error) {
    await stack.closeAll();
    throw error;
  }
}

async function start(config: Config, log: Logger, world: World, stack: Closers): Promise<Service> {
  const db = await openDatabase({
    url: config.databaseUrl,
    dataDir: config.dataDir,
    onWarning: (warning) => log.warn(warning),
  });
  stack.push(db.close);
  await migrate(db);
  await alignEventLog(db);

  let workers: Workers | undefined;
  let baseUrl = config.baseUrl ?? "";
  let draining = false;
  const deps: Deps = {
    ...world,
    db,
    log,
    newId: idMaker(world.randomBytes),
    mailDomain: config.mailDomain,
    limits: config.limits,
    nudge: (kind) => workers?.nudge(kind),
  };
  const isWanted = config.metricsPort !== undefined || config.metricsToken !== undefined;
  const { watch, served, ...numbers } = serviceMetrics({ isWanted, db, version, now: world.now });
  stack.push(async () => numbers.stop());
  const firstStart = await seedFirstAccount(deps, config);
  const keys = authenticator(deps);
  const parser = mailParser({
    mailDomain: config.mailDomain,
    onFault: (fault) => log.warn({ fault }, "parser failed"),
  });
  stack.push(async () => parser.close());
  const entrance = mailEntrance({
    ...deps,
    parse: parser.parse,
    receive: mailReceiver(deps),
    operatorInbox: config.operatorInbox,
  });
  stack.push(await hearChanges(db, keys, entrance.forget));

  const links = await attachmentLinks({
    signingKey: config.signingKey ?? (await findOrInsertSetting(db.api, "signing_key", world.randomBytes(32).toHex())),
    ttlSeconds: config.attachmentUrlTtlSeconds,
    baseUrl: () => baseUrl,
  });
  const webhooks = webhookClient({
    allowPrivate: config.allowPrivateWebhooks,
    timeoutMs: config.webhookTimeoutMs,
    version,
  });
  stack.push(async () => webhooks.close());
  const relay = wayOut(config, world);
  stack.push(relay.close);
  workers = await startWorkers({
    ...deps,
    relay: watch.relay(relay),
    signMail: config.dkim && (await dkimSigner({ domain: config.mailDomain, ...config.dkim })),
    acceptMail: watch.accept("internal", entrance.accept),
    maxQueueHours: config.maxQueueHours,
    relayRetrySeconds: config.relayRetrySeconds,
    webhooks: watch.webhooks(webhooks),
    links,
    webhookTimeoutMs: config.webhookTimeoutMs,
    webhookRetrySeconds: config.webhookRetrySeconds,
    eventRetentionDays: config.eventRetentionDays,
    observe: watch.workers,
  });
  const running = workers;
  stack.push(() => running.stop(0));
  stack.push(startSearchIndexer(deps).stop);

  const webhookDeps = { ...deps, webhooks, allowPrivateWebhooks: config.allowPrivateWebhooks };
  const sendEmail = watch.send(emailSender(deps));
  const sendDeps = { ...deps, sendEmail, settled: running.settled, sendWaitMs: config.sendWaitMs };
  const metricsDeps = served && { ...served, token: config.metricsToken };
  const readingDeps = { ...deps, links, spoolDir: config.dataDir };
  const app = httpApp(
    {
      authenticate: keys.authenticate,
      health: () => readiness(db),
      isDraining: () => draining,
      newRequestId: () => world.randomBytes(12).toHex(),
      log,
      version,
      get baseUrl() {
        return baseUrl;
      },
    },
    {
      guarded: [
        inboxes(deps),
        send(sendDeps),
        messages(readingDeps),
        threads(readingDeps),
        events({ ...deps, links }),
        webhook(webhookDeps),
      ],
      open: [
        guides(() => baseUrl),
        attachments({ ...readingDeps, authenticate: keys.authenticate }),
        ...(metricsDeps !== undefined && config.metricsPort === undefined ? [metrics(metricsDeps)] : []),
      ],
    },
  );
  const measuredApp = watch.request === undefined ? app : measured(app, watch.request);
  const http = serveHttp(measuredApp, { hostname: config.host, port: config.port }, log);
  stack.push(() => http.stop(0));
  const smtpDoor = { ...entrance, accept: watch.accept("smtp", entrance.accept) };
  const smtp = await startSmtp(smtpDoor, {
    host: config.smtpHost,
    port: config.smtpPort,
    hostname: config.smtpHostname,
    maxBytes: config.smtpMaxBytes,
    limits: {
      maxConnectionsPerAddress: config.smtpMaxConnectionsPerAddress,
      uncountedAddresses: config.trustedProxies,
    },
    certificate: await certificateOf(config, world),
    observe: {
      ...watch.smtp,
      fault(err, during) {
        watch.smtp.fault?.(err, during);
        log.warn({ err, during }, "smtp fault");
      },
    },
  });
  stack.push(() => smtp.stop(0));
  numbers.listener(smtp);
  const ownPort =
    metricsDeps !== undefined && config.metricsPort !== undefined
      ? serveHttp(metricsPort(metricsDeps), { hostname: config.host, port: config.metricsPort }, log)
      : undefined;
  stack.push(async () => ownPort?.stop(0));
  if (http.url === undefined) throw new Error("Cannot start: the API has no address");
  baseUrl ||= http.url.origin;

  return {
    apiUrl: http.url,
    smtp: { address: smtp.address, port: smtp.port },
    metricsUrl: metricsDeps && new URL("/metrics", ownPort?.url ?? http.url),
    engine: db.engine,
    firstStart,
    deps,
    control: db.control,
    reloadCertificate: async () => smtp.reloadCertificate(await certificateOf(config, world)),
    async stop() {
      draining = true;
      const endMs = performance.now() + config.shutdownTimeoutMs;
      await Promise.all([smtp.stop(config.shutdownTimeoutMs), http.stop(config.shutdownTimeoutMs)]);
      // Last, since a send in flight waits for its first attempt.
      await running.stop(Math.max(0, endMs - performance.now()));
      await keys.flush().catch((err: unknown) => log.warn({ err }, "last use of keys not written"));
      await stack.closeAll();
    },
  };
}

/** The one way out that the configuration chose. */
function wayOut(config: Config, world: World): Relay {
  const { outbound, smtpHostname: hostname } = config;
  if (outbound.kind === "smtp") return smtpRelay(outbound, { hostname });
  if (outbound.kind === "direct") return directRelay({ hostname, resolver: new Resolver(), random: world.random });
  return sandboxRelay({ directory: join(config.dataDir, "sandbox"), now: world.now });
}

async function readiness(db: Database) {
  try {
    await db.ping();
    return { ready: true as const };
  } catch {
    return { ready: false as const, reason: "the database is away" };
  }
}

/** What another process changed is forgotten here too; while nothing can be heard, nothing is remembered. */
function hearChanges(db: Database, keys: Authenticator, forgetAddress: (username: string) => void) {
  return db.listen(
    changesChannel,
    (payload) => {
      const change = JSON.parse(payload) as Change;
      if (change.kind === "key") keys.forget(change.hash);
      else forgetAddress(change.username);
    },
    keys.setHearing,
  );
}

function certificateOf(config: Config, world: World): Promise<Certificate> {
  if (config.smtpTls !== undefined) return loadCertificate(config.smtpTls);
  return selfSigned({ dataDir: config.dataDir, hostname: config.smtpHostname, ...world });
}

interface Closers {
  push: (close: () => Promise<unknown>) => void;
  /** The last opened is the first closed; one that fails doesn't keep the others open. */
  closeAll: () => Promise<void>;
}

function closers(): Closers {
  const open: (() => Promise<unknown>)[] = [];
  return {
    push: (close) => void open.push(close),
    async closeAll() {
      for (const close of open.splice(0).toReversed()) await close().catch(() => undefined);
    },
  };
}
