import { existsSync } from "node:fs";
import { mkdtemp, rm, statfs, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type Finding, findingsOf } from "./finding.ts";

export interface DataDirQuestion {
  dataDir: string;
  /** Free bytes at a path. */
  freeBytes?: (path: string) => Promise<number>;
}

/** Whether the data directory can be written to, and has room. */
export async function checkDataDir({ dataDir, freeBytes = freeBytesAt }: DataDirQuestion): Promise<Finding[]> {
  const { ok, warn, fail } = findingsOf("data directory");
  const path = resolve(dataDir);
  // Before the first start it is not there; the start makes it in what is.
  const there = nearestThere(path);
  try {
    const probe = await mkdtemp(join(there, ".doctor-"));
    try {
      await writeFile(join(probe, "probe"), "written");
    } finally {
      await rm(probe, { recursive: true, force: true });
    }
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown trouble";
    return [
      fail(`${path} can't be written to (${code})`, `Let the user that runs inboxd own it, or set DATA_DIR elsewhere`),
    ];
  }
  const free = await freeBytes(there);
  const seen = `${path}${there === path ? "" : ", which the first start makes"}: ${(free / gigabyte).toFixed(1)} GB free`;
  if (free < leastBytes) return [fail(seen, "Make room: without it mail is refused until there is some")];
  return [free < fewBytes ? warn(seen, "Make room before mail fills it") : ok(seen)];
}

const gigabyte = 1e9;
const leastBytes = 0.1 * gigabyte;
const fewBytes = gigabyte;

async function freeBytesAt(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}

function nearestThere(path: string): string {
  const parent = dirname(path);
  return existsSync(path) || parent === path ? path : nearestThere(parent);
}
