import type { Chance } from "../../tests/support/chance.ts";
import type { PatroniCluster } from "../../tests/support/patroni.ts";
import type { PostgresServer } from "../../tests/support/postgres.ts";
import type { TortureZone } from "./domains.ts";
import type { Place } from "./fleet.ts";
import { relayLeaseMs, webhookLeaseMs } from "./leases.ts";
import type { Disturbance } from "./ledger.ts";
import type { TortureReceiver } from "./receivers.ts";
import type { TortureRelay } from "./relay.ts";
import type { World } from "./world.ts";

export interface Victims {
  world: World;
  postgres: PostgresServer | undefined;
  cluster: PatroniCluster | undefined;
  /** The time from one failover of the cluster to the next. */
  failoverEveryMs: number;
  relay: TortureRelay;
  dns: TortureZone;
  receivers: readonly TortureReceiver[];
  shutdownMs: number;
  /** Undefined: all faults that the service must survive. */
  faults: readonly ServiceFault[] | undefined;
}

export type ServiceFault = "kill" | "terminate" | "stop" | (typeof databaseFaults)[number];

const databaseFaults = ["database stopped", "database frozen", "backends killed"] as const;

const clusterFaults = ["primary switched over", "primary killed"] as const;
/** The longest time without the database when another server takes its place. */
const mostAwayMs = 30_000;

/** Causes one fault after the other in the service and its database, and others in its peers, until the drain. */
export async function injectFaults(victims: Victims, chance: Chance, untilMs: number): Promise<void> {
  await Promise.all([
    faultsOfService(victims, chance.fork(), untilMs),
    faultsOfNeighbours(victims, chance.fork(), untilMs),
  ]);
}

async function faultsOfService(victims: Victims, chance: Chance, untilMs: number): Promise<void> {
  const { world, postgres, cluster, failoverEveryMs } = victims;
  const usual = ["kill", "kill", "kill", "terminate", "stop", ...(postgres ? databaseFaults : [])] as const;
  const kinds: readonly ServiceFault[] = victims.faults ?? usual;
  if (kinds.length === 0) return void (await Bun.sleep(untilMs - Date.now()));
  // Each kind once, in the seed's order, before any repeats, so that a short run has them all.
  let waiting: ServiceFault[] = [];
  let failovers: (typeof clusterFaults)[number][] = [];
  let failoverMs = Date.now() + failoverEveryMs;
  while (Date.now() < untilMs) {
    if (cluster && Date.now() >= failoverMs) {
      failoverMs += failoverEveryMs;
      if (failovers.length === 0) failovers = shuffled(clusterFaults, chance);
      await clusterFault(victims, cluster, failovers.pop() ?? "primary killed");
      continue;
    }
    if (waiting.length === 0) waiting = shuffled(kinds, chance);
    const kind = waiting.pop() ?? "kill";
    const place = chance.pick(world.fleet.places);
    world.ledger.count(`fault: ${kind}`);
    if (kind === "kill") await kill(victims, place, chance);
    else if (kind === "terminate") await terminate(victims, place);
    else if (kind === "stop") await stopPastLease(victims, place, chance, untilMs);
    else if (postgres) await databaseFault(victims, postgres, kind, chance);
    await Bun.sleep(chance.whole(500, 4000));
  }
}

async function kill({ world }: Victims, place: Place, chance: Chance): Promise<void> {
  await during(world, "ended", async () => {
    await place.end("SIGKILL");
    await Bun.sleep(chance.whole(0, 1000));
  });
  await revive(world, place);
}

async function terminate({ world, shutdownMs }: Victims, place: Place): Promise<void> {
  const beganMs = Date.now();
  const code = await during(world, "ended", () => place.end("SIGTERM"));
  const tookMs = Date.now() - beganMs;
  if (code !== 0) world.ledger.violation("stop", `SIGTERM ended ${place.name} with code ${code}`);
  if (tookMs > shutdownMs + 5000) world.ledger.violation("stop", `${place.name} took ${tookMs} ms to stop`);
  await revive(world, place);
}

/**
 * Stops a process for a little longer than a lease. Then another process has its claims, and it must not overwrite that one's results.
 */
async function stopPastLease({ world }: Victims, place: Place, chance: Chance, untilMs: number): Promise<void> {
  // A single process has no other to take over.
  const isAlone = world.fleet.places.length === 1;
  const isLong = !isAlone && untilMs - Date.now() > 3 * relayLeaseMs && chance.is(0.4);
  await during(world, "stopped", async () => {
    place.signal("SIGSTOP");
    const leaseMs = isAlone ? 0 : isLong ? relayLeaseMs : webhookLeaseMs;
    await Bun.sleep(leaseMs + chance.whole(500, 3000));
    place.signal("SIGCONT");
  });
  if (isLong) world.ledger.count("fault: stopped past the lease of mail");
}

