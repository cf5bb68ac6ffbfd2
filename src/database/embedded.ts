import { existsSync } from "node:fs";
import { join } from "node:path";
import { clusterIn, makeCluster } from "./embedded-cluster.ts";
import { compiled, cureOf, type Engine, EngineNotStarted, startEngine } from "./embedded-engine.ts";
import { restartingEngine } from "./embedded-restart.ts";
import { type PreparedStatements, preparedStatements } from "./embedded-statements.ts";
import type { Connection } from "./runner.ts";

/** The embedded database: a Postgres inside this process, on one directory. */
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
  await Promise.all([makeCluster(directory), compiled()]);
  const statements = new WeakMap<Engine, PreparedStatements>();
  const letOthersRun = pausesForOthers();
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
    for (const { channel, onNotify } of listeners) await started.listen(channel, onNotify);
    return started;
  }

  function connect(): Connection {
    const mine = engine.forNext();
    let isOpen = true;
    return {
      get isOpen() {
        return isOpen;
      },
      hasAnswered: true,
      async run(text, values) {
        await letOthersRun();
        const started = await mine;
        const prepared = statements.get(started) ?? preparedStatements(started);
        statements.set(started, prepared);
        return prepared.run(text, values);
      },
      async script(text) {
        await letOthersRun();
        const results = await (await mine).exec(text);
        return results.at(-1)?.command ?? "";
      },
      sever() {
        if (!isOpen) return;
        isOpen = false;
        engine.giveUp(mine);
      },
      async close() {},
    };
  }

  return {
    connect,
    async listen(channel, onNotify) {
      const listener = { channel: quoted(channel), onNotify };
      listeners.add(listener);
      await (await engine.forNext()).listen(listener.channel, onNotify);
      return async () => {
        listeners.delete(listener);
        const started = await engine.current()?.catch(() => undefined);
        await started?.unlisten(listener.channel, onNotify);
      };
    },
    async close() {
      const started = await engine.current()?.catch(() => undefined);
      await started?.close();
    },
  };
}

const longestTurnMs = 5;

/**
 * Returns a function that lets the event loop run if it has not for `longestTurnMs`. The engine answers synchronously, so a series of
 * statements would otherwise block sockets and timers.
 */
function pausesForOthers(): () => Promise<void> {
  let lastAt = performance.now();
  return async () => {
    if (performance.now() < lastAt + longestTurnMs) return;
    await new Promise((resolve) => setImmediate(resolve));
    lastAt = performance.now();
  };
}

interface Listener {
  channel: string;
  onNotify: (payload: string) => void;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
