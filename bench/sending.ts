/**
 * Sending, on a Postgres of its own: `bun bench/sending.ts [accept] [relay] [recipients] [forwards] [uploads] [files] [single] [dispatch] [suppressed]`; with DATABASE=embedded on the other
 * database, which `relay` can't look into and the peer can't use.
 *
 * - `accept`: sends with `Prefer: respond-async`, limits off, beside a bare Elysia route that inserts one row, in turns
 *   within one run. INBOXES (64) share the sends. The workers don't run: what they do with a mail later costs the same
 *   however it came in, and `relay` measures it.
 * - `relay`: how fast accepted mail goes out to smtp-sink (package postfix), one process.
 * - `recipients`, `forwards`, `uploads`: see writing-mail.ts.
 * - `files`: mails of 10 MB out at smtp-sink, signed and by way of the spool, beside a file of that size to the same relay.
 * - `single`: from a request to its answer `sent`, one at a time, the relay on loopback.
 * - `dispatch`: see dispatching.ts.
 * - `suppressed`: see suppressed.ts; Postgres alone.
 *
 * Read the ratios and the CPU of each request: on a machine that others use as well, the rates mean little.
 */
import { existsSync } from "node:fs";
import { dispatch } from "./dispatching.ts";
import { type BenchDatabase, engine, onEngine, startDatabase } from "./support/database.ts";
import { load, median, percentile } from "./support/load.ts";
import { type Measured, measured } from "./support/measured-sends.ts";
import { cpuMs } from "./support/process-usage.ts";
import { report } from "./support/report.ts";
import { bodyOf, headersOf, newInboxes, type StartedProgram, sendsTo, startProgram } from "./support/sends.ts";
import { startServiceProcess } from "./support/service.ts";
import { suppressed } from "./suppressed.ts";
import { forwards, recipients, uploads } from "./writing-mail.ts";

const rounds = Number(process.env.ROUNDS ?? 5);
const seconds = Number(process.env.SECONDS ?? 3);
const inboxCount = Number(process.env.INBOXES ?? 64);
const connectionCounts = (process.env.CONNECTIONS ?? "32,200").split(",").map(Number);

/** Each look opens a connection and counts rows, so more looks would be a load. */
const betweenLooksMs = 100;

const often = { rounds, seconds };
const parts = {
  accept,
  relay,
  recipients: (database: BenchDatabase) => recipients(database, often),
  forwards: (database: BenchDatabase) => forwards(database, often),
  uploads: (database: BenchDatabase) => uploads(database, often),
  files,
  single,
  dispatch: (database: BenchDatabase) => dispatch(database, often),
  suppressed: (database: BenchDatabase) =>
    suppressed(database, { ...often, inboxCount, connections: connectionCounts[0] ?? 32 }),
};
type Part = keyof typeof parts;
const asked = process.argv.slice(2).filter((name): name is Part => name in parts);

const usual = (Object.keys(parts) as Part[]).filter(
  (part) => (part !== "relay" && part !== "suppressed") || engine === "postgres",
);
for (const part of asked.length > 0 ? asked : usual) {
  // A new database, since otherwise a run would send the mail of another.
  const database = await startDatabase(["shared_buffers=256MB"]);
  try {
    await parts[part](database);
  } finally {
    await database.remove();
  }
}

