import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBlobStore } from "../../src/blobs/blob-store.ts";
import { readConfig } from "../../src/config.ts";
import { openDatabase, roleSettings } from "../../src/database/db.ts";
import { partitionableTables } from "../../src/domain/partitions.ts";
import { type Chance, chanceOf } from "../../tests/support/chance.ts";
import { startPatroni } from "../../tests/support/patroni.ts";
import { asInDocs, type PgBouncer, startPgBouncer } from "../../tests/support/pgbouncer.ts";
import { type PostgresServer, startPostgres } from "../../tests/support/postgres.ts";
import { agent } from "./agents.ts";
import { apiSender } from "./api-senders.ts";
import { type ApprovedInbox, approver, newApprovedInbox } from "./approvers.ts";
import { checkShown } from "./check.ts";
import { checkDomains } from "./check-domains.ts";
import { checkDrafts } from "./check-drafts.ts";
import { readLogs } from "./check-heard.ts";
import { settlePassing } from "./check-passing.ts";
import { checkReports } from "./check-reports.ts";
import { checkLimits, checkRows } from "./check-rows.ts";
import { deleter, settleDeleting } from "./deleting.ts";
import { domainMover, startZone, type TortureZone } from "./domains.ts";
import { drafter } from "./drafters.ts";
import { injectFaults, type ServiceFault } from "./faults.ts";
import { newFleet, serviceEntry } from "./fleet.ts";
import { firstKey, furnish, limitedSendsPerMinute, newAccount } from "./furnish.ts";
import { checkJudged, judgedInbox } from "./judged.ts";
import { keyManager } from "./keys.ts";
import { relayLeaseMs, webhookTimeoutMs } from "./leases.ts";
import { type Ledger, type LedgerAccount, newLedger } from "./ledger.ts";
import { startListeners } from "./listeners.ts";
import { mailSender } from "./mail-senders.ts";
import { checkObjects, startObjects } from "./objects.ts";
import { eraser, keeper, passingName } from "./passing.ts";
import { ingestToken } from "./post.ts";
import { recoverDead } from "./recovery.ts";
import { startRelay, wireDomain } from "./relay.ts";
import { replier } from "./repliers.ts";
import { noticesToken, reporter } from "./reporters.ts";
import { metricsToken, watchResources } from "./resources.ts";
import { settle } from "./settle.ts";
import { operator } from "./suspensions.ts";
import { drive, type World } from "./world.ts";

export interface TortureOptions {
  seconds: number;
  seed: number;
  /** `patroni`: two Postgres servers, of which one is the primary. */
  database: "embedded" | "postgres" | "patroni";
  failoverEveryMs: number;
  processes: number;
  /** Whether a PgBouncer in transaction mode is before the Postgres. */
  isPooled: boolean;
  entry: string;
  /** Whether the service does early what is due in days, as early-work.ts does. */
  worksEarly: boolean;
  settleMs: number;
  /** Left out: all of them. */
  faults?: readonly ServiceFault[];
  /** Whether the tables are partitioned under the load. */
  isPartitioned?: boolean;
}

const mailDomain = "torture.example";
const shutdownMs = 5000;
/** Longer than a client needs to read the whole log. */
const hearingMs = 30_000;
export const longestSettleMs = relayLeaseMs + 45_000;

