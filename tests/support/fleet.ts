import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectPostgres } from "../../src/database/postgres.ts";
import type { Connection } from "../../src/database/runner.ts";
import { type Balancer, startBalancer } from "./balancer.ts";
import { emptyDatabase } from "./database.ts";
import { type RunningInboxd, runInboxd, startInboxd } from "./inboxd.ts";
import { type Answer, deliver } from "./world.ts";

/** Several processes on one Postgres behind a balancer. */
export interface Fleet extends AsyncDisposable {
  readonly processes: readonly RunningInboxd[];
  readonly http: Balancer;
  readonly smtp: Balancer;
  /** The first account's key. */
  readonly apiKey: string;
  /** The environment of another process on the same database. */
  readonly env: Record<string, string>;
  /** A connection to the database. */
  readonly database: Connection;
  /** Starts another process on the same database. It is behind no balancer. */
  another(): Promise<RunningInboxd>;
  /** Sends a request to the next process in turn, or to the given one. */
  api(path: string, init?: FleetRequest): Promise<Answer>;
  /** Hands in one mail; returns the reply to its final dot, or the first refusal before it. */
  deliver(raw: string, to: string | readonly string[]): Promise<string>;
  inbox(): Promise<{ id: string; address: string }>;
  /** All mail in the sandboxes of the processes. */
  sent(): string[];
}

export interface FleetRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  apiKey?: string;
  process?: RunningInboxd;
}

const apiKey = "key-of-the-first-account-in-tests";

/** A connection of a test waits as long as its statement takes. */
const patient = { connectMs: 5_000, deadlineMs: 0, statementMs: 0, lockMs: 0, idleInTransactionMs: 0 };

/** Starts all of them at once, on an empty database. */
export async function startFleet(count: number, settings: Record<string, string> = {}): Promise<Fleet> {
  const database = await emptyDatabase();
  const directory = mkdtempSync(join(tmpdir(), "ibx-fleet-"));
  const env = { DATABASE_URL: database.url, API_KEY: apiKey, ...settings };
  const all: RunningInboxd[] = [];
  let directories = 0;
  async function start(): Promise<RunningInboxd> {
    directories += 1;
    const process = await startInboxd({ env: { ...env, DATA_DIR: join(directory, String(directories)) } });
    all.push(process);
    return process;
  }
  const started = await Promise.allSettled(Array.from({ length: count }, start));
  const processes = [...all];
  const connection = connectPostgres({ url: database.url, ...patient });

  async function end(): Promise<void> {
    await connection.close();
    await Promise.all(
      all.map((process) => {
        process.signal("SIGKILL");
        return process.exited;
      }),
    );
    await database.drop();
    rmSync(directory, { recursive: true, force: true });
  }
  const failed = started.find((each) => each.status === "rejected");
  if (failed !== undefined) {
    await end();
    throw failed.reason;
  }

  const http = await startBalancer(processes.map(({ api }) => Number(new URL(api).port)));
  const smtp = await startBalancer(processes.map(({ smtpPort }) => smtpPort));
  const fleet: Fleet = {
    processes,
    http,
    smtp,
    apiKey,
    env,
    database: connection,
    another: start,
    async api(path, { method = "GET", headers = {}, body, apiKey: key = apiKey, process } = {}) {
      const response = await fetch(new URL(path, process?.api ?? `http://127.0.0.1:${http.port}`), {
        method,
        // A new connection, since a kept one would stay with its first process.
        keepalive: false,
        headers: {
          authorization: `Bearer ${key}`,
          connection: "close",
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = /\bjson\b/.test(response.headers.get("content-type") ?? "");
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
    },
    deliver: (raw, to) => deliver(smtp.port, raw, to),
    async inbox() {
      const { status, body } = await fleet.api("/v1/inboxes", { method: "POST", body: {} });
      if (status !== 201) throw new Error(`Cannot make an inbox: ${JSON.stringify(body)}`);
      return body;
    },
    sent() {
      const paths = readdirSync(directory, { recursive: true, encoding: "utf8" });
      return paths.filter((path) => path.endsWith(".eml")).map((path) => readFileSync(join(directory, path), "latin1"));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([http.close(), smtp.close()]);
      await end();
    },
  };
  return fleet;
}

/** Settings without limits on sends, for processes that trust the balancer. */
export const withoutLimits = {
  SENDS_PER_MINUTE: "0",
  SENDS_PER_DAY: "0",
  COLD_RECIPIENT_DAILY: "0",
  TRUSTED_PROXIES: "127.0.0.1",
};

/** Makes an operator and returns its key. */
export async function operatorOf({ env }: Fleet): Promise<string> {
  const made = await runInboxd(["operator", "create", "ops"], { env });
  return /ibo_[0-9A-Za-z]+/.exec(made.stdout)?.[0] ?? "";
}
