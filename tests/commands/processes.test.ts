import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { emptyDatabase } from "../support/database.ts";
import { enginesHere } from "../support/engines.ts";
import { inboxdHere, type RunningInboxd, runInboxd, startInboxd } from "../support/inboxd.ts";
import { mailOf } from "../support/mail.ts";
import { parsedMetrics } from "../support/metrics.ts";
import { greeted, inData, type RawSmtp } from "../support/raw-smtp.ts";
import { untilSo } from "../support/until.ts";
import { deliver } from "../support/world.ts";

/** One start of the service in several processes (PROCESSES), as an operator and the senders of mail see it. */
const cases = enginesHere().includes("postgres") && process.platform === "linux" ? [3] : [];
const apiKey = "key-of-the-first-account-in-tests";
const directory = mkdtempSync(join(tmpdir(), "ibx-processes-"));
const database = cases.length > 0 ? await emptyDatabase() : undefined;
const started: RunningInboxd[] = [];

afterEach(async () => {
  for (const each of started.splice(0)) {
    each.signal("SIGKILL");
    await each.exited;
  }
});

afterAll(async () => {
  await database?.drop();
  rmSync(directory, { recursive: true, force: true });
});

const settings = (count: number, env: Record<string, string> = {}) => ({
  cwd: directory,
  env: { DATABASE_URL: database?.url, API_KEY: apiKey, PROCESSES: String(count), METRICS_PORT: "0", ...env },
});

async function start(count: number, env?: Record<string, string>, command = inboxdHere): Promise<RunningInboxd> {
  const inboxd = await startInboxd({ ...settings(count, env), command });
  started.push(inboxd);
  return inboxd;
}

