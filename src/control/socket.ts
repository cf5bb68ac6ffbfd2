import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** The paths of requests at the operator's socket. */
export const controlPaths = { administer: "/admin", export: "/export", alive: "/alive" } as const;

export interface ControlListener {
  /** Closes all connections, and removes the socket. */
  close(): Promise<void>;
}

/**
 * Listens at the socket of a data directory. The caller holds the lock on the directory, so a socket that exists was left by a killed
 * process.
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

/** Thrown if no process listens at the socket: no process uses the directory, or only a command, which opens no socket. */
export class NobodyListens extends Error {
  constructor(dataDir: string, cause: unknown) {
    super(`Cannot ask a service in ${dataDir}: none listens there`, { cause });
    this.name = "NobodyListens";
  }
}

/** Sends a request to the socket of a data directory. */
export async function fetchFrom(dataDir: string, path: string, init: BunFetchRequestInit = {}): Promise<Response> {
  const { unix, used } = socketPath(dataDir);
  try {
    return await fetch(new URL(path, "http://inboxd"), { ...init, unix });
  } catch (error) {
    // ENOENT: there is no socket. ECONNREFUSED: a killed process has left its socket.
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    throw code === "ENOENT" || code === "ECONNREFUSED" ? new NobodyListens(dataDir, error) : error;
  } finally {
    used();
  }
}

/**
 * Serves at a socket to which only its owner may connect. The umask gives the socket its mode already when it is created: a later chmod
 * would leave it open for a moment. Idle connections stay open, because an export takes long to begin, and its reader may have a slow disk.
 */
function serveOn(unix: string, answer: (request: Request) => Response | Promise<Response>): Bun.Server<undefined> {
  const umask = process.umask(0o177);
  try {
    return Bun.serve({ unix, fetch: answer, ...neverIdle });
  } finally {
    process.umask(umask);
  }
}

/** Bun's types have `idleTimeout` only for network sockets. It also works for unix sockets; `server.timeout` does not. */
const neverIdle: object = { idleTimeout: 0 };

const socketName = "control.sock";

function removeSocket(dataDir: string): void {
  rmSync(join(dataDir, socketName), { force: true });
}

/** The longest path that fits in the address of a unix socket on every system (104 on macOS, 108 on Linux, with a NUL). */
const longestPathBytes = 103;

/** The path of the socket. If it is too long for a socket's address, it leads through a short temporary link, which `used` removes. */
function socketPath(dataDir: string): { unix: string; used: () => void } {
  const path = join(resolve(dataDir), socketName);
  if (Buffer.byteLength(path) <= longestPathBytes) return { unix: path, used: () => undefined };
  const shortcut = mkdtempSync(join(tmpdir(), "ibx-"));
  symlinkSync(resolve(dataDir), join(shortcut, "d"));
  return { unix: join(shortcut, "d", socketName), used: () => rmSync(shortcut, { recursive: true }) };
}
