import { join } from "node:path";
import type { Ledger } from "./ledger.ts";

/** Processes of the service on one database; each slot starts another when its process has died. */
export interface Fleet {
  places: readonly Place[];
  /** A listening process; undefined while there is none. */
  any(): Running | undefined;
  stop(): Promise<void>;
}

export interface Place {
  name: string;
  /** Undefined while no process runs in this slot. */
  running: Running | undefined;
  start(): Promise<void>;
  /** Ends the process of this slot and returns how it ended; nothing restarts by itself. */
  end(signal: "SIGKILL" | "SIGTERM"): Promise<number | null>;
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
  /** Like a balancer, skips a process that has not answered for a while. */
  isShunned(): boolean;
}

export interface Running {
  apiUrl: string;
  /** The address for mail by HTTP, if a service that is broken on purpose has another. */
  inboundUrl: string | undefined;
  smtpPort: number;
  pid: number;
}

export interface FleetOptions {
  entry: string;
  directory: string;
  processes: number;
  environment: Record<string, string>;
}

/** The program of the commands. */
export const serviceEntry = join(import.meta.dir, "../../src/main.ts");
export const hurriedEntry = join(import.meta.dir, "hurried.ts");

const startMs = 60_000;

export function newFleet(ledger: Ledger, options: FleetOptions): Fleet {
  const places = Array.from({ length: options.processes }, (_, index) => newPlace(ledger, options, index));
  let turn = 0;
  return {
    places,
    any() {
      turn += 1;
      const running = places.flatMap((place) => (place.isShunned() ? [] : (place.running ?? [])));
      return running[turn % Math.max(1, running.length)];
    },
    async stop() {
      await Promise.all(
        places.map(async (place) => {
          place.signal("SIGCONT");
          await place.end("SIGKILL");
        }),
      );
    },
  };
}

function newPlace(ledger: Ledger, options: FleetOptions, index: number): Place {
  let child: Bun.Subprocess<"ignore", "pipe", "pipe"> | undefined;
  /** Set when the run ends the process on purpose; any other end is a fault of the service. */
  let isExpected = false;
  let stoppedMs: number | undefined;

  const place: Place = {
    name: `process ${index + 1}`,
    running: undefined,
    async start() {
      const started = Bun.spawn([process.execPath, options.entry, "serve"], {
        env: { ...process.env, ...options.environment, DATA_DIR: join(options.directory, `data-${index}`) },
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      });
      child = started;
      isExpected = false;
      void started.exited.then((code) => {
        if (child !== started) return;
        place.running = undefined;
        if (!isExpected) ledger.violation("alive", `${place.name} ended by itself with code ${code}`);
      });
      void eachLine(started.stderr, (line) => noteLine(ledger, line));
      place.running = await listening(started, (line) => noteLine(ledger, line));
    },
    async end(signal) {
      const ending = child;
      if (ending === undefined) return null;
      isExpected = true;
      place.running = undefined;
      ending.kill(signal);
      const code = await ending.exited;
      child = undefined;
      return code;
    },
    isShunned: () => stoppedMs !== undefined && Date.now() - stoppedMs > 3000,
    signal(signal) {
      stoppedMs = signal === "SIGSTOP" ? Date.now() : undefined;
      if (child?.exitCode === null && child.signalCode === null) child.kill(signal);
    },
  };
  return place;
}

/** Resolves when the banner has shown the addresses. */
async function listening(
  child: Bun.Subprocess<"ignore", "pipe", "pipe">,
  onLine: (line: string) => void,
): Promise<Running | undefined> {
  const { promise, resolve } = Promise.withResolvers<Running | undefined>();
  const timer = setTimeout(resolve, startMs, undefined);
  let apiUrl: string | undefined;
  let inboundUrl: string | undefined;
  void eachLine(child.stdout, (line) => {
    apiUrl ??= /^ +API +(\S+)\/v1$/.exec(line)?.[1];
    inboundUrl ??= /^ +inbound +(\S+)$/.exec(line)?.[1];
    const port = /^ +SMTP +\S+:(\d+),/.exec(line)?.[1];
    if (apiUrl !== undefined && port !== undefined)
      resolve({ apiUrl, inboundUrl, smtpPort: Number(port), pid: child.pid });
    onLine(line);
  }).then(() => resolve(undefined));
  const running = await promise;
  clearTimeout(timer);
  return running;
}

/** An error in the log is a caught bug, which is reported even if it breaks no promise. */
function noteLine(ledger: Ledger, line: string): void {
  if (!line.startsWith("{")) {
    if (/error|panic|Cannot/i.test(line)) ledger.violation("log", line.slice(0, 300));
    return;
  }
  const entry = JSON.parse(line) as {
    level: string;
    msg?: string;
    err?: { message?: string; stack?: string };
  };
  const isError = entry.level === "error" || entry.level === "fatal";
  const why = entry.err?.stack ?? JSON.stringify({ ...entry, level: undefined, msg: undefined });
  if (isError) ledger.violation("log", `${entry.msg}: ${why.slice(0, 1000)}`);
  else ledger.count(`log: ${entry.msg}`);
}

async function eachLine(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  }
}
