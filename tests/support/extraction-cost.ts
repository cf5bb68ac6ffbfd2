import { htmlLines } from "../../src/extract/html-lines.ts";
import { walkHtml } from "../../src/mail/html/html-walk.ts";

const wantedMs = 20;

/**
 * The processor time of `work` if it exceeds twenty milliseconds and seven times a peer: reading the elements and lines of a page, which
 * takes three milliseconds on a quiet machine. Both are slower beside other programs, so they are measured in turns, and the best run
 * counts. A quadratic rule takes seconds.
 */
export function excessMsOf(work: () => unknown): number | undefined {
  let [least, leastReading] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let run = 0; run < 40; run += 1) {
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
