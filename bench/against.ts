/**
 * `bun run bench --against REV [names]`: the tree as it is beside another revision, in turns, each as a process with a database of
 * its own. A line tells the ratio of the rates and the processor time of each request, and LOST where one is more than 5 % worse.
 * DATABASE=embedded measures on the other database; ROUNDS (6), MAILS (2000) and SECONDS (2) set the size.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { leaveNothing } from "../scripts/leave-nothing.ts";
import { type BenchDatabase, startDatabase } from "./support/database.ts";
import { load, median } from "./support/load.ts";
import { drainedOutbox } from "./support/outbox.ts";
import { cpuMs, untilAtRest } from "./support/process-usage.ts";
import { newInboxes, sendsTo } from "./support/sends.ts";
import { type ServiceProcess, startServiceProcess } from "./support/service.ts";
import { plainMails, smtpLoad } from "./support/smtp-load.ts";
import { type SmtpSink, smtpSink } from "./support/smtp-sink.ts";

const rounds = Number(process.env.ROUNDS ?? 6);
const mailsOfTurn = Number(process.env.MAILS ?? 2_000);
const seconds = Number(process.env.SECONDS ?? 2);
const mostLost = 0.05;

interface Side extends AsyncDisposable {
  database: BenchDatabase;
  service: ServiceProcess;
  /** The server that mail goes out to; undefined: mail stays in the sandbox. */
  sink: SmtpSink | undefined;
  /** The inboxes that mail goes to and leaves from. */
  inboxIds: string[];
  addresses: string[];
  sent: number;
}

interface Turn {
  requests: number;
  perSecond: number;
}

/** A load of one turn. Those that leave work behind, as mail does for the search index, are counted up to its end. */
interface Subject {
  name: string;
  leavesWork: boolean;
  /** Done before a turn, and not measured. A subject with it sends mail out, so it has services of its own. */
  prepare?(side: Side): Promise<void>;
  run(side: Side): Promise<Turn>;
}

const small = plainMails(5 << 10);
const large = plainMails(100 << 10);

const subjects: readonly Subject[] = [
  { name: "receiving", leavesWork: true, run: (side) => receive(side, small, mailsOfTurn) },
  { name: "receiving-100k", leavesWork: true, run: (side) => receive(side, large, mailsOfTurn / 4) },
  { name: "sends", leavesWork: true, run: (side) => ask(sendsTo(side.service, side.inboxIds), 32) },
  { name: "relaying", leavesWork: true, prepare: (side) => fillOutbox(side), run: (side) => relay(side) },
  { name: "inbox", leavesWork: false, run: (side) => read(side, "") },
  { name: "messages", leavesWork: false, run: (side) => read(side, "/messages") },
  { name: "threads", leavesWork: false, run: (side) => read(side, "/threads?limit=20") },
  { name: "search", leavesWork: false, run: (side) => read(side, "/messages?q=mail") },
];

const [revision, ...asked] = process.argv.slice(2);
const unknown = asked.filter((name) => !subjects.some((subject) => subject.name === name));
if (revision === undefined || unknown.length > 0) {
  const names = subjects.map(({ name }) => name).join(", ");
  process.stderr.write(
    `${revision === undefined ? "A revision is missing" : `Cannot compare ${unknown.join(", ")}: the subjects are ${names}`}\n`,
  );
  process.exit(2);
}

const other = await treeOf(revision);
const house = join(import.meta.dir, "..");
const wanted = subjects.filter(({ name }) => asked.length === 0 || asked.includes(name));
let lost = 0;
for (const isRelayed of [false, true]) {
  const some = wanted.filter(({ prepare }) => (prepare !== undefined) === isRelayed);
  if (some.length === 0) continue;
  await using before = await start(other, isRelayed);
  await using now = await start(house, isRelayed);
  for (const subject of some) await compare(subject, before, now);
}
process.exit(lost === 0 ? 0 : 1);

/** A copy of the revision with its packages, which a signal or the end of this process removes. */
async function treeOf(rev: string): Promise<string> {
  const tree = join(leaveNothing(), "against");
  mkdirSync(tree);
  await ran(["sh", "-c", 'git archive "$0" | tar -x -C "$1"', rev, tree], join(import.meta.dir, ".."));
  await ran([process.execPath, "install", "--frozen-lockfile", "--no-summary"], tree);
  return tree;
}

