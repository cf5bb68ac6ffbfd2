import postgres from "postgres";
import { within } from "../primitives/within.ts";
import { openPool, type Pool } from "./pool.ts";
import type { Connection } from "./runner.ts";
import { DatabaseSlow, DatabaseUnavailable, readOnly } from "./unavailable.ts";
import { readers, type WireValue } from "./wire.ts";

export interface PostgresOptions {
  url: string;
  /**
   * Whether a pooler gives the sessions of the server to other clients after each transaction. Then statements have no names, and the role
   * has the settings.
   */
  isPooled?: boolean;
  /** Whether a standby is as good as the primary. Otherwise it is refused, because it may lack mail that was acknowledged. */
  standbyToo?: boolean;
  /** The time-out for connecting. */
  connectMs: number;
  /** The longest time without an answer. After it the connection is dropped, because a frozen server reports no time-out. 0 = no limit. */
  deadlineMs: number;
  /** The server's limits, shorter than the deadline, so that usually the server reports the time-out. 0 = none. */
  statementMs: number;
  lockMs: number;
  idleInTransactionMs: number;
  /** Further settings of the session. */
  settings?: Readonly<Record<string, string>>;
}

export interface PostgresPoolOptions extends PostgresOptions {
  size: number;
  acquireMs: number;
  /** The age of a connection after which another one takes its place. Without it, half an hour. */
  lifetimeMs?: number;
}

const usualLifetimeMs = 30 * 60_000;

export function openPostgresPool(options: PostgresPoolOptions): Pool {
  const { size, acquireMs, lifetimeMs = usualLifetimeMs, isPooled = false } = options;
  // PgBouncer gives a session away at the end of a statement, even if a part of the next one is on its way there. The session then waits for
  // the rest, which another one gets. So a statement is sent once the one before is answered. In a transaction the session stays.
  const sharedBy = isPooled ? 1 : 4;
  return openPool({ size, acquireMs, lifetimeMs, sharedBy, connect: () => connectPostgres(options) });
}

/** The driver with the additions of our patch (`patches/`). */
type Driver = postgres.Sql & {
  /** Closes at once, without waiting for the answer of a frozen server. */
  sever(): void;
};

interface Hooks {
  onClose?: () => void;
  onNotify?: (payload: string) => void;
}

/** Makes a connection, which connects at its first statement. It has a driver of its own with a pool of one (pool.ts gives the reason). */
export function connectPostgres(options: PostgresOptions, { onClose, onNotify }: Hooks = {}): Connection {
  let isOpen = true;
  let hasAnswered = false;
  let isStandby = false;
  const { url, path } = addressIn(options.url);
  const how = { prepare: !options.isPooled, simple: false };
  const driver = postgres(url, {
    ...(path !== undefined && { path }),
    max: 1,
    max_lifetime: null,
    idle_timeout: 0,
    connect_timeout: options.connectMs / 1000,
    keep_alive: 30,
    fetch_types: false,
    no_subscribe: true,
    onnotice: () => undefined,
    ...(onNotify && { onnotify: (_channel: string, payload: string) => onNotify(payload) }),
    onparameter(name: string, value: string) {
      if (name !== "in_hot_standby" || value === "off" || options.standbyToo) return;
      isStandby = true;
      connection.sever();
    },
    onclose() {
      isOpen = false;
      // Without this, the driver would run waiting statements on a new connection, outside of their transaction.
      driver.sever();
      onClose?.();
    },
    connection: options.isPooled ? trackedSettings : sessionSettings(options),
  } as postgres.Options<Record<string, never>>) as unknown as Driver;
  useOurWireFormat(driver);

  /** Resolves with the answer, or severs the connection at the deadline. */
  async function beforeDeadline<T>(pending: PromiseLike<T>): Promise<T> {
    try {
      if (options.deadlineMs === 0) return await pending;
      const answer = await within(options.deadlineMs, pending, () => {
        connection.sever();
        throw new DatabaseSlow(`no answer in ${options.deadlineMs} ms`, undefined, true);
      });
      hasAnswered = true;
      return answer;
    } catch (error) {
      throw isStandby ? new DatabaseUnavailable("the server is a standby", readOnly) : error;
    }
  }

  /** Passes bytes without a type, so that the server infers it. The driver would declare them as `bytea`, but they may encode an array. */
  function untyped(value: WireValue): WireParameter {
    return value instanceof Uint8Array ? driver.typed(value as Uint8Array<ArrayBuffer>, 0) : value;
  }

  const connection: Connection = {
    get isOpen() {
      return isOpen;
    },
    get hasAnswered() {
      return hasAnswered;
    },
    async run(text, values) {
      // Prepared on a session of its own: otherwise the server parses and plans the text for each call.
      return Array.from(await beforeDeadline<object[]>(driver.unsafe(text, values.map(untyped), how)));
    },
    async script(text) {
      const results = await beforeDeadline<postgres.RowList<postgres.Row[]>>(driver.unsafe(text).simple());
      const last = Array.isArray(results[0]) ? (results.at(-1) as unknown as typeof results) : results;
      return last.command;
    },
    sever() {
      isOpen = false;
      driver.sever();
    },
    async close() {
      isOpen = false;
      await driver.end({ timeout: 1 }).finally(() => driver.sever());
    },
  };
  return connection;
}

/** The settings that a pooler such as PgBouncer sets again for each client. */
const trackedSettings = { application_name: "inboxd", TimeZone: "UTC", DateStyle: "ISO" };

/** The settings that a session begins with. */
export function sessionSettings(options: Omit<PostgresOptions, "url">) {
  return { ...trackedSettings, ...ownSettings(options) };
}

/** The settings that a session needs and a pooler does not set. Behind one, they are those of the role. */
export function ownSettings(options: Omit<PostgresOptions, "url" | "isPooled">) {
  return {
    bytea_output: "hex",
    statement_timeout: options.statementMs,
    lock_timeout: options.lockMs,
    idle_in_transaction_session_timeout: options.idleInTransactionMs,
    // Compiling a statement takes a second. Our statements take milliseconds, even if the planner expects more.
    jit: "off",
    ...options.settings,
  };
}

/**
 * Finds the unix socket of a URL in libpq's form, which the driver does not read: `postgres:///name?host=/run/postgresql`, or the
 * percent-encoded directory in place of the host.
 */
function addressIn(text: string): { url: string; path?: string } {
  if (!URL.canParse(text)) return { url: text };
  const url = new URL(text);
  const directory = url.searchParams.get("host") ?? decodeURIComponent(url.hostname);
  if (!directory.startsWith("/")) return { url: text };
  const port = url.port || url.searchParams.get("port") || "5432";
  url.searchParams.delete("host");
  url.searchParams.delete("port");
  const account = url.username && `${url.username}${url.password && `:${url.password}`}@`;
  return { url: `postgres://${account}localhost${url.pathname}${url.search}`, path: `${directory}/.s.PGSQL.${port}` };
}

type WireParameter = string | null | postgres.Parameter;

/** Makes the driver read and write values by `wire.ts`, as the embedded engine does. */
function useOurWireFormat({ options }: Driver): void {
  const { parsers, serializers } = options as unknown as Record<"parsers" | "serializers", Record<string, unknown>>;
  for (const type of Object.keys(parsers)) delete parsers[type];
  for (const type of Object.keys(serializers)) delete serializers[type];
  Object.assign(parsers, readers);
  // Options of our patch (`patches/`): the values of a row are decoded with one call, instead of one for each value, and an unnamed statement
  // takes one round trip, since no serializer needs the types of its parameters.
  Object.assign(options, { rows_at_once: true, unnamed_at_once: true });
}