async function accept(database: BenchDatabase): Promise<void> {
  const ours = await startProgram("accepting.ts", database.environment);
  const peer = database.url === undefined ? undefined : await startProgram("bare-insert.ts", database.environment);
  const inboxIds = await newInboxes(ours, inboxCount);
  try {
    for (const connections of connectionCounts) {
      const results: Measured[] = [];
      const peers: Measured[] = [];
      for (let round = 0; round <= rounds; round += 1) {
        const one = await measured(database, ours, { inboxIds, connections, seconds });
        const other = peer && (await measured(database, peer, { inboxIds: ["one"], connections, seconds }));
        // The first round warms up both.
        if (round === 0) continue;
        results.push(one);
        if (other !== undefined) peers.push(other);
      }
      const of = (value: (each: Measured) => number, rounds = results) => median(rounds.map(value));
      const ratios = peers.map(({ perSecond }, index) => (results[index]?.perSecond ?? Number.NaN) / perSecond);
      const bare = {
        name: "bare Elysia + insert",
        value: of(({ perSecond }) => perSecond, peers),
        ratio: median(ratios),
      };
      report({
        what: `accept, ${connections} connections, ${inboxCount} inboxes${onEngine}`,
        value: of(({ perSecond }) => perSecond),
        unit: "requests/s",
        beside: peers.length > 0 ? [bare] : [],
        target: { ratio: { atLeast: 0.8 } },
        note: [`inboxd ${costs(results)}`, ...(peers.length > 0 ? [`bare ${costs(peers)}`] : [])].join("; "),
      });
    }
  } finally {
    ours.stop();
    if (peer) peer.stop();
  }

  function costs(rounds: readonly Measured[]): string {
    const of = (value: (each: Measured) => number, digits: number) => median(rounds.map(value)).toFixed(digits);
    const postgresShare = database.url ? ` + Postgres ${of(({ postgresMicros }) => postgresMicros, 0)} µs` : "";
    return (
      `p50 ${of(({ p50Ms }) => p50Ms, 1)} ms, p99 ${of(({ p99Ms }) => p99Ms, 1)} ms, ` +
      `CPU ${of(({ cpuMicros }) => cpuMicros, 0)} µs${postgresShare}`
    );
  }
}

async function relay({ server: postgres, environment: databaseEnvironment }: BenchDatabase): Promise<void> {
  if (postgres === undefined)
    throw new Error("Cannot measure: relay looks into the database from outside, which the embedded one forbids");
  const mails = Number(process.env.MAILS ?? 10_000);
  await using sink = await smtpSink();
  const environment = { ...databaseEnvironment, OUTBOUND: `smtp://127.0.0.1:${sink.port}?tls=off` };
  const out = await drained();
  report({
    what: "mails that wait, out at smtp-sink",
    value: median(out.map(({ perSecond }) => perSecond)),
    unit: "mails/s",
    target: { value: { atLeast: 2500 } },
    note: `CPU ${median(out.map(({ micros }) => micros)).toFixed(0)} µs a mail`,
  });
  report({
    what: "mails out at smtp-sink while as many are accepted",
    value: median(await acceptedAndOut()),
    unit: "mails/s",
  });

  /** A service starts on a full outbox: from the first mail out to the last. */
  async function drained(): Promise<{ perSecond: number; micros: number }[]> {
    const rates: { perSecond: number; micros: number }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await accepted(await startProgram("accepting.ts", databaseEnvironment), mails);
      await using service = await startServiceProcess(environment);
      let firstMs = performance.now();
      let firstCpuMs = cpuMs(service.pid);
      for (let left = mails; left > 0; left = await waiting()) {
        if (left === mails) [firstMs, firstCpuMs] = [performance.now(), cpuMs(service.pid)];
        await Bun.sleep(betweenLooksMs);
      }
      const perSecond = (mails * 1000) / (performance.now() - firstMs);
      rates.push({ perSecond, micros: ((cpuMs(service.pid) - firstCpuMs) * 1000) / mails });
    }
    return rates;
  }

  async function acceptedAndOut(): Promise<number[]> {
    const rates: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await using service = await startServiceProcess(environment);
      const inboxIds = await newInboxes(service, inboxCount);
      const beforeMs = performance.now();
      await load({ ...sendsTo(service, inboxIds), connections: 32, requests: mails });
      while ((await waiting()) > 0) await Bun.sleep(betweenLooksMs);
      rates.push((mails * 1000) / (performance.now() - beforeMs));
    }
    return rates;
  }

  async function waiting(): Promise<number> {
    const [row] = (await postgres?.ask("select count(*) as count from outbox", "bench")) ?? [];
    return Number(row?.count);
  }
}

