import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mostConnections, openDatabase } from "../../src/database/db.ts";
import { type Chance, chanceOf } from "../../tests/support/chance.ts";
import { type PostgresServer, startPostgres } from "../../tests/support/postgres.ts";
import { agent } from "./agents.ts";
import { apiSender } from "./api-senders.ts";
import { checkShown } from "./check.ts";
import { checkLimits, checkRows } from "./check-rows.ts";
import { injectFaults, type ServiceFault } from "./faults.ts";
import { newFleet, serviceEntry } from "./fleet.ts";
import { type Ledger, type LedgerAccount, newLedger } from "./ledger.ts";
import { mailSender } from "./mail-senders.ts";
import { startReceiver, type TortureReceiver } from "./receivers.ts";
import { startRelay } from "./relay.ts";
import { settle } from "./settle.ts";
import { ask, drive, type World } from "./world.ts";

export interface TortureOptions {
  seconds: number;
  seed: number;
  database: "embedded" | "postgres";
  processes: number;
  entry: string;
  settleMs: number;
  /** Left out: all of them. */
  faults?: readonly ServiceFault[];
}

const mailDomain = "torture.example";
const shutdownMs = 5000;
const webhookTimeoutMs = 1000;
/** As the service has them: a claim holds for so long when nobody renews it. */
const webhookLeaseMs = webhookTimeoutMs + 15_000;
const relayLeaseMs = 60_000;
export const longestSettleMs = relayLeaseMs + 45_000;

/** Drives every door of the service at once while it is hurt, lets it come to rest, and answers what the ledger says. */
export async function torture(options: TortureOptions): Promise<Ledger> {
  const ledger = newLedger();
  const chance = chanceOf(options.seed);
  const directory = mkdtempSync(join(tmpdir(), "ibx-torture-"));
  await using cleanups = new AsyncDisposableStack();
  cleanups.defer(() => rmSync(directory, { recursive: true, force: true }));
  const relay = startRelay(ledger, chance.fork());
  cleanups.defer(() => relay.stop());
  const postgres = options.database === "postgres" ? await startPostgres() : undefined;
  if (postgres !== undefined) cleanups.defer(() => postgres.remove());
  const environment = environmentFor(relay.port, postgres);
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
    senderNames: ["a", "b", "c", "d", "e"],
    isDraining: false,
    isOver: false,
  };
  const receivers: TortureReceiver[] = [];
  for (const { name, sendsPerMinute } of accountsWanted) {
    const apiKey = await keyOf(name, environment, directory);
    const account: LedgerAccount = { name, apiKey, webhookSecret: "", sendsPerMinute };
    world.accounts.push(account);
    const receiver = startReceiver(ledger, account, chance.fork());
    receivers.push(receiver);
    cleanups.defer(() => receiver.stop());
    await furnish(world, account, receiver.url);
  }
  const atRest = openFiles(world);

  const endMs = Date.now() + options.seconds * 1000;
  const victims = {
    world,
    postgres,
    relay,
    receivers,
    webhookLeaseMs,
    relayLeaseMs,
    shutdownMs,
    faults: options.faults,
  };
  const working = Promise.all(drivers(world, chance));
  await injectFaults(victims, chance.fork(), endMs);
  world.isDraining = true;
  relay.behave("good");
  for (const receiver of receivers) await receiver.behave("good");
  const givingUp = setTimeout(() => {
    world.isOver = true;
  }, 60_000);
  await working;
  clearTimeout(givingUp);

  await settle(world, options);
  await checkShown(world);
  await checkResources(world, postgres, atRest, () => relay.connections());
  for (const place of fleet.places) {
    const code = await place.end("SIGTERM");
    if (code !== 0) ledger.violation("stop", `${place.name} ended with code ${code}`);
  }
  const db = await openDatabase({ url: postgres?.url("postgres"), dataDir: join(directory, "data-0") });
  try {
    await checkRows(ledger, db, relayLeaseMs);
    await checkLimits(ledger, db);
  } finally {
    await db.close();
  }
  return ledger;
}

/** Tens of operations a second: enough to meet each other, and little enough for a machine with other work. */
function drivers(world: World, chance: Chance): Promise<void>[] {
  const senders = world.senderNames.map((name) => ({ driver: mailSender(world, chance.fork(), name), pauseMs: 60 }));
  const inboxes = [...world.ledger.inboxes.values()];
  const [limited = [], free = []] = [true, false].map((isLimited) =>
    inboxes.filter(({ account }) => (account.sendsPerMinute !== undefined) === isLimited),
  );
  const clients = [
    ...["a", "b", "c", "d"].map((name) => ({ driver: apiSender(world, chance.fork(), name, free), pauseMs: 80 })),
    ...["e", "f", "g"].map((name) => ({ driver: apiSender(world, chance.fork(), name, limited), pauseMs: 400 })),
  ];
  const agents = ["a", "b", "c"].map(() => ({ driver: agent(world, chance.fork()), pauseMs: 150 }));
  return [...senders, ...clients, ...agents].map(({ driver, pauseMs }) => drive(world, chance.fork(), driver, pauseMs));
}

/** The limits of the third are tried from all sides at once, and none may let one send more through. */
const accountsWanted = [
  { name: "default", sendsPerMinute: undefined },
  { name: "second", sendsPerMinute: undefined },
  { name: "limited", sendsPerMinute: 15 },
] as const;

