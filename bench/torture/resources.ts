import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { mostConnections } from "../../src/database/db.ts";
import type { PostgresServer } from "../../tests/support/postgres.ts";
import type { Running } from "./fleet.ts";
import type { World } from "./world.ts";

export const metricsToken = "torture-token-of-the-metrics-0123456789";

const mostMegabytes = 1500;
const sampleMs = 2000;

/** I7: connections and files are closed after the load, and memory stays bounded. */
export interface ResourceWatch {
  check(postgres: Pick<PostgresServer, "ask"> | undefined, relayConnections: () => number): Promise<void>;
  stop(): void;
}

export function watchResources(world: World): ResourceWatch {
  const atRest = openFiles(world);
  const sampling = setInterval(() => sampleMemory(world), sampleMs);
  return {
    async check(postgres, relayConnections) {
      await checkClosed(world, atRest, relayConnections);
      await checkNobodyListens(world);
      if (postgres !== undefined) await checkConnections(world, postgres);
      sampleMemory(world);
    },
    stop: () => clearInterval(sampling),
  };
}

function openFiles(world: World): number {
  return Math.max(...world.fleet.places.map(({ running }) => (running ? openFilesOf(running.pid) : 0)));
}

/** An embedded database opens each table's files at first use and keeps them; only duplicates count. */
function openFilesOf(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  const files = readdirSync(folder).map((file) => targetOf(join(folder, file)));
  const ofTables = files.filter((file) => file.includes("/pg/base/") || file.includes("/pg/global/"));
  return files.length - new Set(ofTables).size;
}

/** A file that was closed since the folder was read does not count. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return "";
  }
}

/** More than the minute after which the service closes a connection that a client of this run keeps for its next request. */
const longestMs = 80_000;

async function checkClosed(world: World, atRest: number, relayConnections: () => number): Promise<void> {
  const { ledger } = world;
  const mostFiles = atRest + mostConnections + 10;
  for (let waitedMs = 0; waitedMs < longestMs; waitedMs += 500) {
    if (relayConnections() === 0 && openFiles(world) <= mostFiles) break;
    await Bun.sleep(500);
  }
  if (relayConnections() > 0) ledger.violation("I7", `${relayConnections()} connections to the relay stayed open`);
  if (openFiles(world) > mostFiles)
    ledger.violation("I7", `${openFiles(world)} files are open; ${atRest} were at the start`);
  ledger.counts.set("open files at the end", openFiles(world));
}

function sampleMemory({ ledger, fleet }: World): void {
  for (const { name, running } of fleet.places) {
    if (running === undefined) continue;
    const megabytes = megabytesOf(running);
    const most = `${name}: MB at its most`;
    ledger.counts.set(`${name}: MB at the end`, megabytes);
    ledger.counts.set(most, Math.max(ledger.counts.get(most) ?? 0, megabytes));
    if (megabytes > mostMegabytes) ledger.violation("I7", `${name} holds ${megabytes} MB`);
  }
}

/** 0 for a process that has just ended. */
function megabytesOf({ pid }: Running): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
  } catch {
    return 0;
  }
}

/** A client that has left is forgotten, however it left. */
async function checkNobodyListens({ ledger, fleet }: World): Promise<void> {
  for (const { name, running } of fleet.places) {
    if (running === undefined) continue;
    let open = await listenersAt(running);
    for (let waitedMs = 0; open !== 0 && waitedMs < 10_000; waitedMs += 250) {
      await Bun.sleep(250);
      open = await listenersAt(running);
    }
    if (open !== 0) ledger.violation("I7", `${name} has ${open} listeners, and all have left`);
  }
}

async function listenersAt({ apiUrl }: Running): Promise<number> {
  const response = await fetch(`${apiUrl}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } });
  const counts = [...(await response.text()).matchAll(/^inboxd_listeners\{.*\} (\d+)$/gm)];
  if (counts.length === 0) throw new Error(`Cannot count listeners: the metrics were answered ${response.status}`);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

async function checkConnections({ ledger, fleet }: World, postgres: Pick<PostgresServer, "ask">): Promise<void> {
  const [row] = await postgres.ask(
    "select count(*)::int as count from pg_stat_activity where application_name = 'inboxd'",
  );
  const connections = Number(row?.count);
  ledger.counts.set("database connections at the end", connections);
  const processes = fleet.places.length * Number(process.env.PROCESSES || 1);
  if (connections > processes * mostConnections) ledger.violation("I7", `${connections} database connections`);
}
