import { readFileSync } from "node:fs";
import { join } from "node:path";
import { untilAnswered } from "./until.ts";

/** The command to run, by default that of this test run. */
export interface RunOptions {
  command?: readonly string[];
  cwd?: string;
  /** The environment of the process, besides PATH and HOME. */
  env?: Record<string, string | undefined>;
}

export interface Finished {
  code: number;
  stdout: string;
  stderr: string;
}

/** `inboxd serve` as a process. */
export interface RunningInboxd {
  api: string;
  smtpPort: number;
  /** The output of a first start. */
  apiKey: string | undefined;
  webhookSecret: string | undefined;
  /** From the start of the process to its first answer. */
  coldStartMs: number;
  /** The processor time until then, which depends little on other work; undefined on systems without `/proc`. */
  coldStartCpuMs: number | undefined;
  pid: number;
  /** Everything that it has printed. */
  printed(): string;
  /** Resolves when the log has such a line. */
  logged(message: string): Promise<void>;
  request(method: string, path: string, body?: unknown, key?: string): Promise<Response>;
  signal(signal: NodeJS.Signals): void;
  exited: Promise<number>;
  /** Ends it as an init system does; returns its exit code. */
  stop(): Promise<number>;
}

/** The binary that `bun run test` has compiled, or the sources under `bun test`. */
export const inboxdHere: readonly string[] = process.env.TEST_INBOXD
  ? [process.env.TEST_INBOXD]
  : [process.execPath, join(import.meta.dir, "../../src/main.ts")];

/** Runs one command to its end. */
export async function runInboxd(words: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const child = spawn(words, options);
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

/** Starts the service on free ports and waits for its first answer; throws its output if it ends instead. */
export async function startInboxd(options: RunOptions = {}): Promise<RunningInboxd> {
  const startedAt = performance.now();
  const child = spawn(["serve"], {
    ...options,
    env: { PORT: "0", SMTP_PORT: "0", LOG_FORMAT: "json", ...options.env },
  });
  const output = follow(child.stdout);
  const faults = new Response(child.stderr).text();
  const started = await output.line('"msg":"started"');
  if (started === undefined) throw new Error(`inboxd ended with ${await child.exited}: ${await faults}`);
  const { api, smtp_port: smtpPort } = JSON.parse(started) as { api: string; smtp_port: number };
  // On a busy machine the database may answer the first time later than a probe waits.
  await untilAnswered(async () => ((await fetch(new URL("/readyz", api))).ok ? true : undefined));
  const coldStartMs = performance.now() - startedAt;
  const coldStartCpuMs = cpuMsOf(child.pid);

  const running: RunningInboxd = {
    api,
    smtpPort,
    apiKey: shown(output.printed(), "API key") ?? options.env?.API_KEY,
    webhookSecret: shown(output.printed(), "Webhook secret"),
    coldStartMs,
    coldStartCpuMs,
    pid: child.pid,
    printed: output.printed,
    async logged(message) {
      if ((await output.line(`"msg":${JSON.stringify(message)}`)) === undefined)
        throw new Error(`inboxd ended without saying "${message}": ${output.printed()}`);
    },
    request(method, path, body, key = running.apiKey) {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      return fetch(new URL(path, api), {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    },
    signal: (signal) => child.kill(signal),
    exited: child.exited,
    async stop() {
      child.kill("SIGTERM");
      return child.exited;
    },
  };
  return running;
}

function spawn(words: readonly string[], { command = inboxdHere, cwd, env }: RunOptions) {
  const { PATH, HOME } = process.env;
  return Bun.spawn([...command, ...words], {
    ...(cwd === undefined ? {} : { cwd }),
    env: { PATH, HOME, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
}

/** User and system time from proc(5), in ticks of a hundredth of a second. */
function cpuMsOf(pid: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Reads without end, so that the process never waits for its reader. */
function follow(stream: ReadableStream<Uint8Array>) {
  let text = "";
  let over = false;
  const watchers = new Set<() => void>();
  const changed = () => {
    for (const watcher of watchers) watcher();
  };
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      text += decoder.decode(chunk, { stream: true });
      changed();
    }
    over = true;
    changed();
  })();

  /** The first whole line with `part`; undefined if the stream ends without one. */
  function line(part: string): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const watcher = () => {
      const whole = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
      const found = whole.find((each) => each.includes(part));
      if (found === undefined && !over) return;
      watchers.delete(watcher);
      resolve(found);
    };
    watchers.add(watcher);
    watcher();
    return promise;
  }

  return { line, printed: () => text };
}

function shown(text: string, name: string): string | undefined {
  return new RegExp(`^ +${name} +(\\S+)$`, "m").exec(text)?.[1];
}