async function databaseFault(
  { world }: Victims,
  postgres: PostgresServer,
  kind: (typeof databaseFaults)[number],
  chance: Chance,
): Promise<void> {
  await during(world, "database", async () => {
    if (kind === "database stopped") {
      await postgres.stop();
      await Bun.sleep(chance.whole(500, 6000));
      await postgres.start();
    } else if (kind === "database frozen") {
      postgres.freeze();
      await Bun.sleep(chance.whole(1000, 12_000));
      postgres.thaw();
    } else {
      for (let left = chance.whole(3, 12); left > 0; left -= 1) {
        await postgres.ask(killBackends).catch(() => undefined);
        await Bun.sleep(300);
      }
    }
  });
  await untilItServes(world);
}

/** Lets another server become the primary, and measures for how long no process was ready. */
async function clusterFault(
  { world }: Victims,
  cluster: PatroniCluster,
  kind: (typeof clusterFaults)[number],
): Promise<void> {
  world.ledger.count(`fault: ${kind}`);
  const longestAwayMs = watchReadiness(world);
  await during(world, "database", async () => {
    await (kind === "primary killed" ? cluster.killPrimary() : cluster.switchOver());
    await untilItServes(world);
  });
  const awayMs = await longestAwayMs();
  const { counts } = world.ledger;
  counts.set(longestAway, Math.max(counts.get(longestAway) ?? 0, awayMs));
  if (awayMs > mostAwayMs) world.ledger.violation("alive", `nothing was ready for ${awayMs} ms when the ${kind}`);
  await cluster.untilSynchronous();
}

/** Watches until the returned function is called, which returns the longest time without a process that was ready. */
function watchReadiness(world: World): () => Promise<number> {
  let isOver = false;
  async function watch(): Promise<number> {
    let longestMs = 0;
    let readyMs = Date.now();
    for (; !isOver; await Bun.sleep(50)) {
      if (!(await isReady(world))) continue;
      longestMs = Math.max(longestMs, Date.now() - readyMs);
      readyMs = Date.now();
    }
    return Math.max(longestMs, Date.now() - readyMs);
  }
  const watching = watch();
  return () => {
    isOver = true;
    return watching;
  };
}

const longestAway = "longest time without a primary, ms";

const killBackends =
  "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'inboxd' and pid <> pg_backend_pid()";

/** The service must recover by itself, and soon. */
async function untilItServes(world: World): Promise<void> {
  const beganMs = Date.now();
  while (Date.now() - beganMs < 20_000) {
    if (await isReady(world)) {
      const tookMs = Date.now() - beganMs;
      world.ledger.count("recoveries of the database");
      world.ledger.counts.set(slowest, Math.max(world.ledger.counts.get(slowest) ?? 0, tookMs));
      return;
    }
    await Bun.sleep(50);
  }
  world.ledger.violation("alive", "nothing was ready 20 s after the database was back");
}

const slowest = "slowest recovery of the database, ms";

function isReady(world: World): Promise<boolean> {
  return fetch(`${world.fleet.any()?.apiUrl}/readyz`, { signal: AbortSignal.timeout(2000) }).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function faultsOfNeighbours(
  { world, relay, dns, receivers }: Victims,
  chance: Chance,
  untilMs: number,
): Promise<void> {
  while (Date.now() < untilMs) {
    await Bun.sleep(chance.whole(2000, 8000));
    const forMs = chance.whole(1000, 6000);
    if (chance.is(0.2)) {
      world.ledger.count("fault: name server dead");
      dns.isDead = true;
      await Bun.sleep(forMs);
      dns.isDead = false;
    } else if (chance.is(0.6)) {
      const mood = chance.pick(["busy", "gone", "silent"] as const);
      world.ledger.count(`fault: relay ${mood}`);
      relay.behave(mood);
      await Bun.sleep(forMs);
      relay.behave("moody");
    } else {
      world.ledger.count("fault: receiver down");
      const receiver = chance.pick(receivers);
      await receiver.behave("down");
      await Bun.sleep(forMs);
      await receiver.behave("moody");
    }
  }
}

const slowestStart = "slowest start, ms";

async function revive(world: World, place: Place): Promise<void> {
  const beganMs = Date.now();
  await place.start();
  const tookMs = Date.now() - beganMs;
  const { counts } = world.ledger;
  counts.set(slowestStart, Math.max(counts.get(slowestStart) ?? 0, tookMs));
  if (place.running === undefined) {
    world.ledger.violation("alive", `${place.name} did not start`);
    await place.end("SIGKILL");
    await place.start();
  }
  // It then works for as long as it was down, so that slow starts do not fill the run.
  await Bun.sleep(tookMs);
}

async function during<Result>(world: World, kind: Disturbance["kind"], work: () => Promise<Result>): Promise<Result> {
  const disturbance = { kind, fromMs: Date.now(), untilMs: Number.POSITIVE_INFINITY };
  world.ledger.disturbances.push(disturbance);
  try {
    return await work();
  } finally {
    disturbance.untilMs = Date.now();
  }
}

function shuffled<Item>(items: readonly Item[], chance: Chance): Item[] {
  return items
    .map((item) => ({ item, rank: chance() }))
    .sort((one, other) => one.rank - other.rank)
    .map(({ item }) => item);
}