/** Drives every door of the service during the faults, waits for rest, and returns the ledger's findings. */
export async function torture(options: TortureOptions): Promise<Ledger> {
  const ledger = newLedger();
  const chance = chanceOf(options.seed);
  const directory = mkdtempSync(join(tmpdir(), "ibx-torture-"));
  await using cleanups = new AsyncDisposableStack();
  cleanups.defer(() => rmSync(directory, { recursive: true, force: true }));
  const relay = startRelay(ledger, chance.fork());
  cleanups.defer(() => relay.stop());
  const postgres = options.database === "postgres" ? await startPostgres() : undefined;
  const cluster = options.database === "patroni" ? await startPatroni() : undefined;
  const server = postgres ?? cluster;
  cleanups.defer(() => server?.remove());
  const databaseUrl = server && (await newDatabase(server, options));
  const dns = await startZone(chance.fork());
  cleanups.defer(() => dns.close());
  const objects = await startObjects(ledger, chance.fork());
  cleanups.defer(() => objects?.store[Symbol.asyncDispose]());
  const pooler =
    databaseUrl !== undefined && options.isPooled ? await startPgBouncer(databaseUrl, asInDocs) : undefined;
  cleanups.defer(() => pooler?.stop());
  const environment = { ...environmentFor(relay.port, dns.port, databaseUrl, pooler), ...objects?.store.env };
  const fleet = newFleet(ledger, { entry: options.entry, directory, processes: options.processes, environment });
  cleanups.defer(() => fleet.stop());
  const onSignal = () => void cleanups.disposeAsync().then(() => process.exit(130));
  process.once("SIGINT", onSignal);
  process.once("SIGTERM", onSignal);
  cleanups.defer(() => {
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  });

  for (const place of fleet.places) await place.start();
  const world: World = {
    ledger,
    fleet,
    mailDomain,
    accounts: [],
    operatorKey: "",
    senderNames: ["a", "b", "c", "d", "e"],
    isDraining: false,
    isOver: false,
  };
  const receivers = await furnish({ world, environment, directory, chance: chance.fork() }, (receiver) =>
    cleanups.defer(() => receiver.stop()),
  );
  const approved = await newApprovedInbox(world, world.accounts[1] as LedgerAccount, options.worksEarly);
  const others = {
    passing: await newAccount(world, passingName),
    guarded: await newAccount(world, "guarded"),
    holders: [await newAccount(world, "holder"), await newAccount(world, "taker")] as const,
  };
  const watch = watchResources(world);
  cleanups.defer(watch.stop);
  const listeners = await startListeners(world, chance.fork());

  const endMs = Date.now() + options.seconds * 1000;
  const victims = {
    world,
    postgres,
    cluster,
    failoverEveryMs: options.failoverEveryMs,
    relay,
    dns,
    receivers: receivers.map(({ moody }) => moody),
    shutdownMs,
    faults: options.faults,
  };
  const working = Promise.all([
    ...drivers(world, chance, approved),
    ...passingDrivers(world, chance, dns, others, options),
    ...(options.isPartitioned === true ? [partition(world, environment, (options.seconds * 1000) / 4)] : []),
  ]);
  await injectFaults(victims, chance.fork(), endMs);
  world.isDraining = true;
  relay.behave("good");
  objects?.behave();
  for (const { moody, late } of receivers) for (const receiver of [moody, late]) await receiver.behave("good");
  const givingUp = setTimeout(() => {
    world.isOver = true;
  }, 60_000);
  await working;
  clearTimeout(givingUp);

  // Reachable receivers have all their events while others are still down.
  await settle(world, options);
  await recoverDead(
    world,
    receivers.map(({ dead }) => dead),
    options.settleMs,
  );
  await settleDeleting(world, options.settleMs);
  if (options.worksEarly) await settlePassing(world, others.passing, options.settleMs);
  await readLogs(world);
  await Promise.all(listeners.map((listener) => listener.finish(Date.now() + Math.min(hearingMs, options.settleMs))));
  await checkShown(world);
  await checkDomains(world);
  await checkJudged(world);
  await watch.check(server, () => relay.connections());
  for (const place of fleet.places) {
    const code = await place.end("SIGTERM");
    if (code !== 0) ledger.violation("stop", `${place.name} ended with code ${code}`);
  }
  const { blobs } = readConfig({ ...objects?.store.env });
  const db = await openDatabase({
    url: databaseUrl,
    dataDir: join(directory, "data-0"),
    blobs: blobs && openBlobStore(blobs),
    // The checks read whole tables, which takes longer than the service's time limits after ten minutes of work.
    timeouts: { statementMs: 300_000, deadlineMs: 300_000 },
  });
  try {
    await checkRows(ledger, db);
    await checkLimits(ledger, db);
    await checkReports(ledger, db);
    await checkDrafts(ledger, db);
    if (objects !== undefined && options.worksEarly) await checkObjects(ledger, db, objects);
  } finally {
    await db.close();
  }
  return ledger;
}

/** Makes the database of the service. Behind a pooler the role has the settings of its sessions, as the guide says. */
async function newDatabase(server: Pick<PostgresServer, "url" | "ask">, { isPooled }: TortureOptions): Promise<string> {
  await server.ask("create database torture owner inboxd");
  for (const [name, value] of Object.entries(isPooled ? roleSettings : {}))
    await server.ask(`alter role inboxd in database torture set ${name} = '${value}'`);
  return server.url("torture");
}

/** Tens of operations a second: enough to collide, few enough for a busy machine. */
function drivers(world: World, chance: Chance, approved: ApprovedInbox): Promise<void>[] {
  const senders = world.senderNames.map((name) => ({ driver: mailSender(world, chance.fork(), name), pauseMs: 60 }));
  const inboxes = [...world.ledger.inboxes.values()];
  const [limited, suspended] = [
    inboxes.filter(({ account }) => account.sendsPerMinute !== undefined),
    inboxes.filter(({ account }) => account.isSuspendable),
  ];
  const others = [...limited, ...suspended, approved.inbox];
  const free = inboxes.filter((inbox) => !others.includes(inbox));
  const clients = [
    ...["a", "b", "c", "d"].map((name) => ({ driver: apiSender(world, chance.fork(), name, free), pauseMs: 80 })),
    ...["h", "i"].map((name) => ({ driver: apiSender(world, chance.fork(), name, suspended), pauseMs: 200 })),
    ...["e", "f", "g"].map((name) => ({ driver: apiSender(world, chance.fork(), name, limited), pauseMs: 400 })),
  ];
  const agents = ["a", "b", "c"].map(() => ({ driver: agent(world, chance.fork()), pauseMs: 150 }));
  const reporters = ["a", "b"].map(() => ({ driver: reporter(world, chance.fork()), pauseMs: 200 }));
  const repliers = ["a", "b"].map((name) => ({ driver: replier(world, chance.fork(), name), pauseMs: 300 }));
  const drafters = ["a", "b", "c"].map((name) => ({ driver: drafter(world, chance.fork(), name, free), pauseMs: 100 }));
  const approvers = ["a", "b", "c", "d"].map((name) => ({
    driver: approver(world, chance.fork(), name, approved),
    pauseMs: 300,
  }));
  const suspendable = world.accounts.filter(({ isSuspendable }) => isSuspendable);
  const operators = suspendable.map((account) => ({ driver: operator(world, chance.fork(), account), pauseMs: 100 }));
  const keyManagers = ["a", "b"].map(() => ({ driver: keyManager(world, chance.fork()), pauseMs: 300 }));
  return [
    ...senders,
    ...clients,
    ...agents,
    ...reporters,
    ...repliers,
    ...drafters,
    ...approvers,
    ...operators,
    ...keyManagers,
  ].map(({ driver, pauseMs }) => drive(world, chance.fork(), driver, pauseMs));
}

