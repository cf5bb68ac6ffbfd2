/**
 * `bun run bench [names] [--quick] [--page FILE]`: all benchmarks one after the other, each a process of its own, and their
 * results as tables in docs/performance.md. With names only those, where `receiving` is both databases and
 * `receiving/embedded` one of them; tables of the others stay as they were. A quick run tells that all works, and writes
 * no page that it was not given. `--against REV` measures this tree beside another revision instead, by bench/against.ts.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { isRunEnding, leaveNothing } from "../scripts/leave-nothing.ts";
import { describeMachine, describeState, flushMs } from "./support/machine.ts";
import { performancePage, readSection, row, writeSection } from "./support/page.ts";
import { type Line, shownPeers, shownTarget, shownValue } from "./support/report.ts";

interface Benchmark {
  name: string;
  title: string;
  /** A program in this folder and its arguments. */
  command: readonly string[];
  environment?: Record<string, string>;
  /** The arguments of a quick run. */
  quick: Record<string, string>;
}

const receivingQuick = { MAILS: "200", TOTAL: "2000", IDLE: "200" };
const sendingQuick = { SECONDS: "0.5", MAILS: "200", INBOXES: "8", SUPPRESSIONS: "1000", DRAFTS: "100" };
const readingQuick = { SECONDS: "0.2", SIZES: "1000,2000" };
const webhooksQuick = { EVENTS: "500", OLD_DELIVERIES: "1000" };
const waitsQuick = { MAILS: "20", WAITS: "200", SECONDS: "2" };
const streamsQuick = { EVENTS: "5000", LISTENERS: "200" };
const removalQuick = { MAILS: "500" };
const exportQuick = { MAILS: "1000" };
const partitionsQuick = { MESSAGES: "13000", EVENTS: "20000", QUIET: "100" };
const embedded = { DATABASE: "embedded" };

const benchmarks: readonly Benchmark[] = [
  { name: "start", title: "Start", command: ["start.ts"], quick: {} },
  { name: "api", title: "Reading an inbox over HTTP", command: ["api.ts"], quick: { SECONDS: "0.5" } },
  {
    name: "receiving",
    title: "Receiving, Postgres",
    command: ["receiving.ts", "rate", "latency", "big", "heard", "memory", "idle"],
    quick: receivingQuick,
  },
  {
    name: "receiving/embedded",
    title: "Receiving, embedded database",
    command: ["receiving.ts", "rate", "latency"],
    environment: embedded,
    quick: receivingQuick,
  },
  {
    name: "senders",
    title: "Checking senders, Postgres",
    command: ["receiving.ts", "senders", "silent"],
    quick: receivingQuick,
  },
  {
    name: "rules",
    title: "10,000 rules",
    command: ["rules.ts"],
    quick: { RULES: "500", MAILS: "200", SECONDS: "0.5" },
  },
  { name: "inbound", title: "Mail by HTTP", command: ["inbound.ts"], quick: { MAILS: "200", ROUNDS: "1" } },
  { name: "sending", title: "Sending, Postgres", command: ["sending.ts"], quick: sendingQuick },
  {
    name: "sending/embedded",
    title: "Sending, embedded database",
    command: ["sending.ts"],
    environment: embedded,
    quick: sendingQuick,
  },
  { name: "webhooks", title: "Webhooks, Postgres", command: ["webhooks.ts"], quick: webhooksQuick },
  {
    name: "webhooks/embedded",
    title: "Webhooks, embedded database",
    command: ["webhooks.ts"],
    environment: embedded,
    quick: webhooksQuick,
  },
  {
    name: "processes",
    title: "Several processes at one port, Postgres",
    command: ["processes.ts"],
    quick: { MAILS: "200", SECONDS: "0.3", ROUNDS: "1" },
  },
  { name: "streams", title: "Streams, Postgres", command: ["streams.ts"], quick: streamsQuick },
  {
    name: "streams/embedded",
    title: "Streams, embedded database",
    command: ["streams.ts"],
    environment: embedded,
    quick: streamsQuick,
  },
  { name: "reading", title: "Lists and search, Postgres", command: ["reading.ts"], quick: readingQuick },
  {
    name: "reading/embedded",
    title: "Lists and search, embedded database",
    command: ["reading.ts"],
    environment: embedded,
    quick: readingQuick,
  },
  {
    name: "object-store",
    title: "Raw mail in an object store, Postgres",
    command: ["object-store.ts"],
    quick: { MAILS: "300" },
  },
  { name: "removal", title: "Removal of old mail, Postgres", command: ["removal.ts"], quick: removalQuick },
  {
    name: "removal/embedded",
    title: "Removal of old mail, embedded database",
    command: ["removal.ts"],
    environment: embedded,
    quick: removalQuick,
  },
  { name: "partitions", title: "Partitions, Postgres", command: ["partitions.ts"], quick: partitionsQuick },
  {
    name: "domains",
    title: "10,000 own domains",
    command: ["domains.ts"],
    quick: { DOMAINS: "500", MAILS: "200" },
  },
  { name: "export", title: "Export of an inbox, Postgres", command: ["export.ts"], quick: exportQuick },
  {
    name: "export/embedded",
    title: "Export of an inbox, embedded database",
    command: ["export.ts"],
    environment: embedded,
    quick: exportQuick,
  },
  {
    name: "authenticating",
    title: "Who really wrote a mail",
    command: ["authenticating.ts"],
    quick: { SECONDS: "0.1" },
  },
  { name: "documents", title: "Texts of documents", command: ["documents.ts"], quick: {} },
  { name: "extraction", title: "What is extracted from mail", command: ["extraction.ts"], quick: { SECONDS: "0.2" } },
  { name: "waits", title: "Waiting for mail, Postgres", command: ["waits.ts"], quick: waitsQuick },
  {
    name: "waits/embedded",
    title: "Waiting for mail, embedded database",
    command: ["waits.ts"],
    environment: embedded,
    quick: waitsQuick,
  },
  {
    name: "console",
    title: "The console in a browser",
    command: ["console.ts"],
    quick: { THREADS: "1000", JUMPS: "20" },
  },
];

