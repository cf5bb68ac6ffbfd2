import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hasLock } from "./directory-lock.ts";
import packed from "./embedded-cluster.tar.zst" with { type: "file" };

/** Whether a data directory has a database. `lost`: it has a lock file, so it had a database once, which is gone. */
export function findCluster(dataDir: string): "there" | "none" | "lost" {
  // The checks have this order because another first start, at the same time, makes the unfinished directory, then the lock, and then
  // renames the directory.
  const wasUsed = hasLock(dataDir);
  const isBegun = existsSync(unfinishedOf(clusterIn(dataDir)));
  if (existsSync(clusterIn(dataDir))) return "there";
  return wasUsed && !isBegun ? "lost" : "none";
}

/**
 * Makes the unfinished directory of the cluster before anything else in a data directory, even before the lock. So a data directory that
 * has a lock and neither of the two directories has lost its database. Returns what was there before.
 */
export async function reserveCluster(dataDir: string): Promise<ReturnType<typeof findCluster>> {
  const found = findCluster(dataDir);
  if (found !== "none") return found;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  try {
    // Not `recursive`, which looks at the existing directory again, and fails if another start has just renamed it.
    mkdirSync(unfinishedOf(clusterIn(dataDir)), { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  await flush(dataDir);
  return found;
}

/**
 * Makes a new cluster if there is none. It is written to another directory, flushed and renamed, so that after any crash the directory
 * holds a whole cluster or does not exist.
 */
export async function makeCluster(directory: string): Promise<void> {
  const unfinished = unfinishedOf(directory);
  if (existsSync(directory)) {
    // Another start has made the cluster, and this start's unfinished directory is left over.
    rmSync(unfinished, { recursive: true, force: true });
    return;
  }
  mkdirSync(unfinished, { recursive: true });
  // The directory is emptied and not removed, because without it the data directory would count as `lost`.
  for (const name of readdirSync(unfinished)) rmSync(join(unfinished, name), { recursive: true });
  await new Bun.Archive(Bun.zstdDecompressSync(await Bun.file(packed).bytes())).extract(unfinished);
  chmodSync(unfinished, 0o700);
  const entries = readdirSync(unfinished, { recursive: true, withFileTypes: true });
  await Promise.all([unfinished, ...entries.map((entry) => join(entry.parentPath, entry.name))].map(flush));
  renameSync(unfinished, directory);
  await flush(dirname(directory));
}

export function clusterIn(dataDir: string): string {
  return join(dataDir, "pg");
}

function unfinishedOf(directory: string): string {
  return `${directory}.unfinished`;
}

async function flush(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
