import { Database as LockFile } from "bun:sqlite";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";

/** Thrown if another process uses the data directory. The command line then exits with code 3. */
export class DataDirectoryInUse extends Error {
  constructor(dataDir: string) {
    super(`Cannot open ${dataDir}: another process is using it`);
    this.name = "DataDirectoryInUse";
  }
}

/** A lock on the data directory, until it is released or the process ends in any way. */
export interface DirectoryLock {
  release(): void;
}

/** Whether any process has ever locked the data directory, which the lock file shows, because it is never removed. */
export function hasLock(dataDir: string): boolean {
  return existsSync(join(dataDir, lockName));
}

/** Whether a process has locked the data directory now. Changes nothing. */
export function isHeld(dataDir: string): boolean {
  if (!hasLock(dataDir)) return false;
  try {
    using file = new LockFile(join(dataDir, lockName), { readwrite: true });
    file.run("begin exclusive");
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "SQLITE_BUSY";
  }
}

/**
 * Locks the data directory, or throws DataDirectoryInUse. The kernel holds the lock (a file lock, made by SQLite). It ends with its
 * process, also after kill -9, so there are no stale locks that two processes could take over at once.
 */
export function lockDirectory(dataDir: string): DirectoryLock {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = new LockFile(join(dataDir, lockName));
  try {
    file.run("begin exclusive");
  } catch (error) {
    file.close();
    if (!(error instanceof Error && "code" in error)) throw error;
    if (error.code === "SQLITE_BUSY") throw new DataDirectoryInUse(dataDir);
    if (error.code !== "SQLITE_NOTADB") throw error;
    throw new Error(
      `Cannot use DATA_DIR ${dataDir}: its file "${lockName}" is not a lock file; delete that file while no inboxd uses the directory`,
    );
  }
  return { release: () => file.close() };
}

const lockName = "lock";
