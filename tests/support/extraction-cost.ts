import { htmlLines } from "../../src/extract/html-lines.ts";
import { walkHtml } from "../../src/mail/html/html-walk.ts";

const wantedMs = 20;

/**
 * The mean processor time of `work` if it exceeds twenty milliseconds and seven times a peer: reading the elements and lines of a page,
 * which takes three milliseconds on a quiet machine. Both are slower beside other programs, so they are measured in turns, and the best
 * round counts. A round has many runs, because the clock of a thread ticks once in four milliseconds on some machines. A quadratic rule
 * takes seconds.
 */
export function excessMsOf(work: () => unknown): number | undefined {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round += 1) {
    let [took, reading] = [0, 0];
    for (let run = 0; run < runs; run += 1) {
      const ms = cpuMsOf(work);
      if (ms < wantedMs) return undefined;
      took += ms;
      reading += cpuMsOf(() => htmlLines(walkHtml(page)));
    }
    if (took < 7 * reading) return undefined;
    least = Math.min(least, took / runs);
  }
  return least;
}

const runs = 8;
const page = "<div>x".repeat(Math.ceil((256 * 1024) / 6)).slice(0, 256 * 1024);

/** The processor time of this thread. */
function cpuMsOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
