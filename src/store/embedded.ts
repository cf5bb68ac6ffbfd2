import { closeSync, fdatasyncSync, fsyncSync, openSync } from "node:fs";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { NodeFS } from "@electric-sql/pglite/nodefs";
import fileSystem from "../../node_modules/@electric-sql/pglite/dist/pglite.data" with { type: "file" };
import program from "../../node_modules/@electric-sql/pglite/dist/pglite.wasm" with { type: "file" };
import { placeCluster } from "./embedded-cluster.ts";
import { type PreparedStatements, preparedStatements } from "./embedded-statements.ts";
import type { Connection } from "./pool.ts";
import { DatabaseUnavailable } from "./unavailable.ts";
import { readers } from "./wire.ts";

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
  const directory = join(dataDir, "pg");
  const listeners = new Set<Listener>();
  await Promise.all([placeCluster(directory), compiled()]);
  const statements = new WeakMap<PGlite, PreparedStatements>();
  let engine: Promise<PGlite> = open();
  await engine;

  async function open(): Promise<PGlite> {
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

  let failedAt: number | undefined;

  function connect(): Connection {
    let isOpen = true;
    if (failedAt !== undefined) become(reopen(failedAt));
    return {
      get isOpen() {
        return isOpen;
      },
      hasAnswered: true,
      async run(text, values, shape) {
        await letOthersRun();
        const opened = await engine;
        const prepared = statements.get(opened) ?? preparedStatements(opened);
        statements.set(opened, prepared);
        return prepared.run(text, values, shape);
      },
      async script(text) {
        await letOthersRun();
        const results = await (await engine).exec(text);
        return results.at(-1)?.command ?? "";
      },
      sever() {
        if (!isOpen) return;
        isOpen = false;
        failedAt = performance.now();
        engine.then(abandon, () => undefined);
        // Nobody may use it again: the descriptors that it believes to be its files are about to be others'.
        become(Promise.reject(new DatabaseUnavailable("the embedded engine has failed")));
      },
      async close() {},
    };
  }

  /** A full disk fails the engine again and again: without a pause, each attempt would cost a second of everybody's time. */
  async function reopen(failedAt: number): Promise<PGlite> {
    if (performance.now() < failedAt + pauseMs) throw new DatabaseUnavailable("the embedded engine has just failed");
    return open();
  }

  /** Whoever uses the engine hears that it failed; when nobody does, that is nobody's error. */
  function become(next: Promise<PGlite>): void {
    engine = next;
    engine.catch(() => undefined);
  }

  return {
    connect,
    async listen(channel, onNotify) {
      const listener = { channel: quoted(channel), onNotify };
      listeners.add(listener);
      await (await engine).listen(listener.channel, onNotify);
      return async () => {
        listeners.delete(listener);
        await (await engine).unlisten(listener.channel, onNotify);
      };
    },
    async close() {
      const opened = await engine.catch(() => undefined);
      await opened?.close();
    },
  };
}

const longestTurnMs = 5;

interface Listener {
  channel: string;
  onNotify: (payload: string) => void;
}

/** As it comes, each start asks the catalogue for all array types, which are read here by `readers` alone. */
class Engine extends PGlite {
  override async _initArrayTypes(): Promise<void> {}
}

async function startEngine(directory: string, onFlush: () => void): Promise<PGlite> {
  const engine = new Engine({
    fs: filesThatReachTheDisk(directory, onFlush),
    // As it comes, the engine is told never to flush (-F).
    startParams: [
      ...PGlite.defaultStartParams.filter((param) => param !== "-F"),
      ...["wal_sync_method=fsync", "shared_buffers=64MB"].flatMap((setting) => ["-c", setting]),
    ],
    pgliteWasmModule: await compiled(),
    fsBundle: Bun.file(fileSystem),
    // Never used, since the cluster is there; but without one the engine looks for the real one beside its source.
    initdbWasmModule: new WebAssembly.Module(emptyModule),
    parsers: readers,
    serializers: { 17: (bytes) => bytes },
  });
  await engine.waitReady;
  return engine;
}

/** The engine's file system has no flush: it must have one before the engine starts, since a start may recover and checkpoint. */
function filesThatReachTheDisk(directory: string, onFlush: () => void): NodeFS {
  const files = new NodeFS(directory);
  const init = files.init.bind(files);
  files.init = async (engine, options) => {
    const { emscriptenOpts } = await init(engine, options);
    const addFlush = ({ NODEFS }: { NODEFS: unknown }) => {
      const { stream_ops, realPath } = NODEFS as NodeFiles;
      stream_ops.fsync = ({ nfd, node }) => {
        if (nfd === undefined) flushDirectory(realPath(node));
        else fdatasyncSync(nfd);
        onFlush();
        return 0;
      };
    };
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), addFlush] } };
  };
  return files;
}

function flushDirectory(path: string): void {
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

let compiledProgram: Promise<WebAssembly.Module> | undefined;

/** Compiled once, however often an engine is started. */
function compiled(): Promise<WebAssembly.Module> {
  compiledProgram ??= Bun.file(program).arrayBuffer().then(WebAssembly.compile);
  return compiledProgram;
}

const emptyModule = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

/** An engine that has failed can't be closed: only its files can. */
function abandon(engine: PGlite): void {
  if (engine.closed) return;
  for (const file of openFilesOf(engine)) {
    try {
      if (file?.nfd !== undefined) closeSync(file.nfd);
    } catch {
      // It was closed already.
    }
  }
}

/** An open file of the engine; a directory has no descriptor of the host's. */
interface OpenFile {
  nfd?: number;
  node: object;
}

/** The part of Emscripten's NODEFS that is used here. */
interface NodeFiles {
  stream_ops: { fsync?: (file: OpenFile) => number };
  realPath(node: object): string;
}

function openFilesOf(engine: PGlite): readonly (OpenFile | null | undefined)[] {
  return (engine.Module.FS as unknown as { streams: (OpenFile | null)[] }).streams;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
