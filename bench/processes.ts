/**
 * `bun bench/processes.ts [free] [shares]`: one start of the service with several processes (PROCESSES) beside one with a single process, in
 * turns on one Postgres, each with a database of its own.
 *
 * - `free`: two processes beside one, on all cores. On two cores, which Postgres and the load share, the one has most of its core already:
 *   what is asked is whether the second costs anything.
 * - `shares`: each process has a quarter of a core (SHARE), so that the machine has room for several: 1, 2 and 4 of them. It needs root and
 *   cgroups of version 1.
 */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { startFlushingPostgres } from "./support/database.ts";
import { type Load, load, median } from "./support/load.ts";
import { childrenOf, cpuMs, untilAtRest } from "./support/process-usage.ts";
import { report, reportSkipped } from "./support/report.ts";
import { headersOf, newInboxes, sendsTo } from "./support/sends.ts";
import { type ServiceProcess, startServiceProcess } from "./support/service.ts";
import { plainMails, smtpLoad } from "./support/smtp-load.ts";

const rounds = Number(process.env.ROUNDS ?? 5);
const seconds = Number(process.env.SECONDS ?? 2);
const mails = Number(process.env.MAILS ?? 3000);
const inboxCount = Number(process.env.INBOXES ?? 64);
const share = Number(process.env.SHARE ?? 0.25);

const server = await startFlushingPostgres(["shared_buffers=256MB", "max_connections=300"]);
const receiver = startReceiver();
const mail = plainMails(5 << 10);
let mailsBefore = 0;
/** The control groups that this run has made. */
const groups: string[] = [];

/** A start of the service, and what the loads need of it. */
interface Started {
  processes: number;
  service: ServiceProcess;
  inboxes: { id: string; address: string }[];
  stop(): Promise<void>;
}

async function start(processes: number): Promise<Started> {
  const name = `with${processes}_${performance.now().toFixed(0)}`;
  await server.ask(`create database ${name}`);
  const service = await startServiceProcess({
    DATABASE_URL: server.url(name),
    PROCESSES: String(processes),
    SMTP_MAX_CONNECTIONS_PER_ADDRESS: "1000",
    // Nothing listens there, and no second attempt disturbs: going out is measured by bench/sending.ts.
    OUTBOUND: "smtp://127.0.0.1:1",
    ALLOW_PRIVATE_WEBHOOKS: "1",
    RELAY_RETRY_SECONDS: "86400",
  });
  const ids = await newInboxes(service, inboxCount);
  const inboxes = await Promise.all(
    ids.map(async (id) => {
      const answer = await fetch(`${service.apiUrl}/v1/inboxes/${id}`, { headers: headersOf(service) });
      return { id, address: ((await answer.json()) as { address: string }).address };
    }),
  );
  return { processes, service, inboxes, stop: service.stop };
}

/** The kinds of work, each of which returns its rate. */
const kinds: Record<string, { unit: string; rate(started: Started): Promise<number> }> = {
  "receiving 5 KiB, 20 sessions": { unit: "mails/s", rate: receive },
  "receiving 5 KiB and delivering to a webhook": {
    unit: "mails/s",
    async rate(started) {
      const { service } = started;
      const put = (method: string, body?: object) =>
        fetch(`${service.apiUrl}/v1/webhook`, {
          method,
          headers: headersOf(service),
          ...(body && { body: JSON.stringify(body) }),
        });
      await put("PUT", { url: receiver.url });
      const startedMs = performance.now();
      const all = receiver.untilMore(mails);
      await receive(started);
      await all;
      const perSecond = (mails * 1000) / (performance.now() - startedMs);
      await put("DELETE");
      return perSecond;
    },
  },
  "accepting sends, 32 connections": {
    unit: "requests/s",
    rate: ({ service, inboxes }) =>
      requests(
        sendsTo(
          service,
          inboxes.map(({ id }) => id),
        ),
      ),
  },
  "GET /v1/inboxes/{id}, 32 connections": {
    unit: "requests/s",
    rate: ({ service, inboxes: [inbox] }) =>
      requests({ url: `${service.apiUrl}/v1/inboxes/${inbox?.id}`, headers: headersOf(service) }),
  },
};

const parts = { free, shares };
type Part = keyof typeof parts;
const asked = process.argv.slice(2).filter((name): name is Part => name in parts);
try {
  for (const part of asked.length > 0 ? asked : (Object.keys(parts) as Part[])) await parts[part]();
} finally {
  receiver.server.stop(true);
  await server.remove();
}

