/** The use of a process and its children, from `/proc`. */
import { readdirSync, readFileSync } from "node:fs";

/** CPU time of a process and its living children, in milliseconds. */
export function cpuMs(pid: number): number {
  const ticks = [pid, ...childrenOf(pid)].reduce((sum, each) => sum + ticksOf(each), 0);
  return ticks * 10;
}

/**
 * Resolves when processes do no more than they do at rest, at most after a minute. Each window is a second, since that is how
 * often the service looks for work (on the embedded database this takes some 50 ms); it is two of them since the search index
 * is filled behind the mail, slowly at first and, once no more mail has come for a second, with half of a core.
 */
export async function untilAtRest(pids: readonly number[]): Promise<void> {
  const windowMs = 1_000;
  const untilMs = performance.now() + 60_000;
  const used = () => pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
  for (let quiet = 0; quiet < 2 && performance.now() < untilMs; ) {
    const before = used();
    await Bun.sleep(windowMs);
    quiet = used() - before < windowMs * 0.12 ? quiet + 1 : 0;
  }
}

export function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(statusOf(pid))?.[1] ?? 0) / 1024;
}

/** The peak since `forgetPeak`. */
export function peakMb(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(statusOf(pid))?.[1] ?? 0) / 1024;
}

export async function forgetPeak(pid: number): Promise<void> {
  await Bun.write(`/proc/${pid}/clear_refs`, "5");
}

function statusOf(pid: number): string {
  return readFileSync(`/proc/${pid}/status`, "utf8");
}

function ticksOf(pid: number): number {
  const fields = textOf(`/proc/${pid}/stat`)
    .replace(/^.*\) /, "")
    .split(" ");
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
}

/** The living children of a process, of all of its threads. */
export function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const children = textOf(`/proc/${pid}/task/${task}/children`).trim();
    return children === "" ? [] : children.split(" ").map(Number);
  });
}

/** Nothing, once the process or its thread has ended. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
