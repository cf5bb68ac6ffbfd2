import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** What the two ends of the operator's socket ask each other by. */
export const controlPaths = { administer: "/admin", export: "/export", alive: "/alive" } as const;

export interface ControlListener {
  /** Cuts off who is still reading, and takes the socket away. */
  close(): Promise<void>;
}

/**
 * Listens at the socket of a data directory. The caller holds the directory, so a socket that is there already was left
 * by a process that was killed.
 */
export function listenAt(dataDir: string, answer: (request: Request) => Response | Promise<Response>): ControlListener {
  removeSocket(dataDir);
  const { unix, used } = socketPath(dataDir);
  try {
    const server = serveOn(unix, answer);
    return {
      async close() {
        await server.stop(true);
        removeSocket(dataDir);
      },
    };
  } finally {
    used();
  }
}

/** Nobody listens at the socket: it is another command that has the directory, or nobody has it. */
export class NobodyListens extends Error {
  constructor(dataDir: string, cause: unknown) {
    super(`Cannot ask a service in ${dataDir}: none listens there`, { cause });
    this.name = "NobodyListens";
  }
}

/** Asks who listens at the socket of a data directory. */
export async function fetchFrom(dataDir: string, path: string, init: BunFetchRequestInit = {}): Promise<Response> {
  const { unix, used } = socketPath(dataDir);
  try {
    return await fetch(new URL(path, "http://inboxd"), { ...init, unix });
  } catch (error) {
    // Refused where a killed process has left its socket.
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    throw code === "ENOENT" || code === "ECONNREFUSED" ? new NobodyListens(dataDir, error) : error;
  } finally {
    used();
  }
}

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

const socketName = "control.sock";

function removeSocket(dataDir: string): void {
  rmSync(join(dataDir, socketName), { force: true });
}

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
