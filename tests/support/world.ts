import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { type Environment, readConfig } from "../../src/config.ts";
import { type Service, startService } from "../../src/service/start.ts";
import { type Clock, machineClock, settable } from "./clock.ts";
import { makeServiceDatabase, settingsFor } from "./database.ts";
import { readsLog, untilLogShowsAll } from "./log-horizon.ts";
import { rawSmtp } from "./raw-smtp.ts";

/** The whole service on its own database and free ports, with a clock that the test moves. */
export interface World extends AsyncDisposable {
  readonly service: Service;
  readonly clock: Clock;
  readonly apiKey: string;
  readonly smtpPort: number;
  /** The service's log lines. */
  readonly log: Record<string, unknown>[];
  /** A request to the API, by default with the first account's key; a body that is no string is sent as JSON. */
  api(path: string, init?: ApiInit): Promise<Answer>;
  /** The same, for answers that are not JSON. */
  fetch(path: string, init?: ApiInit): Promise<Response>;
  /** A new inbox of the first account. */
  inbox(username?: string): Promise<WorldInbox>;
  /** Hands in one mail by SMTP; returns the reply to its final dot, or the first refusal before it. */
  deliver(raw: string | Uint8Array, to: string | readonly string[], from?: string): Promise<string>;
  /** Starts another process on the same database, which must be a Postgres. */
  another(options?: WorldOptions): Promise<World>;
  /** Restarts the service on the same database and directory. */
  restart(): Promise<void>;
}

export interface WorldInbox {
  id: string;
  address: string;
}

export interface WorldDatabase {
  url: string;
  drop(): Promise<void>;
}

export interface WorldOptions {
  /** The service's environment variables. */
  env?: Environment;
  clock?: Clock;
  /** Uses the database's clock, as in production, on a machine whose own clock is this far ahead. */
  machineAheadMs?: number;
  /** An existing, empty Postgres database. Default: a new one on the server of TEST_DATABASE_URL, else embedded. */
  database?: WorldDatabase | "embedded";
}

export interface ApiInit {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  /** `null` sends no key. */
  apiKey?: string | null;
}

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads it compares at once
  body: any;
}

const apiKey = "key-of-the-first-account-in-tests";
/** Time limits that work keeps on a busy machine too. A test of a time limit sets its own. */
const patience = { SEND_WAIT_MS: "30000", AUTH_TIMEOUT_MS: "60000" };

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const made = await databaseOf(options);
  const world = await worldOn(made?.url, options).catch(async (error) => {
    await made?.drop();
    throw error;
  });
  return {
    ...world,
    get service() {
      return world.service;
    },
    get smtpPort() {
      return world.smtpPort;
    },
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await made?.drop();
    },
  };
}

function databaseOf({ database }: WorldOptions): Promise<WorldDatabase> | WorldDatabase | undefined {
  if (database !== undefined) return database === "embedded" ? undefined : database;
  const server = process.env.TEST_DATABASE_URL;
  return server ? makeServiceDatabase(server) : undefined;
}

async function worldOn(databaseUrl: string | undefined, options: WorldOptions): Promise<World> {
  const clock = options.clock ?? settable();
  const dataDir = mkdtempSync(join(tmpdir(), "ibx-world-"));
  const log: Record<string, unknown>[] = [];
  const logger = pino({ level: "info" }, { write: (line: string) => void log.push(JSON.parse(line)) });
  const config = readConfig({
    DATA_DIR: dataDir,
    PORT: "0",
    SMTP_PORT: "0",
    API_KEY: apiKey,
    ...(databaseUrl !== undefined && settingsFor(databaseUrl)),
    ...patience,
    ...options.env,
  });
  const start = () =>
    startService(config, logger, {
      ...(options.machineAheadMs === undefined ? { now: clock.now } : machineClock(options.machineAheadMs)),
      random: Math.random,
      randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    });
  let service = await start().catch((error) => {
    rmSync(dataDir, { recursive: true, force: true });
    throw error;
  });

  const world: World = {
    get service() {
      return service;
    },
    get smtpPort() {
      return service.smtp.port;
    },
    clock,
    apiKey,
    log,
    async fetch(path, { method = "GET", headers = {}, body, apiKey: key = apiKey } = {}) {
      if (readsLog(method, path)) await untilLogShowsAll(service.deps.db.api);
      return fetch(new URL(path, service.apiUrl), {
        method,
        headers: {
          ...(key !== null && { authorization: `Bearer ${key}` }),
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
    },
    async api(path, init) {
      const response = await world.fetch(path, init);
      const text = await response.text();
      const isJson = /\bjson\b/.test(response.headers.get("content-type") ?? "");
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
    },
    async inbox(username) {
      const { status, body } = await world.api("/v1/inboxes", { method: "POST", body: { username } });
      if (status !== 201) throw new Error(`Cannot make an inbox: ${JSON.stringify(body)}`);
      return body;
    },
    deliver: (raw, to, from) => deliver(service.smtp.port, raw, to, from),
    another(more = {}) {
      if (databaseUrl === undefined) throw new Error("Cannot start another process: the database is embedded");
      return worldOn(databaseUrl, { clock, ...options, ...more });
    },
    async restart() {
      await service.stop();
      service = await start();
    },
    async [Symbol.asyncDispose]() {
      await service.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
  return world;
}

/** Hands in one mail by SMTP; returns the reply to its final dot, or the first refusal before it. */
export async function deliver(
  port: number,
  raw: string | Uint8Array,
  to: string | readonly string[],
  from = "jane@example.com",
  localAddress?: string,
): Promise<string> {
  const client = await rawSmtp(port, "127.0.0.1", localAddress);
  try {
    await client.reply();
    const recipients = typeof to === "string" ? [to] : to;
    const commands = [
      "EHLO client.example",
      `MAIL FROM:<${from}>`,
      ...recipients.map((address) => `RCPT TO:<${address}>`),
      "DATA",
    ];
    for (const command of commands) {
      const reply = await client.ask(command);
      if (!/^[23]/.test(reply)) return reply;
    }
    client.send(onTheWire(raw));
    return await client.reply();
  } finally {
    client.destroy();
  }
}

/** The mail as DATA transmits it: dots stuffed (RFC 5321 §4.5.2), with the final dot. */
function onTheWire(raw: string | Uint8Array): Uint8Array {
  const text = Buffer.from(raw).toString("latin1");
  const stuffed = text.replace(/^\./, "..").replaceAll("\r\n.", "\r\n..");
  return Buffer.from(`${stuffed}${stuffed.endsWith("\r\n") ? "" : "\r\n"}.\r\n`, "latin1");
}
