/**
 * `bun bench/cells.ts [--minutes N]`: two cells behind one HAProxy get mail and send to each other. The Postgres of the first is under
 * Patroni, and its primary is switched over or killed once a minute. At the end each mail that was acknowledged must be there once, and
 * neither cell may have been without an acknowledgement for more than 30 s.
 */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { leaveNothing } from "../scripts/leave-nothing.ts";
import { freeCellPorts, startCellBalancer } from "../tests/support/cell-balancer.ts";
import { startInboxd } from "../tests/support/inboxd.ts";
import { startPatroni } from "../tests/support/patroni.ts";
import { startPostgres } from "../tests/support/postgres.ts";
import { scriptedDns } from "../tests/support/scripted-dns.ts";
import { untilSo } from "../tests/support/until.ts";
import { deliver } from "../tests/support/world.ts";

leaveNothing();
const { values } = parseArgs({ options: { minutes: { type: "string", default: "4" } } });
const minutes = Number(values.minutes);
if (!(minutes > 0)) {
  console.error("Cannot try cells: --minutes must be a number above 0");
  process.exit(2);
}
const mostWithoutMs = 30_000;

await using cleanups = new AsyncDisposableStack();
const directory = realpathSync(mkdtempSync(join(tmpdir(), "ibx-two-cells-")));
cleanups.defer(() => rmSync(directory, { recursive: true, force: true }));
const patroni = await startPatroni();
cleanups.defer(() => patroni.remove());
await patroni.ask("create database cell owner inboxd");
const postgres = await startPostgres();
cleanups.defer(() => postgres.remove());
/** It knows no name. */
const dns = await scriptedDns(() => ({ code: 3 }));
cleanups.defer(() => dns.close());
const ports = await freeCellPorts();
const urls = [patroni.url("cell"), postgres.url("postgres")] as const;
const cells = await Promise.all(([0, 1] as const).map(startCell));
const balancer = startCellBalancer(
  directory,
  ports,
  cells.map(({ inboxd }) => inboxd),
);
cleanups.defer(async () => {
  balancer.kill();
  await balancer.exited;
});
await untilSo(async () => (await ask(cells[0], "/readyz").catch(() => undefined))?.status === 200);
for (const cell of cells) {
  const made = await ask(cell, "/v1/inboxes", { body: { username: "ada" } });
  if (made.status !== 201) throw new Error(`Cannot make an inbox: ${made.text}`);
  cell.inboxId = made.body.id;
}

interface Cell {
  number: 0 | 1;
  host: string;
  apiKey: string;
  inboxd: Awaited<ReturnType<typeof startInboxd>>;
  inboxId: string;
  /** The subjects of mail for its inbox that was acknowledged, by it or by the other cell. */
  wanted: Set<string>;
  /** When it has acknowledged something. */
  acknowledgedMs: number[];
  refusals: number;
}

async function startCell(number: 0 | 1): Promise<Cell> {
  const host = `c${number}.example.com`;
  const other = 1 - number;
  const apiKey = `ibx_0${number}${"k".repeat(39)}`;
  const env = {
    CELL: `0${number}`,
    MAIL_DOMAIN: host,
    CELL_PEERS: `c${other}.example.com=http://127.0.0.1:${ports.inside[other]}`,
    BASE_URL: `http://127.0.0.1:${ports.api}`,
    TRUSTED_PROXIES: "127.0.0.1",
    SMTP_PROXY_PROTOCOL: "1",
    SIGNING_KEY: "s".repeat(64),
    ENCRYPTION_KEY: "e".repeat(64),
    INGEST_TOKEN: "t".repeat(40),
    SENDS_PER_MINUTE: "0",
    SENDS_PER_DAY: "0",
    COLD_RECIPIENT_DAILY: "0",
    LOOP_ECHOES: "0",
    PLAN: "enterprise",
    DNS_SERVERS: `127.0.0.1:${dns.port}`,
    DATABASE_URL: urls[number],
    DATA_DIR: join(directory, `data${number}`),
    API_KEY: apiKey,
  };
  const inboxd = await startInboxd({ env });
  cleanups.defer(async () => void (await inboxd.stop()));
  return {
    number,
    host,
    apiKey,
    inboxd,
    inboxId: "",
    wanted: new Set(),
    acknowledgedMs: [],
    refusals: 0,
  };
}

/** A request by way of the balancer, with the key of a cell. It is a POST if it has a body. */
async function ask(cell: Cell | undefined, path: string, post?: { body: object; headers?: Record<string, string> }) {
  const response = await fetch(`http://127.0.0.1:${ports.api}${path}`, {
    signal: AbortSignal.timeout(60_000),
    headers: { authorization: `Bearer ${cell?.apiKey}`, "content-type": "application/json", ...post?.headers },
    ...(post && { method: "POST", body: JSON.stringify(post.body) }),
  });
  const text = await response.text();
  return { status: response.status, text, body: text.startsWith("{") ? JSON.parse(text) : {} };
}

