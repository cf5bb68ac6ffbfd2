/** What a process and those it started have used, as Linux counts it. */
import { readdirSync, readFileSync } from "node:fs";

/** CPU time of a process and its living children, in milliseconds. */
export function cpuMs(pid: number): number {
  const ticks = [pid, ...childrenOf(pid)].reduce((sum, each) => sum + ticksOf(each), 0);
  return ticks * 10;
}

export function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(statusOf(pid))?.[1] ?? 0) / 1024;
}

/** The most since `forgetPeak`. */
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
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ");
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return 0;
  }
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const children = readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim();
    return children === "" ? [] : children.split(" ").map(Number);
  });
}
