import type { Logger } from "pino";
import type { Fetch } from "../../sdk/typescript/src/options.ts";
import { openBlobStore } from "../blobs/blob-store.ts";
import type { Config } from "../config.ts";
import type { AdminDeps } from "../control/administer.ts";
import { serveControl } from "../control/server.ts";
import { type Database, openDatabase } from "../database/db.ts";
import { dnsClient } from "../dns/client.ts";
import { idMaker } from "../domain/ids.ts";
import { isRenaming, relayNaming } from "../domain/send/wire-name.ts";
import { accessTokens } from "../flows/account/access-tokens.ts";
import { authenticator } from "../flows/account/authenticate.ts";
import { closedAccounts } from "../flows/account/closed-accounts.ts";
import { type FirstStart, seedFirstAccount } from "../flows/account/manage-accounts.ts";
import { sealingOf } from "../flows/account/sealed-secrets.ts";
import { type SignInLink, signInLink } from "../flows/account/sign-in.ts";
import { signingKeyOf } from "../flows/account/signing-key.ts";
import { accountRules } from "../flows/account-rules.ts";
import { sharedChanges } from "../flows/changes.ts";
import type { Deps } from "../flows/deps.ts";
import { listeners } from "../flows/listeners.ts";
import { addPartitions } from "../flows/partitions.ts";
import { attachmentLinks } from "../flows/read/attachment-links.ts";
import { approvalLinks } from "../flows/send/approval-links.ts";
import { smtpAddress } from "../http/docs/this-server.ts";
import type { ProcessValues } from "../metrics/registry.ts";
import { type Siblings, serviceMetrics } from "../metrics/service.ts";
import type { Watch } from "../metrics/watch.ts";
import { loadCertificate } from "../smtp/certificate.ts";
import { alignEventLog } from "../store/events/event-log.ts";
import { migrate, migrations } from "../store/migrate.ts";
import { findOrInsertSetting, serviceIdSetting } from "../store/upkeep/settings.ts";
import { version } from "../version.ts";
import { startDatabaseClock } from "../workers/database-clock.ts";
import { openApi } from "./api.ts";
import { openDomains } from "./domains.ts";
import { hearForgetSignals, openKeepers, openStreaming } from "./listening.ts";
import { type Closers, closers, type Opening } from "./opening.ts";
import { withOwnKey } from "./own-key.ts";
import { openInbound, openNotices, openReceiving, openSmtp } from "./receiving.ts";
import { openSender, openWebhooks } from "./sending.ts";
import { realWorld, type TimeAndChance } from "./time-and-chance.ts";
import { withTraces } from "./traces.ts";
import { openWorkers, type Working } from "./working.ts";

export interface Service {
  apiUrl: URL;
  smtp: { address: string; port: number };
  /** The address of the metrics, if they are served. */
  metricsUrl: URL | undefined;
  engine: Database["engine"];
  /** The keys and secrets of a first start, to be shown once. */
  firstStart: FirstStart;
  /** The link that signs a browser in with the first key. Undefined at later starts, and without a console. */
  signIn: SignInLink | undefined;
  deps: Deps;
  /** Sends requests to the API as the first account, with a key that only this process has. */
  askAsFirstAccount(): Promise<Fetch>;
  /** The values of this process for the metrics of all. */
  metricValues: () => Promise<ProcessValues>;
  /** Counts each call of an MCP tool. */
  toolCall: Watch["toolCall"];
  /** Reads the certificate again; the old one stays if the new one is invalid. */
  reloadCertificate(): Promise<void>;
  /** Takes no new work, lets current work end, and releases claims (contract §11). */
  stop(): Promise<void>;
}

/**
 * Opens all parts, in the order of their dependencies. If one fails, those that are open are closed. `siblings` are the other processes at
 * the same ports, if there are any.
 */
export async function startService(
  config: Config,
  log: Logger,
  timeAndChance: TimeAndChance = realWorld,
  siblings?: Siblings,
): Promise<Service> {
  const opened = closers();
  try {
    return await start(config, { log, own: timeAndChance, siblings, opened });
  } catch (error) {
    await opened.closeAll();
    throw error;
  }
}