/** The accounts for one kind of work each. */
interface OtherAccounts {
  passing: LedgerAccount;
  guarded: LedgerAccount;
  holders: readonly [LedgerAccount, LedgerAccount];
}

/** The drivers of domains, of inboxes that go, and of rules. */
function passingDrivers(
  world: World,
  chance: Chance,
  dns: TortureZone,
  { passing, guarded, holders }: OtherAccounts,
  { worksEarly }: TortureOptions,
): Promise<void>[] {
  const keepers = ["a", "b"].map((name) => ({ driver: keeper(world, chance.fork(), passing, name), pauseMs: 200 }));
  const erasers = ["a", "b"].map((name) => ({ driver: eraser(world, chance.fork(), passing, name), pauseMs: 800 }));
  const deleters = ["a", "b"].map((name) => ({ driver: deleter(world, chance.fork(), passing, name), pauseMs: 200 }));
  const movers = ["a", "b", "c"].map((name) => ({
    driver: domainMover(world, chance.fork(), { dns, holders, name, mayFail: worksEarly }),
    pauseMs: 500,
  }));
  const judged = [0, 1, 2, 3].map((number) => ({
    driver: judgedInbox(world, chance.fork(), guarded, number),
    pauseMs: 500,
  }));
  return [...deleters, ...movers, ...judged, ...(worksEarly ? [...keepers, ...erasers] : [])].map(
    ({ driver, pauseMs }) => drive(world, chance.fork(), driver, pauseMs),
  );
}

/** Partitions the tables under the load, as an operator does: again after a fault. */
async function partition(world: World, environment: Record<string, string>, afterMs: number): Promise<void> {
  await Bun.sleep(afterMs);
  const command = [process.execPath, serviceEntry, "partition", ...partitionableTables, "--by", "day"];
  let said = "";
  for (; !world.isOver; await Bun.sleep(1000)) {
    const child = Bun.spawn(command, { env: { ...process.env, ...environment }, stdout: "ignore", stderr: "pipe" });
    said = await new Response(child.stderr).text();
    if ((await child.exited) === 0) return world.ledger.count("tables partitioned", partitionableTables.length);
    world.ledger.count("partitioning that a fault has ended");
  }
  world.ledger.violation("partitions", `the tables could not be partitioned: ${said.slice(0, 300)}`);
}

function environmentFor(
  relayPort: number,
  dnsPort: number,
  url: string | undefined,
  pooler: PgBouncer | undefined,
): Record<string, string> {
  return {
    ...(url !== undefined && { DATABASE_URL: pooler?.url ?? url }),
    ...(url !== undefined && pooler !== undefined && { DATABASE_POOLED: "1", DATABASE_DIRECT_URL: url }),
    PORT: "0",
    SMTP_PORT: "0",
    MAIL_DOMAIN: mailDomain,
    API_KEY: firstKey,
    AUTHENTICATE: "always",
    INGEST_TOKEN: ingestToken,
    METRICS_TOKEN: metricsToken,
    OUTBOUND: `smtp://127.0.0.1:${relayPort}?tls=off`,
    DNS_SERVERS: `127.0.0.1:${dnsPort}`,
    DOMAINS_PER_ACCOUNT: "0",
    ALLOW_PRIVATE_WEBHOOKS: "1",
    WEBHOOK_TIMEOUT_MS: String(webhookTimeoutMs),
    WEBHOOK_RETRY_SECONDS: "1,1,1,1,2,2,2,2,3,3,3,3,3,3,3,3,3,3,3,3",
    RELAY_MESSAGE_ID: `@${wireDomain}`,
    RELAY_NOTICES: `generic:${noticesToken}`,
    RELAY_RETRY_SECONDS: "1,1,2,2,3",
    SENDS_PER_MINUTE: `0,free=${limitedSendsPerMinute}`,
    SENDS_PER_DAY: "0",
    COLD_RECIPIENT_DAILY: "0",
    INBOXES_PER_DAY: "0",
    SEND_WAIT_MS: "300",
    SHUTDOWN_TIMEOUT_MS: String(shutdownMs),
    LOG_LEVEL: "warn",
    LOG_FORMAT: "json",
  };
}
