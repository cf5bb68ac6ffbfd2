import { existsSync } from "node:fs";
import { mkdtemp, rm, statfs, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type Finding, findingsOf } from "./finding.ts";

export interface DataDirQuestion {
  dataDir: string;
  /** The free bytes at a path. */
  freeBytes?: (path: string) => Promise<number>;
}

/** Checks that the data directory is writable and has room. */
export async function checkDataDir({ dataDir, freeBytes = freeBytesAt }: DataDirQuestion): Promise<Finding[]> {
  const { ok, warn, fail } = findingsOf("data directory");
  const path = resolve(dataDir);
  // The first start creates it, so before that its parent is tested.
  const existing = nearestExisting(path);
  try {
    const probe = await mkdtemp(join(existing, ".doctor-"));
    try {
      await writeFile(join(probe, "probe"), "written");
    } finally {
      await rm(probe, { recursive: true, force: true });
    }
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    return [
      fail(
        `${path} is not writable (${code})`,
        `Make the user that runs inboxd its owner, or set DATA_DIR to another directory`,
      ),
    ];
  }
  const free = await freeBytes(existing);
  const seen = `${path}${existing === path ? "" : ", which the first start creates"}: ${(free / gigabyte).toFixed(1)} GB free`;
  if (free < leastBytes) return [fail(seen, "Free some space: until then mail is refused")];
  return [free < fewBytes ? warn(seen, "Free some space before mail fills it") : ok(seen)];
}

const gigabyte = 1e9;
const leastBytes = 0.1 * gigabyte;
const fewBytes = gigabyte;

async function freeBytesAt(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}

function nearestExisting(path: string): string {
  const parent = dirname(path);
  return existsSync(path) || parent === path ? path : nearestExisting(parent);
}