interface StartParts {
  log: Logger;
  own: TimeAndChance;
  siblings: Siblings | undefined;
  opened: Closers;
}

async function start(config: Config, { log, own, siblings, opened }: StartParts): Promise<Service> {
  // The certificate is checked before anything else: if it failed later, a first start would already have made a key that nobody has seen.
  if (config.smtpTls !== undefined) await loadCertificate(config.smtpTls);
  let observe: Watch["blobs"] = () => undefined;
  const blobs =
    config.blobs === undefined
      ? undefined
      : openBlobStore(config.blobs, (operation, isDone) => observe(operation, isDone));
  const db = await openDatabase({
    url: config.databaseUrl,
    directUrl: config.databaseDirectUrl,
    dataDir: config.dataDir,
    blobs,
    onWarning: (warning) => log.warn(warning),
  });
  opened.push(db.close);
  const timeAndChance = await bySharedClock(own, { db, log, opened });
  await migrate(db, migrations, {
    onRetry: (err) => log.warn({ err }, "the schema is not changed yet: other processes use its tables; trying again"),
  });
  // Before mail comes, since the service may have been stopped for longer than its partitions last.
  await addPartitions({ db, now: timeAndChance.now });
  await alignEventLog(db);

  const changes = await sharedChanges({ ...timeAndChance, db, log });
  opened.push(changes.close);
  let nudge: Working["nudge"] = () => undefined;
  const plain: Deps = {
    ...timeAndChance,
    db,
    log,
    newId: idMaker(timeAndChance.randomBytes),
    sealing: await sealingOf(db.api, config, timeAndChance.randomBytes),
    mailDomain: config.mailDomain,
    isRenamed: isRenaming(relayNaming(config.relayMessageId, config.outbound)),
    limits: config.limits,
    searchWords: config.searchWords,
    recipientsMax: config.recipientsMax,
    isDirect: config.outbound.kind === "direct",
    cell: config.cell,
    cellPeers: config.cellPeers,
    nudge: (kind) => nudge(kind),
    changes,
  };
  const isWanted = config.metricsPort !== undefined || config.metricsToken !== undefined;
  const counted = listeners(config.listeners);
  const facts = { isWanted, db, version, listeners: counted, now: plain.now, siblings };
  const { watch: measured, served, ...numbers } = serviceMetrics(facts);
  observe = measured.blobs;
  opened.push(numbers.stop);
  const { deps, watch } = withTraces({ deps: plain, watch: measured }, config, opened);
  const closed = await closedAccounts(deps);
  opened.push(closed.close);
  const dns = dnsClient({ ...timeAndChance, servers: config.dnsServers, observe: watch.dns });
  opened.push(dns.close);
  const rules = accountRules(deps);
  const opening: Opening = { config, deps, watch, closed, rules, dns, sharesPorts: siblings !== undefined, opened };

  const firstStart = await seedFirstAccount(deps, config);
  const signingKey = await signingKeyOf(deps, config.signingKey);
  const tokens = await accessTokens(signingKey, config.cell);
  const { keys, asking, isOwnKey } = withOwnKey(deps, authenticator(deps, tokens));
  const receiving = await openReceiving(opening, signingKey);
  const { calls, streams } = openKeepers(opening, { listeners: counted, isOwnKey });
  opened.push(
    await hearForgetSignals(db, {
      keys,
      calls,
      closed,
      rules,
      forgetAddress: receiving.door.forget,
      forgetHosts: receiving.hosts.forget,
    }),
  );

  let baseUrl = config.baseUrl ?? "";
  let smtpPort = config.smtpPort;
  const links = await attachmentLinks({
    signingKey,
    ttlSeconds: config.attachmentUrlTtlSeconds,
    cell: config.cell,
    baseUrl: () => baseUrl,
  });
  const approvals = await approvalLinks(signingKey, () => baseUrl);
  const streaming = openStreaming(opening, links);
  const webhooks = openWebhooks(opening);
  const questioning = new AbortController();
  const domains = openDomains({ config, deps, checked: watch.domainChecked, signal: questioning.signal });
  const sender = await openSender(opening, receiving, () => baseUrl);
  const workers = await openWorkers(opening, {
    receiving,
    sender,
    webhooks,
    links,
    domains,
    approvalLinks: approvals,
  });
  // The checks of domains, which are stopped after this, wait for their questions.
  opened.push(() => questioning.abort());
  nudge = workers.nudge;

  const doors = { areOpen: false, areClosing: false };
  const api = await openApi(opening, {
    notices: await openNotices(opening, { signingKey, applyReports: receiving.applyReports }),
    receiving,
    sender,
    inbound: openInbound(opening, receiving),
    keys,
    tokens,
    links,
    approvalLinks: approvals,
    streaming,
    calls,
    streams,
    webhooks,
    workers,
    doors,
    domains,
    releaseMail: receiving.releaseMail,
    listeners: counted,
    numbers: served,
    serviceId: await findOrInsertSetting(db.api, serviceIdSetting, deps.randomBytes(8).toHex()),
    thisServer: () => ({
      baseUrl,
      mailDomain: config.mailDomain,
      smtp: smtpAddress({ host: config.smtpHost, hostname: config.smtpHostname, port: smtpPort }),
    }),
  });
  baseUrl ||= api.url.origin;
  const { smtp, certificate } = await openSmtp(opening, receiving);
  smtpPort = smtp.port;
  numbers.listener(smtp);
  const signingIn = { tokens, baseUrl: () => baseUrl };
  openControl(opening, { webhooks, envelopeFrom: receiving.envelopeFrom, domains }, signingIn);
  const signIn = await signInOf(firstStart, opening, signingIn);
  doors.areOpen = true;

  return {
    apiUrl: api.url,
    smtp: { address: smtp.address, port: smtp.port },
    metricsUrl: api.metricsUrl,
    engine: db.engine,
    firstStart,
    signIn,
    deps,
    askAsFirstAccount: () => asking(api.ask),
    metricValues: numbers.values,
    toolCall: watch.toolCall,
    reloadCertificate: certificate.readNow,
    async stop() {
      doors.areClosing = true;
      const endMs = performance.now() + config.shutdownTimeoutMs;
      await Promise.all([smtp.stop(config.shutdownTimeoutMs), api.stop(config.shutdownTimeoutMs)]);
      // The workers stop after the API, because a send request in progress waits for its first attempt.
      await workers.stop(Math.max(0, endMs - performance.now()));
      await keys.close().catch((err: unknown) => log.warn({ err }, "last use of keys not written"));
      await opened.closeAll();
    },
  };
}