describe.each(cases)("%i processes of one start", (count) => {
  test("listen at the same free ports, and all of them are given connections", async () => {
    const inboxd = await start(count);
    const processes = childrenOf(inboxd.pid);
    expect(processes).toHaveLength(count);
    for (const port of [Number(new URL(inboxd.api).port), inboxd.smtpPort, metricsPortOf(inboxd)]) {
      const sockets = listenersAt(port);
      expect(sockets).toHaveLength(count);
      expect(new Set(sockets.map((socket) => processes.find((pid) => socketsOf(pid).has(socket))))).toEqual(
        new Set(processes),
      );
    }
    // Of 40 connections, one process gets none once in a million times.
    const before = processes.map((pid) => socketsOf(pid).size);
    const clients = await Promise.all(Array.from({ length: 40 }, () => greeted(inboxd.smtpPort)));
    for (const [index, pid] of processes.entries()) {
      expect(socketsOf(pid).size).toBeGreaterThan(before[index] ?? 0);
    }
    expect(await metricOf(inboxd, "inboxd_smtp_sessions")).toBe(40);
    for (const client of clients) client.destroy();
    expect(inboxd.printed().match(/^inboxd \d/gm)).toHaveLength(1);
    expect(logOf(inboxd).filter(({ msg }) => msg === "started")).toHaveLength(1);
  });

  test("answer one page of metrics that adds up, on every connection, and keeps what a killed process counted", async () => {
    const inboxd = await start(count);
    const { address } = await newInbox(inboxd);
    const mails = 20;
    for (const index of Array(mails).keys()) {
      expect(await deliver(inboxd.smtpPort, mailOf({ to: address, subject: `mail ${index}` }), address)).toStartWith(
        "250",
      );
    }
    for (const _ of Array(20)) {
      const page = await metricsOf(inboxd);
      expect(page.get("inboxd_smtp_mails_total")).toBe(mails);
      expect(page.get('inboxd_mails_received_total{outcome="stored",door="smtp"}') ?? mails).toBe(mails);
      expect(page.get("inboxd_processes")).toBe(count);
      expect(page.get("inboxd_database_up")).toBe(1);
      expect(page.get("inboxd_process_restarts_total")).toBe(0);
    }
    for (const pid of childrenOf(inboxd.pid)) {
      const before = await metricsOf(inboxd);
      process.kill(pid, "SIGKILL");
      await untilSo(() => !childrenOf(inboxd.pid).includes(pid));
      await untilSo(async () => (await metricOf(inboxd, "inboxd_processes")) === count);
      const after = await metricsOf(inboxd);
      const fallen = [...before].filter(
        ([name, value]) => /_(?:total|count|sum|bucket)\b/.test(name) && (after.get(name) ?? 0) < value,
      );
      expect(fallen).toEqual([]);
    }
    expect(await metricOf(inboxd, "inboxd_smtp_mails_total")).toBe(mails);
    expect(await metricOf(inboxd, "inboxd_process_restarts_total")).toBe(count);
  });

  test("lose no acknowledged mail when they are killed one after the other, and are started again", async () => {
    const inboxd = await start(count);
    const { id, address } = await newInbox(inboxd);
    const acknowledged = new Set<string>();
    let isOver = false;
    const senders = Array.from({ length: 8 }, async (_, sender) => {
      for (let index = 0; !isOver; index += 1) {
        const subject = `mail ${sender}-${index}`;
        const raw = mailOf({ to: address, subject, messageId: `${sender}-${index}@${id}` });
        // A sender that hears no answer tries again.
        const sent = async () => (await deliver(inboxd.smtpPort, raw, address).catch(() => "")).startsWith("250");
        await untilSo(sent);
        acknowledged.add(subject);
      }
    });
    for (const round of [1, 2, 3]) {
      const [pid = 0] = childrenOf(inboxd.pid);
      const seen = acknowledged.size;
      process.kill(pid, "SIGKILL");
      await untilSo(() => logOf(inboxd).filter(({ msg }) => msg === "a process was started again").length === round);
      await untilSo(() => acknowledged.size > seen);
    }
    isOver = true;
    await Promise.all(senders);
    expect((await subjectsOf(inboxd, id)).toSorted()).toEqual([...acknowledged].toSorted());
    // The pause before a start grows with each end.
    const pauses = logOf(inboxd).filter(({ msg }) => msg === "a process ended");
    expect(pauses.every(({ level, reason }) => level === "error" && reason === "SIGKILL")).toBe(true);
    expect(new Set(pauses.map(({ process: number }) => number)).size).toBeGreaterThan(0);
    expect(await inboxd.stop()).toBe(0);
  }, 120_000);

  test("one that hangs is killed and started again, and no other", async () => {
    const impatient = [process.execPath, join(import.meta.dir, "../support/impatient-serve.ts")];
    const inboxd = await start(count, {}, impatient);
    const processes = childrenOf(inboxd.pid);
    const [hung = 0, ...others] = processes;
    process.kill(hung, "SIGSTOP");
    await inboxd.logged("a process was started again");
    expect(isRunning(hung)).toBe(false);
    expect(others.every(isRunning)).toBe(true);
    expect(childrenOf(inboxd.pid)).toHaveLength(count);
    const faults = logOf(inboxd).filter(({ level }) => level === "error");
    expect(faults).toMatchObject([
      { msg: "a process does not answer and is killed", process: 1, unanswered_ms: 8_000 },
      { msg: "a process ended", process: 1, reason: "SIGKILL" },
    ]);
    expect(await inboxd.stop()).toBe(0);
  }, 60_000);

  test("SIGTERM ends all of them with 0, after the mails that are being written", async () => {
    const inboxd = await start(count);
    const { address } = await newInbox(inboxd);
    const clients = await Promise.all(Array.from({ length: 12 }, () => inData(inboxd.smtpPort, address)));
    const processes = childrenOf(inboxd.pid);
    // A terminal or systemd may send the signal to all processes at once.
    for (const pid of [inboxd.pid, ...processes]) process.kill(pid, "SIGTERM");
    await inboxd.logged("stopping");
    const said = (client: RawSmtp) => client.ask("Subject: last words\r\n\r\nDone\r\n.");
    for (const reply of await Promise.all(clients.map(said))) expect(reply).toStartWith("250");
    expect(await inboxd.exited).toBe(0);
    expect(processes.filter(isRunning)).toEqual([]);
    expect(logOf(inboxd).map(({ msg }) => msg)).toEqual(expect.arrayContaining(["stopping", "stopped"]));
    expect(logOf(inboxd).filter(({ msg }) => msg === "a process ended")).toEqual([]);
  });

  test("a second SIGTERM ends all of them at once", async () => {
    const inboxd = await start(count);
    const { address } = await newInbox(inboxd);
    const processes = childrenOf(inboxd.pid);
    const endless = await inData(inboxd.smtpPort, address);
    inboxd.signal("SIGTERM");
    await inboxd.logged("stopping");
    inboxd.signal("SIGTERM");
    expect(await inboxd.exited).toBe(0);
    await untilSo(() => !processes.some(isRunning));
    expect(logOf(inboxd).filter(({ msg }) => msg === "stopped")).toEqual([]);
    endless.destroy();
  });

  test("none is left when their parent is killed", async () => {
    const inboxd = await start(count);
    const processes = childrenOf(inboxd.pid);
    inboxd.signal("SIGKILL");
    await inboxd.exited;
    await untilSo(() => !processes.some(isRunning));
    // The ports are free again.
    await start(count, portsOf(inboxd));
  });

  test("SIGHUP reads the certificate again in all of them", async () => {
    const inboxd = await start(count);
    inboxd.signal("SIGHUP");
    const numbers = () =>
      logOf(inboxd)
        .filter(({ msg }) => msg === "certificate read again")
        .map(({ process: number }) => number)
        .toSorted();
    await untilSo(() => numbers().length === count);
    expect(numbers()).toEqual(Array.from({ length: count }, (_, index) => index + 1));
    expect(childrenOf(inboxd.pid)).toHaveLength(count);
  });

  test("a second service is refused at their ports, and they at the ports of another", async () => {
    const many = await start(count);
    for (const other of [1, count]) {
      const refused = await runInboxd(["serve"], settings(other, { ...portsOf(many), LOG_FORMAT: "json" }));
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain("is in use by another inboxd");
      expect(refused.stdout).toBe("");
    }
    const alone = await start(1);
    const refused = await runInboxd(["serve"], settings(count, { ...portsOf(alone), LOG_FORMAT: "json" }));
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("is in use by another inboxd");
  });

  test("a start that fails ends with its error, once", async () => {
    const missing = settings(count, { SMTP_TLS_CERT: "none.pem", SMTP_TLS_KEY: "none.pem", PORT: "0", SMTP_PORT: "0" });
    const ended = await runInboxd(["serve"], missing);
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr.match(/none\.pem/g)).toHaveLength(1);
    const wrong = await runInboxd(["serve"], settings(count, { PORT: "nowhere" }));
    expect(wrong).toMatchObject({ code: 2, stdout: "" });
  });
});

