/**
 * Ends all processes and removes all temporary files of a run of the tests or a benchmark when SIGINT, SIGTERM or SIGHUP ends
 * it. The runtime alone would end this process without `finally`.
 */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The directory of this run's temporary files, once it exists. */
let directory: string | undefined;

/**
 * From now on a signal first ends all processes that this one has started, then this one. Their temporary files are in one
 * directory, which is removed with this process; returns that directory. A second call changes nothing.
 */
export function leaveNothing(place = tmpdir()): string {
  if (directory !== undefined) return directory;
  const own = mkdtempSync(join(place, "ibx-run-"));
  directory = own;
  // A Postgres server in it runs as another user, which must be able to enter.
  chmodSync(own, 0o711);
  process.env.TMPDIR = own;
  process.on("exit", () => rmSync(own, { recursive: true, force: true }));
  for (const [signal, code] of endings) {
    process.on(signal, () => {
      if (isEnding) return;
      isEnding = true;
      process.exitCode = code;
      void end(code);
    });
  }
  return own;
}

let isEnding = false;

/** Whether a signal has come, after which nothing new may start. */
export function isRunEnding(): boolean {
  return isEnding;
}

const endings = [
  ["SIGHUP", 129],
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const;

/** Ends the started processes, then gives this one 3 s to end by itself. */
async function end(code: number): Promise<void> {
  await endStarted();
  await new Promise((resolve) => setTimeout(resolve, lastMomentMs).unref());
  await endStarted();
  process.exit(code);
}

const lastMomentMs = 3_000;

/** Only SIGHUP ends an interactive shell; Postgres waits for its clients after SIGTERM, but not after SIGQUIT. */
const phases: readonly { signals: readonly NodeJS.Signals[]; ms: number }[] = [
  { signals: ["SIGTERM", "SIGHUP", "SIGCONT"], ms: 5_000 },
  { signals: ["SIGQUIT"], ms: 1_000 },
  { signals: ["SIGKILL"], ms: 1_000 },
];

/**
 * Ends all processes that this one has started, and their children. If a parent has died, its child is found by its session, or
 * by its working directory among the temporary files of this run, as for a daemon. `began` are sessions whose leaders may have
 * ended already.
 */
export async function endStarted(began: readonly number[] = []): Promise<void> {
  const known = new Set(began);
  for (const { signals, ms } of phases) {
    const told = new Set<number>();
    for (const untilMs = performance.now() + ms; performance.now() < untilMs; await Bun.sleep(20)) {
      const living = startedHere(known);
      if (living.length === 0) return;
      for (const pid of living) {
        if (told.has(pid)) continue;
        told.add(pid);
        for (const signal of signals) send(pid, signal);
      }
    }
  }
}

/** Adds the children of known processes to `known`; returns those that still run. */
function startedHere(known: Set<number>): number[] {
  const processes = listProcesses();
  const ownSession = processes.find(({ pid }) => pid === process.pid)?.session;
  const isOurs = ({ pid, parent, session }: Listed) =>
    parent === process.pid || known.has(parent) || (session !== ownSession && known.has(session)) || worksHere(pid);
  for (let before = -1; before < known.size; ) {
    before = known.size;
    for (const listed of processes) if (listed.pid !== process.pid && isOurs(listed)) known.add(listed.pid);
  }
  return processes.filter(({ pid, isOver }) => known.has(pid) && !isOver).map(({ pid }) => pid);
}

function worksHere(pid: number): boolean {
  try {
    return directory !== undefined && readlinkSync(`/proc/${pid}/cwd`).startsWith(`${directory}/`);
  } catch {
    return false;
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended meanwhile.
  }
}

interface Listed {
  pid: number;
  parent: number;
  /** The session, or the process group on systems without `/proc`. */
  session: number;
  /** A zombie: it has ended, and its parent has not collected it. */
  isOver: boolean;
}

function listProcesses(): Listed[] {
  if (process.platform !== "linux") return listByPs();
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // proc(5): pid (name) state ppid pgrp session …; the name may hold anything.
      const [state, parent, , session] = (readFileSync(`/proc/${name}/stat`, "utf8").split(") ").at(-1) ?? "").split(
        " ",
      );
      return [{ pid: Number(name), parent: Number(parent), session: Number(session), isOver: state === "Z" }];
    } catch {
      return [];
    }
  });
}

function listByPs(): Listed[] {
  const { stdout } = Bun.spawnSync(["ps", "-A", "-o", "pid=,ppid=,pgid=,state="]);
  return stdout
    .toString()
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .map(([pid, parent, group, state = ""]) => ({
      pid: Number(pid),
      parent: Number(parent),
      session: Number(group),
      isOver: state.startsWith("Z"),
    }));
}
