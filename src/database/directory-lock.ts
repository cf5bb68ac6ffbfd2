import { Database as LockFile } from "bun:sqlite";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** Another process has the data directory; the command line answers this with exit code 3. */
export class DataDirectoryInUse extends Error {
  constructor(dataDir: string) {
    super(`Cannot open ${dataDir}: another process is using it`);
    this.name = "DataDirectoryInUse";
  }
}

/** The data directory, held by this process until it is released or the process ends, however it ends. */
export interface DirectoryLock {
  /** Answers the command line's requests over the directory's control socket, which only its owner may open. */
  serve(answer: (request: Request) => Response | Promise<Response>): void;
  release(): Promise<void>;
}

/** Whether a process has ever taken the data directory: the lock's file stays. */
export function hasLock(dataDir: string): boolean {
  return existsSync(join(dataDir, lockName));
}

/**
 * Takes the data directory, or throws DataDirectoryInUse. The lock is the kernel's (a lock on a file, by way of SQLite): it
 * ends with its process, also by kill -9, so there is none that is stale and no moment in which two processes
 * could both take over what a third has left.
 */
export function lockDirectory(dataDir: string): DirectoryLock {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = new LockFile(join(dataDir, lockName));
  try {
    file.run("begin exclusive");
  } catch (error) {
    file.close();
    if (error instanceof Error && "code" in error && error.code === "SQLITE_BUSY")
      throw new DataDirectoryInUse(dataDir);
    throw error;
  }
  rmSync(join(dataDir, socketName), { force: true });
  let server: Bun.Server<undefined> | undefined;
  return {
    serve(answer) {
      const { unix, used } = socketPath(dataDir);
      try {
        server = serveOn(unix, answer);
      } finally {
        used();
      }
    },
    async release() {
      await server?.stop(true);
      rmSync(join(dataDir, socketName), { force: true });
      file.close();
    },
  };
}

/** Asks the process that holds the data directory. Rejects when there is none, or when it does not answer commands. */
export async function askHolder(dataDir: string, path: string, init: BunFetchRequestInit = {}): Promise<Response> {
  const { unix, used } = socketPath(dataDir);
  try {
    return await fetch(new URL(path, "http://inboxd"), { ...init, unix });
  } finally {
    used();
  }
}

const lockName = "lock";
const socketName = "control.sock";

/**
 * Nobody else may connect, from the first moment: the socket's mode comes from the umask. Whoever connects is the owner,
 * so no connection is closed for being quiet: an export takes long to begin, and whoever reads it may have a slow disk.
 */
function serveOn(unix: string, answer: (request: Request) => Response | Promise<Response>): Bun.Server<undefined> {
  const umask = process.umask(0o177);
  try {
    return Bun.serve({ unix, fetch: answer, ...neverIdle });
  } finally {
    process.umask(umask);
  }
}

/** Bun's types know it for a socket of the network alone; a socket of the file system obeys it too, and no `server.timeout`. */
const neverIdle: object = { idleTimeout: 0 };

/** The longest path that fits in the address of a unix socket on every system (104 on macOS, 108 on Linux, with a NUL). */
const longestPathBytes = 103;

/** The socket's path, by way of a short link while it is used when it is too long for a socket's address. */
function socketPath(dataDir: string): { unix: string; used: () => void } {
  const path = join(resolve(dataDir), socketName);
  if (Buffer.byteLength(path) <= longestPathBytes) return { unix: path, used: () => undefined };
  const shortcut = mkdtempSync(join(tmpdir(), "ibx-"));
  symlinkSync(resolve(dataDir), join(shortcut, "d"));
  return { unix: join(shortcut, "d", socketName), used: () => rmSync(shortcut, { recursive: true }) };
}