async function receive({ service, inboxes }: Started): Promise<number> {
  const before = mailsBefore;
  mailsBefore += mails;
  const { perSecond } = await smtpLoad({
    port: service.smtpPort,
    sessions: 20,
    mails,
    mail: (number) => mail(before + number),
    to: (number) => inboxes[number % inboxes.length]?.address ?? "",
  });
  return perSecond;
}

async function requests(of: Omit<Load, "connections">): Promise<number> {
  const { perSecond, statuses, requests: count } = await load({ ...of, connections: 32, seconds });
  if (statuses["200"] !== count) throw new Error(`Cannot measure: not all were 200: ${JSON.stringify(statuses)}`);
  return perSecond;
}

/** The rates of each start in turns, and the processor time of its processes in all rounds. The first round warms up, and is not counted. */
async function inTurns(starts: readonly Started[], rate: (started: Started) => Promise<number>) {
  const measured = starts.map((started) => ({ started, rates: [] as number[], cpuMicros: [] as number[] }));
  for (let round = 0; round <= rounds; round += 1) {
    for (const { started, rates, cpuMicros } of measured) {
      const before = [cpuMs(started.service.pid), performance.now()] as const;
      const perSecond = await rate(started);
      const done = (perSecond * (performance.now() - before[1])) / 1000;
      const usedMs = cpuMs(started.service.pid) - before[0];
      await untilAtRest([started.service.pid]);
      if (round === 0) continue;
      rates.push(perSecond);
      cpuMicros.push((usedMs * 1000) / done);
    }
  }
  return measured;
}

async function free(): Promise<void> {
  const starts = [await start(1), await start(2)];
  try {
    for (const [what, { unit, rate }] of Object.entries(kinds)) {
      const [one, two] = await inTurns(starts, rate);
      if (one === undefined || two === undefined) return;
      const ratios = two.rates.map((each, index) => each / (one.rates[index] ?? Number.NaN));
      report({
        what: `two processes, ${what}`,
        value: median(two.rates),
        unit,
        beside: [{ name: "one process", value: median(one.rates), ratio: median(ratios) }],
        target: { ratio: { atLeast: 1 } },
        note: `CPU of inboxd ${median(two.cpuMicros).toFixed(0)} µs, of one process ${median(one.cpuMicros).toFixed(0)} µs`,
      });
    }
  } finally {
    for (const started of starts) await started.stop();
  }
}

async function shares(): Promise<void> {
  const starts = [await start(1), await start(2), await start(4)];
  try {
    if (!starts.every(limit))
      return reportSkipped("processes with shares of a core", "it needs root and cgroups of version 1");
    for (const [what, { unit, rate }] of Object.entries(kinds)) {
      const [one, ...more] = await inTurns(starts, rate);
      for (const { started, rates } of more) {
        const ratios = rates.map((each, index) => each / (one?.rates[index] ?? Number.NaN));
        report({
          what: `${started.processes} processes with ${share} of a core each, ${what}`,
          value: median(rates),
          unit,
          beside: [{ name: `one with ${share}`, value: median(one?.rates ?? []), ratio: median(ratios) }],
        });
      }
    }
  } finally {
    for (const started of starts) await started.stop();
    for (const group of groups) rmdirSync(group);
  }
}

/** Gives each process of a start its share of a core. Returns false if this machine cannot. */
function limit({ processes, service }: Started): boolean {
  const root = "/sys/fs/cgroup/cpu";
  if (!existsSync(`${root}/cgroup.procs`) || process.getuid?.() !== 0) return false;
  const periodMicros = 20_000;
  for (const pid of processes === 1 ? [service.pid] : childrenOf(service.pid)) {
    const group = `${root}/inboxd-bench-${pid}`;
    mkdirSync(group);
    groups.push(group);
    writeFileSync(`${group}/cpu.cfs_period_us`, String(periodMicros));
    writeFileSync(`${group}/cpu.cfs_quota_us`, String(periodMicros * share));
    writeFileSync(`${group}/cgroup.procs`, String(pid));
  }
  return true;
}

/** A receiver of webhooks that answers at once and counts. */
function startReceiver() {
  let left = 0;
  let reached = () => {};
  const receiving = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch() {
      left -= 1;
      if (left === 0) reached();
      return new Response("ok");
    },
  });
  return {
    server: receiving,
    url: `http://127.0.0.1:${receiving.port}/hook`,
    /** Resolves when this many more requests have come. */
    untilMore(count: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      left = count;
      reached = resolve;
      return promise;
    },
  };
}