type SigningIn = Pick<Parameters<typeof signInLink>[0], "tokens" | "baseUrl">;

/** Serves the operator's commands. Only for an embedded database, which no other process can open. */
function openControl(
  { config, deps, opened }: Opening,
  parts: Pick<AdminDeps, "webhooks" | "envelopeFrom" | "domains">,
  signingIn: SigningIn,
): void {
  if (deps.db.engine !== "embedded") return;
  const { dataDir, allowPrivateWebhooks } = config;
  const console = config.console ? signingIn : undefined;
  opened.push(serveControl({ ...deps, ...parts, dataDir, allowPrivateWebhooks, version, console }).close);
}

/** Makes a link that signs a browser in, if this start made the first key and the console is on. */
async function signInOf(
  { keyId }: FirstStart,
  { config, deps }: Opening,
  signingIn: SigningIn,
): Promise<Service["signIn"]> {
  if (!config.console || keyId === undefined) return undefined;
  return signInLink({ ...deps, ...signingIn }, keyId);
}

/** Replaces the machine's clock by that of the database, because limits and leases need one clock for all processes. */
async function bySharedClock(
  own: TimeAndChance,
  { db, log, opened }: { db: Database; log: Logger; opened: Closers },
): Promise<TimeAndChance> {
  if (own.elapsedMs === undefined) return own;
  const clock = await startDatabaseClock({ db: db.work, log, elapsedMs: own.elapsedMs });
  opened.push(clock.stop);
  return { ...own, now: clock.now };
}
