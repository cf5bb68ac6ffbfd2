import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import packed from "./embedded-cluster.tar.zst" with { type: "file" };

/**
 * Puts a fresh cluster where there is none. It is written beside its place, flushed, and renamed into it:
 * whatever dies when, the place holds a whole cluster or nothing.
 */
export async function placeCluster(directory: string): Promise<void> {
  if (existsSync(directory)) return;
  const unfinished = `${directory}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  await new Bun.Archive(Bun.zstdDecompressSync(await Bun.file(packed).bytes())).extract(unfinished);
  chmodSync(unfinished, 0o700);
  const entries = readdirSync(unfinished, { recursive: true, withFileTypes: true });
  await Promise.all([unfinished, ...entries.map((entry) => join(entry.parentPath, entry.name))].map(flush));
  renameSync(unfinished, directory);
  await flush(dirname(directory));
}

async function flush(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
