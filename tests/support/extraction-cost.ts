import { htmlLines } from "../../src/extract/html-lines.ts";
import { walkHtml } from "../../src/mail/html/html-walk.ts";

const wantedMs = 20;

/**
 * What `work` takes of the processor, when that is more than twenty milliseconds and more than this machine has for it just now: reading the
 * elements and lines of a page takes three milliseconds where nothing else runs, and more beside other programs, as the work does. Both
 * are measured in turns, the best of some runs, for no other work on the machine is the rules'. A quadratic rule takes seconds.
 */
export function excessMsOf(work: () => unknown): number | undefined {
  let [least, leastReading] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let run = 0; run < 20; run += 1) {
    least = Math.min(least, cpuMsOf(work));
    if (least < wantedMs) return undefined;
    leastReading = Math.min(
      leastReading,
      cpuMsOf(() => htmlLines(walkHtml(page))),
    );
    if (run >= 8 && least < 7 * leastReading) return undefined;
  }
  return least;
}

const page = "<div>x".repeat(Math.ceil((256 * 1024) / 6)).slice(0, 256 * 1024);

/** The processor time of this thread. */
function cpuMsOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
