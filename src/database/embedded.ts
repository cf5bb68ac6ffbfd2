import { existsSync } from "node:fs";
import { join } from "node:path";
import { compiled, type Engine, startEngine } from "./embedded-client.ts";
import { clusterIn, makeCluster } from "./embedded-cluster.ts";
import { cureOf, EngineNotStarted } from "./embedded-failure.ts";
import { EngineError, readAnswer, scriptMessage } from "./embedded-protocol.ts";
import { restartingEngine } from "./embedded-restart.ts";
import { type PreparedStatements, preparedStatements } from "./embedded-statements.ts";
import type { Connection } from "./runner.ts";
import { diskFull } from "./unavailable.ts";

/** The embedded database: a Postgres in a thread of this process, on one directory. */
export interface Embedded {
  /** Returns a session. It ends if the engine fails. The next session then uses a new engine, which first recovers from the disk. */
  connect(): Connection;
  listen(channel: string, onNotify: (payload: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Called when a file has reached the disk: at least once for each commit that wrote something. */
  onFlush?: () => void;
  /** The pause after a failure of the engine. */
  pauseMs?: number;
}

/** Opens the database in `dataDir/pg`, and makes it if there is none. The caller holds the lock on `dataDir`. */
export async function openEmbedded(
  dataDir: string,
  { onFlush = () => undefined, pauseMs = 1_000 }: EmbeddedOptions = {},
): Promise<Embedded> {
  const directory = clusterIn(dataDir);
  const listeners = new Set<Listener>();
  function notify(channel: string, payload: string): void {
    for (const listener of listeners) if (listener.channel === channel) listener.onNotify(payload);
  }

  async function script(started: Engine, text: string): Promise<string> {
    return readAnswer(await started.send(scriptMessage(text)), notify).tag;
  }

  await Promise.all([makeCluster(directory), compiled()]);
  const statements = new WeakMap<Engine, PreparedStatements>();
  const engine = restartingEngine(start, pauseMs);
  await engine.forNext().catch((error: unknown) => {
    throw error instanceof EngineNotStarted
      ? new Error(`Cannot open ${directory}: ${cureOf(error.words, directory)}`)
      : error;
  });

  async function start(): Promise<Engine> {
    // Without a cluster the engine would try to make one by itself, which fails.
    if (!existsSync(join(directory, "PG_VERSION"))) throw new EngineNotStarted("there is no PG_VERSION in it");
    const started = await startEngine(directory, onFlush);
    for (const { channel } of listeners) await script(started, `listen ${quoted(channel)}`);
    return started;
  }

  function connect(): Connection {
    const mine = engine.forNext();
    let isOpen = true;
    let isDiskFull = false;

    async function run<T>(work: (started: Engine) => Promise<T>): Promise<T> {
      try {
        return await work(await mine);
      } catch (error) {
        isDiskFull = error instanceof EngineError && error.code === diskFull;
        throw error;
      }
    }

    return {
      get isOpen() {
        return isOpen;
      },
      hasAnswered: true,
      run: (text, values) =>
        run((started) => {
          const prepared = statements.get(started) ?? preparedStatements(started.send, notify);
          statements.set(started, prepared);
          return prepared.run(text, values);
        }),
      script: (text) => run((started) => script(started, text)),
      sever() {
        if (!isOpen) return;
        isOpen = false;
        engine.giveUp(mine, isDiskFull ? diskFull : undefined);
      },
      async close() {},
    };
  }

  return {
    connect,
    async listen(channel, onNotify) {
      const listener = { channel, onNotify };
      listeners.add(listener);
      await script(await engine.forNext(), `listen ${quoted(channel)}`);
      return async () => {
        listeners.delete(listener);
        const started = await engine.current()?.catch(() => undefined);
        const isHeard = [...listeners].some((other) => other.channel === channel);
        if (started !== undefined && !isHeard) await script(started, `unlisten ${quoted(channel)}`);
      };
    },
    async close() {
      const started = await engine.current()?.catch(() => undefined);
      await started?.close();
    },
  };
}

interface Listener {
  channel: string;
  onNotify: (payload: string) => void;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