test("several processes on the embedded database are refused", async () => {
  for (const PROCESSES of ["2", "auto"]) {
    const ended = await runInboxd(["serve"], { cwd: directory, env: { PROCESSES, PORT: "nowhere" } });
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    const fault = "PROCESSES: the embedded database belongs to one process; set DATABASE_URL to a Postgres";
    if (PROCESSES === "2") expect(ended.stderr).toContain(fault);
    else expect(ended.stderr).not.toContain("PROCESSES");
  }
});

async function newInbox(inboxd: RunningInboxd): Promise<{ id: string; address: string }> {
  return (await inboxd.request("POST", "/v1/inboxes", {}, apiKey)).json();
}

/** The subjects of all messages of an inbox. */
async function subjectsOf(inboxd: RunningInboxd, id: string): Promise<string[]> {
  const subjects: string[] = [];
  for (let offset = 0; ; offset += 100) {
    const path = `/v1/inboxes/${id}/messages?limit=100&offset=${offset}`;
    const { data } = await (await inboxd.request("GET", path, undefined, apiKey)).json();
    if (data.length === 0) return subjects;
    subjects.push(...data.map(({ subject }: { subject: string }) => subject));
  }
}

function logOf(inboxd: RunningInboxd): Record<string, unknown>[] {
  const lines = inboxd.printed().split("\n");
  return lines.filter((line) => line.startsWith("{") && line.endsWith("}")).map((line) => JSON.parse(line));
}

function metricsUrlOf(inboxd: RunningInboxd): string {
  return /^ +Metrics +(\S+)$/m.exec(inboxd.printed())?.[1] ?? "";
}

const metricsPortOf = (inboxd: RunningInboxd) => Number(new URL(metricsUrlOf(inboxd)).port);

/** The metrics, on a new connection, which any of the processes may get. */
async function metricsOf(inboxd: RunningInboxd): Promise<Map<string, number>> {
  const ask = () => fetch(metricsUrlOf(inboxd), { keepalive: false, headers: { connection: "close" } });
  // A process that has just been killed may have had the connection.
  const answer = await ask().catch(ask);
  return parsedMetrics(await answer.text());
}

async function metricOf(inboxd: RunningInboxd, name: string): Promise<number | undefined> {
  return (await metricsOf(inboxd)).get(name);
}

function portsOf(inboxd: RunningInboxd): Record<string, string> {
  return { PORT: new URL(inboxd.api).port, SMTP_PORT: String(inboxd.smtpPort) };
}

/** The processes that serve; not their parsers. */
function childrenOf(pid: number): number[] {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const listed = tasks.map((task) => readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim());
  return listed.filter(Boolean).flatMap((line) => line.split(" ").map(Number));
}

/** A killed process that nobody has waited for yet does not run. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** The inodes of the sockets that listen at a port of 127.0.0.1. */
function listenersAt(port: number): string[] {
  const address = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = readFileSync("/proc/net/tcp", "utf8").split("\n");
  return rows
    .map((row) => row.trim().split(/\s+/))
    .flatMap(([, local, , state, , , , , , inode = ""]) => (local === address && state === "0A" ? [inode] : []));
}

/** The inodes of the open sockets of a process. */
function socketsOf(pid: number): Set<string> {
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return "";
    }
  });
  return new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
}