let isOver = false;

/** Delivers one mail after the other to a cell by SMTP, each again until it is acknowledged. */
async function mailLane(cell: Cell, lane: number): Promise<void> {
  for (let number = 0; !isOver; number += 1) {
    const subject = `mail-${lane}-${number}`;
    const id = `<c${cell.number}.${subject}@example.com>`;
    const raw = `From: jane@example.com\r\nSubject: ${subject}\r\nMessage-ID: ${id}\r\n\r\nHello\r\n`;
    await untilTaken(cell, async () => {
      const reply = await deliver(ports.smtp[cell.number], raw, `ada@${cell.host}`);
      if (reply.startsWith("5")) throw new Refused(reply);
      return reply.startsWith("250");
    });
    cell.wanted.add(subject);
    await Bun.sleep(20);
  }
}

/** Sends one mail after the other from a cell to the other one, each again with its key until it is acknowledged. */
async function sendLane(cell: Cell, other: Cell, lane: number): Promise<void> {
  for (let number = 0; !isOver; number += 1) {
    const subject = `send-${lane}-${number}`;
    await untilTaken(cell, async () => {
      const { status, text } = await ask(cell, `/v1/inboxes/${cell.inboxId}/send`, {
        body: { to: `ada@${other.host}`, subject, body: "Hello" },
        headers: { "idempotency-key": subject, prefer: "respond-async" },
      });
      if (status >= 400 && status < 500) throw new Refused(text);
      return status === 200;
    });
    other.wanted.add(subject);
    await Bun.sleep(40);
  }
}

/** A refusal for good, which no cell may give here. */
class Refused extends Error {}

async function untilTaken(cell: Cell, offer: () => Promise<boolean>): Promise<void> {
  while (!(await offer().catch(notRefused))) {
    cell.refusals += 1;
    await Bun.sleep(100);
  }
  cell.acknowledgedMs.push(performance.now());
}

function notRefused(error: unknown): false {
  if (error instanceof Refused) throw error;
  return false;
}

const [first, second] = cells;
if (first === undefined || second === undefined) throw new Error("No cell runs");
const lanes = [0, 1].flatMap((lane) => [
  mailLane(first, lane),
  mailLane(second, lane),
  sendLane(first, second, lane),
  sendLane(second, first, lane),
]);
const load = Promise.all(lanes);
load.catch(() => {
  isOver = true;
});
const beganMs = performance.now();
for (let fault = 1; fault <= minutes && !isOver; fault += 1) {
  await Bun.sleep(15_000);
  console.log(`minute ${fault}: the primary of ${first.host} is ${fault % 2 === 1 ? "switched over" : "killed"}`);
  await (fault % 2 === 1 ? patroni.switchOver() : patroni.killPrimary());
  await patroni.untilSynchronous();
  await Bun.sleep(Math.max(0, beganMs + fault * 60_000 - performance.now()));
}
isOver = true;
await load;

let faults = 0;
for (const cell of cells) {
  let found: string[] = [];
  await untilSo(async () => {
    found = await subjectsOf(cell);
    return found.length >= cell.wanted.size;
  }, 240_000).catch(() => undefined);
  const unique = new Set(found);
  const lost = [...cell.wanted].filter((subject) => !unique.has(subject)).length;
  const doubled = found.length - unique.size;
  const times = cell.acknowledgedMs;
  const withoutMs = Math.max(...times.slice(1).map((ms, index) => ms - (times[index] ?? 0)));
  faults += lost + doubled + (withoutMs > mostWithoutMs ? 1 : 0);
  const ofOther = [...cell.wanted].filter((subject) => subject.startsWith("send")).length;
  console.log(
    `${cell.host}: ${cell.wanted.size} mails acknowledged, ${ofOther} of them from the other cell: ${lost} lost, ${doubled} doubled; ${cell.refusals} refusals, at most ${(withoutMs / 1000).toFixed(1)} s without an acknowledgement`,
  );
}
await cleanups.disposeAsync();
process.exit(faults === 0 ? 0 : 1);

/** The subjects of the mail that a cell has received. */
async function subjectsOf(cell: Cell): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const behind: string = cursor && `&cursor=${cursor}`;
    const page = await ask(cell, `/v1/inboxes/${cell.inboxId}/messages?limit=100&direction=inbound${behind}`);
    if (page.status !== 200) throw new Error(`Cannot list messages: ${page.text}`);
    found.push(...page.body.data.map(({ subject }: { subject: string }) => subject));
    cursor = page.body.nextCursor;
  }
  return found;
}
