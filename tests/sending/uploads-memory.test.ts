import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { breaksPostgres } from "../support/engines.ts";
import { randomFile } from "../support/files.ts";
import { startFleet } from "../support/fleet.ts";

const mebibyte = 1 << 20;

/* On Postgres alone: the embedded database has its memory in the same process. */
describe.skipIf(!breaksPostgres)("Eight uploads of 10 MB at once", () => {
  test("are accepted in less memory than their size, which does not grow with more of them", async () => {
    await using fleet = await startFleet(1, {});
    const [process] = fleet.processes;
    if (process === undefined) throw new Error("No process runs");
    const files = Array.from({ length: 8 }, (_, place) => randomFile(10_000_000, place + 1));
    const upload = async (file: Uint8Array<ArrayBuffer>) => {
      const answer = await fetch(new URL("/v1/uploads?filename=a.bin", process.api), {
        method: "POST",
        headers: { authorization: "Bearer key-of-the-first-account-in-tests" },
        body: file,
      });
      return answer.status;
    };
    // The memory of the process after a first run: code, pools and memory kept by the allocator.
    for (const file of files.slice(0, 1)) await upload(file);
    const before = residentBytes(process.pid, "VmRSS");
    for (let round = 0; round < 3; round += 1) {
      writeFileSync(`/proc/${process.pid}/clear_refs`, "5");
      expect(new Set(await Promise.all(files.map(upload)))).toEqual(new Set([201]));
      const grown = residentBytes(process.pid, "VmHWM") - before;
      console.log(`Eight uploads of 10 MB: + ${(grown / mebibyte).toFixed(0)} MiB`);
      // Some 60 MiB on an idle machine. Without collections 118, and 165 from the second round on.
      expect(grown).toBeLessThan(90 * mebibyte);
    }
  }, 120_000);
});

/** The resident memory of the process now and at its peak (proc(5)). */
function residentBytes(pid: number, name: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1024;
}
