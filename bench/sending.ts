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
import { dispatch } from "./dispatching.ts";
import { type BenchDatabase, engine, onEngine, startDatabase } from "./support/database.ts";
import { load, median, percentile } from "./support/load.ts";
import { type Measured, measured } from "./support/measured-sends.ts";
import { acceptWaiting, type Drained, drainedOutbox } from "./support/outbox.ts";
import { report } from "./support/report.ts";
import { bodyOf, headersOf, newInboxes, sendsTo, startProgram } from "./support/sends.ts";
import { startServiceProcess } from "./support/service.ts";
import { smtpSink } from "./support/smtp-sink.ts";
import { suppressed } from "./suppressed.ts";
import { forwards, recipients, uploads } from "./writing-mail.ts";

const rounds = Number(process.env.ROUNDS ?? 5);
const seconds = Number(process.env.SECONDS ?? 3);
const inboxCount = Number(process.env.INBOXES ?? 64);
const connectionCounts = (process.env.CONNECTIONS ?? "32,200").split(",").map(Number);

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

  async function drained(): Promise<Drained[]> {
    const rates: Drained[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await acceptWaiting(databaseEnvironment, { mails, inboxCount });
      await using service = await startServiceProcess(environment);
      rates.push(await drainedOutbox(service, postgres, mails));
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
      await drainedOutbox(service, postgres, mails);
      rates.push((mails * 1000) / (performance.now() - beforeMs));
    }
    return rates;
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