/** It writes its own section of the page. */
const profile = { name: "profile", command: ["profile.ts"], quick: { SECONDS: "2", MAILS: "2000", EVENTS: "3000" } };

/** A benchmark that takes longer is stuck. */
const longestMs = 60 * 60_000;

const names = [...benchmarks, profile].map(({ name }) => name);
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, page: { type: "string" }, against: { type: "string" } },
});
if (values.against !== undefined) {
  const comparison = [join(import.meta.dir, "against.ts"), values.against, ...positionals];
  process.exit(await Bun.spawn([process.execPath, ...comparison], { stdio: ["ignore", "inherit", "inherit"] }).exited);
}
const isAsked = (name: string) =>
  positionals.length === 0 || positionals.some((asked) => name === asked || name.startsWith(`${asked}/`));
const unknown = positionals.filter((asked) => !names.some((name) => name === asked || name.startsWith(`${asked}/`)));
if (unknown.length > 0) {
  process.stderr.write(`Cannot measure ${unknown.join(", ")}: the benchmarks are ${names.join(", ")}\n`);
  process.exit(2);
}

const page = values.page ?? (values.quick ? undefined : performancePage);
const rounds = process.env.ROUNDS ?? (values.quick ? "1" : "5");
const state = describeState();
const machine = describeMachine();
leaveNothing();
const directory = mkdtempSync(join(tmpdir(), "ibx-bench-all-"));
const tables = new Map<string, string>();
let running: Bun.Subprocess | undefined;

let failed = 0;
for (const benchmark of benchmarks.filter(({ name }) => isAsked(name))) {
  tables.set(benchmark.title, await tableOf(benchmark));
  // After each benchmark, so that an interrupted run loses nothing.
  if (page !== undefined) writeSection(page, "bench", sectionWith(readSection(page, "bench")));
}
if (isAsked(profile.name)) {
  const command = page === undefined ? profile.command : [...profile.command, "--page", page];
  await run({ ...profile, command });
}
rmSync(directory, { recursive: true, force: true });
if (page === undefined) process.stdout.write(`\n${sectionWith("")}\n`);
process.exit(failed === 0 ? 0 : 1);

