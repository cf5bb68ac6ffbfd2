import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hasLock } from "./directory-lock.ts";
import packed from "./embedded-cluster.tar.zst" with { type: "file" };

/** What a data directory has of the embedded database: a lock alone is left of one that was lost. */
export function findCluster(dataDir: string): "there" | "none" | "lost" {
  // In this order: a first start at this moment makes the place, then the lock, and gives the place its name.
  const wasUsed = hasLock(dataDir);
  const isBegun = existsSync(unfinishedOf(placeIn(dataDir)));
  if (existsSync(placeIn(dataDir))) return "there";
  return wasUsed && !isBegun ? "lost" : "none";
}

/**
 * Makes the place of the cluster before anything else in a data directory, its lock included: so a directory with a lock and without
 * the place has lost its database. Gives what was found.
 */
export async function reservePlace(dataDir: string): Promise<ReturnType<typeof findCluster>> {
  const found = findCluster(dataDir);
  if (found !== "none") return found;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  try {
    // Not `recursive`: that looks what is there when something is, and fails if a start beside this one has just given it its name.
    mkdirSync(unfinishedOf(placeIn(dataDir)), { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  await flush(dataDir);
  return found;
}

/**
 * Puts a fresh cluster where there is none. It is written beside its place, flushed, and renamed into it:
 * whatever dies when, the place holds a whole cluster or nothing.
 */
export async function placeCluster(directory: string): Promise<void> {
  const unfinished = unfinishedOf(directory);
  if (existsSync(directory)) {
    // Left by a start that came too late to be the first.
    rmSync(unfinished, { recursive: true, force: true });
    return;
  }
  mkdirSync(unfinished, { recursive: true });
  // Emptied, not made anew: it says that this directory has lost nothing.
  for (const name of readdirSync(unfinished)) rmSync(join(unfinished, name), { recursive: true });
  await new Bun.Archive(Bun.zstdDecompressSync(await Bun.file(packed).bytes())).extract(unfinished);
  chmodSync(unfinished, 0o700);
  const entries = readdirSync(unfinished, { recursive: true, withFileTypes: true });
  await Promise.all([unfinished, ...entries.map((entry) => join(entry.parentPath, entry.name))].map(flush));
  renameSync(unfinished, directory);
  await flush(dirname(directory));
}

export function placeIn(dataDir: string): string {
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
