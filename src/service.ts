import { join } from "node:path";
import type { Logger } from "pino";
import type { Config } from "./config.ts";
import { type Database, openDatabase } from "./database/db.ts";
import { type DnsClient, dnsClient } from "./dns/client.ts";
import type { RecordType, RecordValues } from "./dns/records.ts";
import { idMaker } from "./domain/ids.ts";
import { type Authenticator, authenticator } from "./flows/account/authenticate.ts";
import { type FirstStart, seedFirstAccount } from "./flows/account/manage-accounts.ts";
import type { Deps } from "./flows/deps.ts";
import { attachmentLinks } from "./flows/read/attachment-links.ts";
import { readiness } from "./flows/readiness.ts";
import { mailEntrance } from "./flows/receive/accept-mail.ts";
import { mailReceiver } from "./flows/receive/receive-email.ts";
import { fileUnparsed } from "./flows/receive/unparsed-mail.ts";
import { emailSender } from "./flows/send/send-email.ts";
import { attachments } from "./http/routes/attachments.ts";
import { events } from "./http/routes/events.ts";
import { guides } from "./http/routes/guides.ts";
import { inboxes } from "./http/routes/inboxes.ts";
import { messages } from "./http/routes/messages.ts";
import { metrics, metricsPort } from "./http/routes/metrics.ts";
import { send } from "./http/routes/send.ts";
import { threads } from "./http/routes/threads.ts";
import { webhook } from "./http/routes/webhook.ts";
import { httpApp } from "./http/shell/app.ts";
import { serveHttp } from "./http/shell/server.ts";
import { measured } from "./http/shell/timed-app.ts";
import { mailParser } from "./mail/read/parse.ts";
import { dkimSigner } from "./mail/write/dkim.ts";
import { serviceMetrics } from "./metrics/service.ts";
import { directRelay } from "./relay/direct.ts";
import type { MailResolver } from "./relay/mx.ts";
import { type Relay, smtpRelay, withinTime } from "./relay/relay.ts";
import { sandboxRelay } from "./relay/sandbox.ts";
import { loadCertificate, selfSigned } from "./smtp/certificate.ts";
import { startSmtp } from "./smtp/listener.ts";
import type { Certificate } from "./smtp/self-signed.ts";
import { originOf } from "./standards/ip.ts";
import { type Change, changesChannel } from "./store/account/changes.ts";
import { answerFiles } from "./store/mail/answer-files.ts";
import { migrate } from "./store/migrate.ts";
import { alignEventLog } from "./store/outbox/event-log.ts";
import { findOrInsertSetting } from "./store/upkeep/settings.ts";
import { version } from "./version.ts";
import { webhookClient } from "./webhook/client.ts";
import { startDatabaseClock } from "./workers/database-clock.ts";
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
  /** Counts the milliseconds that pass. With it a service goes by its database's clock, which this carries on, and not by `now`. */
  elapsedMs?: () => number;
  random: () => number;
  randomBytes: (length: number) => Uint8Array;
}

export const realWorld: World = {
  now: () => new Date(),
  elapsedMs: performance.now.bind(performance),
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

async function start(config: Config, log: Logger, ownWorld: World, stack: Closers): Promise<Service> {
  const db = await openDatabase({
    url: config.databaseUrl,
    dataDir: config.dataDir,
    onWarning: (warning) => log.warn(warning),
  });
  stack.push(db.close);
  const world = await worldOf(db, log, ownWorld, stack);
  await migrate(db);
  await alignEventLog(db);

  let workers: Workers | undefined;
  let baseUrl = config.baseUrl ?? "";
  let draining = false;
  let isListening = false;
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
  const receiving = { ...deps, parse: parser.parseInTurn, receive: mailReceiver(deps) };
  const entrance = mailEntrance({ ...receiving, operatorInbox: config.operatorInbox });
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
  const dns = dnsClient({ ...world, servers: config.dnsServers });
  const relay = wayOut(config, world, dns);
  stack.push(relay.close);
  // Before the relay, which waits for what it has in hand: that must not wait for a name server.
  stack.push(dns.close);
  workers = await startWorkers({
    ...deps,
    relay: watch.relay(relay),
    signMail: config.dkim && (await dkimSigner({ domain: config.mailDomain, ...config.dkim })),
    acceptMail: watch.accept("internal", entrance.accept),
    maxQueueHours: config.maxQueueHours,
    relayRetrySeconds: config.relayRetrySeconds,
    fileUnparsed: (mail, claim, signal) => fileUnparsed(receiving, mail, claim, signal),
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
  const files = await answerFiles({ directory: config.dataDir, randomBytes: world.randomBytes });
  stack.push(files.close);
  const readingDeps = { ...deps, links, answerFiles: files };
  const isReady = readiness(db);
  const app = httpApp(
    {
      authenticate: keys.authenticate,
      health: async () => (isListening ? await isReady() : { ready: false, reason: "the listeners are not up yet" }),
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
    originOf,
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
  isListening = true;

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

/** With the clock that all processes on this database share, if the machine's is to be had: limits and leases are theirs in common. */
async function worldOf(db: Database, log: Logger, own: World, stack: Closers): Promise<World> {
  if (own.elapsedMs === undefined) return own;
  const clock = await startDatabaseClock({ db: db.work, log, elapsedMs: own.elapsedMs });
  stack.push(clock.stop);
  return { ...own, now: clock.now };
}

/** The one way out that the configuration chose. */
function wayOut(config: Config, world: World, dns: DnsClient): Relay {
  const { outbound, smtpHostname: hostname } = config;
  if (outbound.kind === "smtp") return withinTime(smtpRelay(outbound, { hostname }));
  if (outbound.kind === "direct") {
    return withinTime(directRelay({ hostname, resolver: mailResolver(dns), random: world.random }));
  }
  return sandboxRelay({ directory: join(config.dataDir, "sandbox"), now: world.now });
}

/** No records where there are none; rejects where nobody could say, and only there. */
function mailResolver({ ask }: DnsClient): MailResolver {
  async function recordsOf<Type extends RecordType>(name: string, type: Type): Promise<RecordValues[Type][]> {
    const answer = await ask(name, type);
    if (answer.kind === "unknown") throw new Error(answer.reason);
    return answer.kind === "found" ? [...answer.records] : [];
  }
  return {
    resolveMx: (domain) => recordsOf(domain, "MX"),
    resolve4: (name) => recordsOf(name, "A"),
    resolve6: (name) => recordsOf(name, "AAAA"),
  };
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