async function tableOf(benchmark: Benchmark): Promise<string> {
  const results = join(directory, benchmark.name.replace("/", "-"));
  const why = await run(benchmark, { BENCH_RESULTS: results, ROUNDS: rounds });
  const lines = existsSync(results) ? readFileSync(results, "utf8").trim().split("\n") : [];
  const rows = lines.filter((line) => line !== "").map((line) => rowOf(JSON.parse(line) as Line));
  if (why !== undefined) rows.push(row("failed", "", "", "", why));
  // A quick run sets the sizes. Another run may have them from the shell.
  const sizes = Object.entries(process.env).filter(([name]) => !values.quick && name in benchmark.quick);
  const setting = [...Object.entries(benchmark.environment ?? {}), ...sizes].map(
    ([name, value]) => `${name}=${value} `,
  );
  return [
    `${state}${values.quick ? ", a quick run" : ""}; medians of ${rounds}; a flush of the disk took ${flushMs().toFixed(2)} ms.`,
    `Again: \`${setting.join("")}bun bench/${benchmark.command.join(" ")}\``,
    "",
    row("what", "ratio to a peer", "inboxd", "wanted", "more"),
    row("---", "---", "---:", "---", "---"),
    ...rows,
  ].join("\n");
}

/** Runs one to its end; returns why it failed, or undefined. */
async function run(
  { name, command, environment, quick }: Pick<Benchmark, "name" | "command" | "environment" | "quick">,
  more: Record<string, string> = {},
): Promise<string | undefined> {
  process.stdout.write(`\n${name}\n`);
  const [program = "", ...words] = command;
  const child = Bun.spawn([process.execPath, join(import.meta.dir, program), ...words], {
    // A database in the shell's environment must not be measured.
    env: {
      ...process.env,
      DATABASE_URL: undefined,
      DATABASE: undefined,
      ...environment,
      ...(values.quick && quick),
      ...more,
    },
    stdin: "ignore",
    stdout: "inherit",
    stderr: "pipe",
    // A process group of its own, so that its processes end with it.
    detached: true,
  });
  running = child;
  let isOverdue = false;
  const timer = setTimeout(() => {
    isOverdue = true;
    endGroup();
  }, longestMs);
  let said = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stderr) {
    process.stderr.write(chunk);
    said += decoder.decode(chunk, { stream: true });
  }
  const code = await child.exited;
  clearTimeout(timer);
  // The run was interrupted, which is no failure of the benchmark.
  if (isRunEnding()) await new Promise(() => undefined);
  running = undefined;
  if (code === 0) return undefined;
  failed += 1;
  const last = said.trimEnd().split("\n").at(-1) ?? "";
  const why = isOverdue
    ? `it took more than ${longestMs / 60_000} minutes`
    : (/^error: (.+)$/m.exec(said)?.[1] ?? last);
  process.stdout.write(`${name}: failed, ${why || `exit code ${code}`}\n`);
  return why || `exit code ${code}`;
}

function endGroup(): void {
  if (running === undefined) return;
  try {
    process.kill(-running.pid, "SIGTERM");
  } catch {
    // The process has ended meanwhile.
  }
}

function rowOf(line: Line): string {
  if (line.kind === "skipped") return row(line.what, "skipped", "", "", line.why);
  const { result } = line;
  return row(result.what, shownPeers(result).join("; "), shownValue(result), shownTarget(result), result.note ?? "");
}

/** The tables of this run, and of earlier runs for the other benchmarks. */
function sectionWith(earlier: string): string {
  const [head = "", ...blocks] = earlier.split(/^### /m);
  const before = head.trim().replace(/^Machine: /, "");
  const tableBefore = new Map(
    blocks.map((block) => [block.slice(0, block.indexOf("\n")), block.slice(block.indexOf("\n")).trim()]),
  );
  const shown = benchmarks.flatMap(({ title }) => {
    const own = tables.get(title);
    const old = tableBefore.get(title);
    if (own !== undefined) return [`### ${title}\n\n${own}`];
    if (old === undefined) return [];
    const isElsewhere = before !== `${machine}.` && !old.startsWith("Measured on: ");
    return [`### ${title}\n\n${isElsewhere ? `Measured on: ${before}\n\n` : ""}${old}`];
  });
  return [`Machine: ${machine}.`, ...shown].join("\n\n");
}