const firstKey = "torture-key-0123456789abcdef";

function environmentFor(relayPort: number, postgres: PostgresServer | undefined): Record<string, string> {
  return {
    ...(postgres !== undefined && { DATABASE_URL: postgres.url("postgres") }),
    PORT: "0",
    SMTP_PORT: "0",
    MAIL_DOMAIN: mailDomain,
    API_KEY: firstKey,
    OUTBOUND: `smtp://127.0.0.1:${relayPort}?tls=off`,
    ALLOW_PRIVATE_WEBHOOKS: "1",
    WEBHOOK_TIMEOUT_MS: String(webhookTimeoutMs),
    WEBHOOK_RETRY_SECONDS: "1,1,1,1,2,2,2,2,3,3,3,3,3,3,3,3,3,3,3,3",
    RELAY_RETRY_SECONDS: "1,1,2,2,3",
    SENDS_PER_MINUTE: `0,free=${accountsWanted[2].sendsPerMinute}`,
    SENDS_PER_DAY: "0",
    COLD_RECIPIENT_DAILY: "0",
    INBOXES_PER_DAY: "0",
    SEND_WAIT_MS: "300",
    SHUTDOWN_TIMEOUT_MS: String(shutdownMs),
    LOG_LEVEL: "warn",
    LOG_FORMAT: "json",
  };
}

/** The first account's key is in the environment; the others are made as an operator makes them, beside the running server. */
async function keyOf(name: string, environment: Record<string, string>, directory: string): Promise<string> {
  if (name === "default") return firstKey;
  const plan = name === "limited" ? "free" : "developer";
  const child = Bun.spawn([process.execPath, serviceEntry, "account", "create", name, "--plan", plan, "--json"], {
    env: { ...process.env, ...environment, DATA_DIR: join(directory, "data-0") },
    stdout: "pipe",
    stderr: "inherit",
  });
  const { apiKey } = JSON.parse(await new Response(child.stdout).text()) as { apiKey: string };
  return apiKey;
}

async function furnish(world: World, account: LedgerAccount, url: string): Promise<void> {
  const webhook = await ask(world, account, "PUT", "/webhook", { body: { url } });
  account.webhookSecret = String(webhook.body.secret ?? "");
  if (account.webhookSecret === "") account.webhookSecret = await rotated(world, account);
  for (let number = 1; number <= (account.sendsPerMinute === undefined ? 3 : 1); number += 1) {
    const body = { username: `${account.name}-${number}` };
    const { status, body: inbox } = await ask(world, account, "POST", "/inboxes", { body });
    if (status !== 201) throw new Error(`Cannot make an inbox: ${status} ${JSON.stringify(inbox)}`);
    const address = String(inbox.address);
    world.ledger.inboxes.set(address, { id: String(inbox.id), address, account });
  }
}

/** The first start made a secret and printed it. */
async function rotated(world: World, account: LedgerAccount): Promise<string> {
  const { body } = await ask(world, account, "POST", "/webhook/rotate-secret", { body: { overlapSeconds: 0 } });
  return String(body.secret);
}

function openFiles(world: World): number {
  return Math.max(...world.fleet.places.map(({ running }) => (running ? openFilesOf(running.pid) : 0)));
}

/** An embedded database opens each table's files when it is first asked about them, and keeps them: they count if opened twice. */
function openFilesOf(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  const files = readdirSync(folder).map((file) => targetOf(join(folder, file)));
  const ofTables = files.filter((file) => file.includes("/pg/base/") || file.includes("/pg/global/"));
  return files.length - new Set(ofTables).size;
}

/** What was closed since the folder was read is none. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return "";
  }
}

/** I7: what was opened for the load is closed again once it is over. */
async function checkResources(
  world: World,
  postgres: PostgresServer | undefined,
  atRest: number,
  relayConnections: () => number,
): Promise<void> {
  const { ledger, fleet } = world;
  const mostFiles = atRest + mostConnections + 10;
  for (let waitedMs = 0; waitedMs < 20_000; waitedMs += 500) {
    if (relayConnections() === 0 && openFiles(world) <= mostFiles) break;
    await Bun.sleep(500);
  }
  if (relayConnections() > 0) ledger.violation("I7", `${relayConnections()} connections to the relay stayed open`);
  if (openFiles(world) > mostFiles)
    ledger.violation("I7", `${openFiles(world)} files are open; ${atRest} were at the start`);
  ledger.counts.set("open files at the end", openFiles(world));
  for (const { name, running } of fleet.places) {
    const status = running === undefined ? "" : readFileSync(`/proc/${running.pid}/status`, "utf8");
    const megabytes = Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    ledger.counts.set(`${name}: MB at the end`, megabytes);
    if (megabytes > 1500) ledger.violation("I7", `${name} holds ${megabytes} MB`);
  }
  if (postgres === undefined) return;
  const [row] = await postgres.ask(
    "select count(*)::int as count from pg_stat_activity where application_name = 'inboxd'",
  );
  const connections = Number(row?.count);
  ledger.counts.set("database connections at the end", connections);
  if (connections > fleet.places.length * mostConnections)
    ledger.violation("I7", `${connections} database connections`);
}
