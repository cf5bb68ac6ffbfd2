import { existsSync } from "node:fs";
import { join } from "node:path";
import { placeCluster, placeIn } from "./embedded-cluster.ts";
import { abandon, compiled, cureOf, type Engine, EngineNotStarted, startEngine } from "./embedded-engine.ts";
import { type PreparedStatements, preparedStatements } from "./embedded-statements.ts";
import type { Connection } from "./runner.ts";
import { DatabaseUnavailable } from "./unavailable.ts";

/** The Postgres that runs inside this process, on one directory. */
export interface Embedded {
  /** The one session it has. After the engine has failed, a new one, which begins by recovering from the disk. */
  connect(): Connection;
  listen(channel: string, onNotify: (payload: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Called whenever a file has reached the disk, which is at least once for each commit that wrote something. */
  onFlush?: () => void;
  /** How long to leave an engine alone that has just failed. */
  pauseMs?: number;
}

/**
 * Opens the database in `dataDir/pg`, and makes it first where there is none. The caller holds the lock on `dataDir`.
 */
export async function openEmbedded(
  dataDir: string,
  { onFlush = () => undefined, pauseMs = 1_000 }: EmbeddedOptions = {},
): Promise<Embedded> {
  const directory = placeIn(dataDir);
  const listeners = new Set<Listener>();
  await Promise.all([placeCluster(directory), compiled()]);
  const statements = new WeakMap<Engine, PreparedStatements>();
  /** The engine in use, or the one that is being started; none from its failure until it is needed again. */
  let engine: Promise<Engine> | undefined = open();
  let failedAt = Number.NEGATIVE_INFINITY;
  /** Why it could not be started, where that is what failed. */
  let failure: EngineNotStarted | undefined;
  await engine.catch((error: unknown) => {
    throw error instanceof EngineNotStarted ? new Error(`Cannot open ${directory}: ${cureOf(error.words)}`) : error;
  });

  async function open(): Promise<Engine> {
    // The engine would make itself a cluster of its own there, of which it has not the means.
    if (!existsSync(join(directory, "PG_VERSION"))) throw new EngineNotStarted("there is no PG_VERSION in it");
    const opened = await startEngine(directory, onFlush);
    for (const { channel, onNotify } of listeners) await opened.listen(channel, onNotify);
    return opened;
  }

  let lastBreathAt = performance.now();

  /** The engine answers in the same turn of the event loop: a run of statements would keep sockets and timers waiting to its end. */
  async function letOthersRun(): Promise<void> {
    if (performance.now() < lastBreathAt + longestTurnMs) return;
    await new Promise((resolve) => setImmediate(resolve));
    lastBreathAt = performance.now();
  }

  /** A full disk fails the engine again and again: without a pause, each attempt would cost a second of everybody's time. */
  function engineForNext(): Promise<Engine> {
    if (engine === undefined && performance.now() < failedAt + pauseMs) {
      return heardByUsers(
        Promise.reject(new DatabaseUnavailable("the embedded engine has just failed", failure?.sqlState)),
      );
    }
    engine ??= heardByUsers(open());
    return engine;
  }

  function connect(): Connection {
    const mine = engineForNext();
    let isOpen = true;
    return {
      get isOpen() {
        return isOpen;
      },
      hasAnswered: true,
      async run(text, values) {
        await letOthersRun();
        const opened = await mine;
        const prepared = statements.get(opened) ?? preparedStatements(opened);
        statements.set(opened, prepared);
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
        // To be refused in the pause is no failure: were it one, whoever asks meanwhile would begin the pause anew, for ever.
        if (mine !== engine) return;
        engine = undefined;
        failedAt = performance.now();
        failure = undefined;
        // Nobody may use it again: the descriptors that it believes to be its files are about to be others'.
        mine.then(abandon, (error: unknown) => {
          if (error instanceof EngineNotStarted) failure = error;
        });
      },
      async close() {},
    };
  }

  return {
    connect,
    async listen(channel, onNotify) {
      const listener = { channel: quoted(channel), onNotify };
      listeners.add(listener);
      await (await engineForNext()).listen(listener.channel, onNotify);
      return async () => {
        listeners.delete(listener);
        const opened = await engine?.catch(() => undefined);
        await opened?.unlisten(listener.channel, onNotify);
      };
    },
    async close() {
      const opened = await engine?.catch(() => undefined);
      await opened?.close();
    },
  };
}

const longestTurnMs = 5;

/** Whoever uses the engine hears that it failed; when nobody does, that is nobody's error. */
function heardByUsers(engine: Promise<Engine>): Promise<Engine> {
  engine.catch(() => undefined);
  return engine;
}

interface Listener {
  channel: string;
  onNotify: (payload: string) => void;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