async function files({ environment }: BenchDatabase): Promise<void> {
  await using sink = await smtpSink();
  const mailsAtOnce = 8;
  const ofMails: Relayed[] = [];
  const ofFiles: Relayed[] = [];
  const memory: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const alone = await relayed("mails", 1);
    ofMails.push(alone);
    ofFiles.push(await relayed("file", 1));
    const many = await relayed("mails", mailsAtOnce);
    memory.push((many.grownBytes - alone.grownBytes) / (mailsAtOnce - 1) / (1 << 20));
  }
  const rates = (results: readonly Relayed[]) => median(results.map(({ perSecond }) => perSecond));
  const ratios = ofMails.map(({ perSecond }, round) => perSecond / (ofFiles[round]?.perSecond ?? Number.NaN));
  report({
    what: `mails of 10 MB out at smtp-sink${onEngine}`,
    value: rates(ofMails),
    unit: "mails/s",
    beside: [{ name: "a file of that size", value: rates(ofFiles), ratio: median(ratios) }],
    target: { ratio: { atLeast: 0.5 } },
  });
  report({
    what: `memory for each mail of 10 MB in hand${onEngine}`,
    value: median(memory),
    unit: "MiB",
    target: { value: { atMost: 4 } },
    note: `what ${mailsAtOnce} at once take more than one, shared out`,
  });

  async function relayed(what: "mails" | "file", atOnce: number): Promise<Relayed> {
    const program = [
      process.execPath,
      `${import.meta.dir}/relaying-files.ts`,
      what,
      String(sink.port),
      process.env.MAILS ?? "40",
      String(atOnce),
    ];
    const run = Bun.spawn(program, { env: { ...process.env, ...environment }, stdout: "pipe", stderr: "inherit" });
    return (await new Response(run.stdout).json()) as Relayed;
  }
}

/** The output of bench/relaying-files.ts. */
interface Relayed {
  perSecond: number;
  grownBytes: number;
}

/** Waiting mails, since no workers run. */
async function accepted(server: StartedProgram, mails: number): Promise<void> {
  try {
    await load({ ...sendsTo(server, await newInboxes(server, inboxCount)), connections: 64, requests: mails });
  } finally {
    server.stop();
  }
}

async function single(database: BenchDatabase): Promise<void> {
  await using sink = await smtpSink();
  await using service = await startServiceProcess({
    ...database.environment,
    OUTBOUND: `smtp://127.0.0.1:${sink.port}?tls=off`,
  });
  const [inboxId = ""] = await newInboxes(service, 1);
  const latenciesMs: number[] = [];
  for (let count = 0; count < 200; count += 1) {
    const startMs = performance.now();
    const response = await fetch(`${service.apiUrl}/v1/inboxes/${inboxId}/send`, {
      method: "POST",
      headers: { ...headersOf(service), "idempotency-key": `single-${count}` },
      body: bodyOf(count),
    });
    const { status } = (await response.json()) as { status: string };
    if (status !== "sent") throw new Error(`Cannot measure: the message is ${status}`);
    // The first requests warm the process up.
    if (count >= 50) latenciesMs.push(performance.now() - startMs);
    await Bun.sleep(5);
  }
  const sorted = latenciesMs.toSorted((left, right) => left - right);
  report({
    what: `one request at a time, to its answer \`sent\`, p50${onEngine}`,
    value: percentile(sorted, 0.5),
    unit: "ms",
    target: { value: { atMost: 15 } },
    note: `p99 ${percentile(sorted, 0.99).toFixed(1)} ms`,
  });
}

async function smtpSink() {
  const program = process.env.SMTP_SINK ?? "/usr/sbin/smtp-sink";
  if (!existsSync(program))
    throw new Error("Cannot measure: there is no smtp-sink (package postfix); SMTP_SINK names another");
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  // As root it needs the name of a user.
  const asNobody = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const sink = Bun.spawn([program, ...asNobody, `127.0.0.1:${port}`, "1000"], { stdout: "ignore", stderr: "inherit" });
  for (;;) {
    if (sink.exitCode !== null) throw new Error("Cannot measure: smtp-sink has ended");
    const answers = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } }).catch(() => undefined);
    answers?.end();
    if (answers !== undefined) break;
    await Bun.sleep(20);
  }
  return {
    port,
    async [Symbol.asyncDispose]() {
      sink.kill();
      await sink.exited;
    },
  };
}