async function ran(command: string[], cwd: string): Promise<void> {
  const child = Bun.spawn(command, { cwd, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const said = await new Response(child.stderr).text();
  if ((await child.exited) !== 0 || said.includes("fatal:")) throw new Error(`${command.join(" ")} failed: ${said}`);
}

async function start(tree: string, isRelayed: boolean): Promise<Side> {
  const sink = isRelayed ? await smtpSink() : undefined;
  const database = await startDatabase(["shared_buffers=256MB", "max_wal_size=2GB"]);
  const outbound = sink && { OUTBOUND: `smtp://127.0.0.1:${sink.port}?tls=off` };
  const service = await startServiceProcess({ ...database.environment, ...outbound }, { tree });
  const inboxIds = await newInboxes(service, 20);
  const addresses = await Promise.all(inboxIds.map((id) => addressOf(service, id)));
  const stop = async () => {
    await sink?.[Symbol.asyncDispose]();
    await service.stop();
    await database.remove();
  };
  const side = { database, service, sink, inboxIds, addresses, sent: 0, [Symbol.asyncDispose]: stop };
  // The lists read what these mails left.
  if (!isRelayed) await receive(side, small, 1_000);
  return side;
}

async function addressOf({ apiUrl, apiKey }: ServiceProcess, id: string): Promise<string> {
  const answer = await fetch(`${apiUrl}/v1/inboxes/${id}`, { headers: { authorization: `Bearer ${apiKey}` } });
  return ((await answer.json()) as { address: string }).address;
}

async function receive(side: Side, mail: (number: number) => string, mails: number): Promise<Turn> {
  const first = side.sent;
  side.sent += mails;
  const { perSecond } = await smtpLoad({
    port: side.service.smtpPort,
    sessions: 20,
    mails,
    mail: (number) => mail(first + number),
    to: (number) => side.addresses[number % side.addresses.length] ?? "",
  });
  return { requests: mails, perSecond };
}

/** Mails wait, since the server that they go out to answers nothing. */
async function fillOutbox({ service, sink, inboxIds }: Side): Promise<void> {
  sink?.pause();
  await load({ ...sendsTo(service, inboxIds), connections: 32, requests: mailsOfTurn });
}

async function relay({ database, service, sink }: Side): Promise<Turn> {
  sink?.goOn();
  const { perSecond } = await drainedOutbox(service, database.server, mailsOfTurn);
  return { requests: mailsOfTurn, perSecond };
}

function read(side: Side, path: string): Promise<Turn> {
  const url = `${side.service.apiUrl}/v1/inboxes/${side.inboxIds[0]}${path}`;
  return ask({ url, headers: { authorization: `Bearer ${side.service.apiKey}` } }, 8);
}

async function ask(of: Omit<Parameters<typeof load>[0], "connections">, connections: number): Promise<Turn> {
  const { requests, perSecond, statuses } = await load({ ...of, connections, seconds });
  if (statuses["200"] !== requests) throw new Error(`not all 200: ${JSON.stringify(statuses)}`);
  return { requests, perSecond };
}

interface Measured extends Turn {
  serviceMicros: number;
  postgresMicros: number;
}

async function measure({ prepare, run, leavesWork }: Subject, side: Side): Promise<Measured> {
  await prepare?.(side);
  const { service, database } = side;
  const pids = [service.pid, ...(database.pid === undefined ? [] : [database.pid])];
  const started = pids.map(cpuMs);
  const turn = await run(side);
  if (leavesWork) await untilAtRest(pids);
  const [serviceMicros = 0, postgresMicros = 0] = pids.map(
    (pid, index) => ((cpuMs(pid) - (started[index] ?? 0)) * 1000) / turn.requests,
  );
  return { ...turn, serviceMicros, postgresMicros };
}

/** The first round warms up both sides. The sides go first in turns, since the second may find a busier machine. */
async function compare(subject: Subject, before: Side, now: Side): Promise<void> {
  const turns: { before: Measured; now: Measured }[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const order = round % 2 === 0 ? [before, now] : [now, before];
    const measured = new Map<Side, Measured>();
    for (const side of order) measured.set(side, await measure(subject, side));
    const [theirs, ours] = [measured.get(before), measured.get(now)];
    if (round > 0 && theirs && ours) turns.push({ before: theirs, now: ours });
  }
  const middle = (of: (turn: (typeof turns)[number]) => number) => median(turns.map(of));
  const rate = middle((turn) => turn.now.perSecond / turn.before.perSecond);
  const micros = (of: Measured) => of.serviceMicros + of.postgresMicros;
  const cpu = middle((turn) => micros(turn.now) / micros(turn.before));
  const shown = (side: "before" | "now") =>
    [middle((turn) => turn[side].serviceMicros), middle((turn) => turn[side].postgresMicros)]
      .map(Math.round)
      .join(" + ");
  const isLost = rate < 1 - mostLost || cpu > 1 + mostLost;
  if (isLost) lost += 1;
  const rates = `${middle((turn) => turn.now.perSecond).toFixed(0)} : ${middle((turn) => turn.before.perSecond).toFixed(0)} /s`;
  process.stdout.write(
    `${subject.name}: rate ${rate.toFixed(2)} × (${rates}), CPU ${cpu.toFixed(2)} × (${shown("now")} : ${shown("before")} µs)${isLost ? ", LOST" : ""}\n`,
  );
}
