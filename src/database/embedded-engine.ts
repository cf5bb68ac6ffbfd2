import { closeSync, fdatasyncSync, fsyncSync, openSync } from "node:fs";
import { PGlite } from "@electric-sql/pglite";
import { NodeFS } from "@electric-sql/pglite/nodefs";
import fileSystem from "../../node_modules/@electric-sql/pglite/dist/pglite.data" with { type: "file" };
import { careSettings } from "./embedded-care.ts";
import { EngineNotStarted } from "./embedded-failure.ts";
import { freeZeros } from "./embedded-memory.ts";

/** PGlite without its look-up of all array types at each start, which is not needed, because its client (embedded-thread.ts) reads arrays. */
export class Engine extends PGlite {
  override async _initArrayTypes(): Promise<void> {}
}

/** Starts an engine on its directory; throws EngineNotStarted, with nothing left open, if that fails. */
export async function startEngine(
  directory: string,
  program: WebAssembly.Module,
  onFlush: () => void,
): Promise<Engine> {
  const said: string[] = [];
  let isStarting = true;
  const engine = new Engine({
    fs: filesThatReachTheDisk(directory, onFlush),
    // The default parameters tell the engine never to flush (-F).
    startParams: [
      ...PGlite.defaultStartParams.filter((param) => param !== "-F"),
      ...settings.flatMap((setting) => ["-c", setting]),
    ],
    pgliteWasmModule: program,
    fsBundle: Bun.file(fileSystem),
    // An empty module, which is never used, since the cluster exists. Without it, the engine would look for the real one beside its source.
    initdbWasmModule: new WebAssembly.Module(emptyModule),
    onStderr: (line) => isStarting && said.push(line) > 0,
  });
  try {
    await engine.waitReady;
  } catch (error) {
    abandon(engine);
    // The engine's file system throws values that are not an Error and have no message.
    throw new EngineNotStarted(lastWords(said) ?? (error instanceof Error ? error.message : "a file can't be used"));
  } finally {
    isStarting = false;
  }
  freeFiles(engine.Module.FS as unknown as EngineFiles);
  freeZeros(engine.Module.HEAPU8);
  return engine;
}

/**
 * The size of the search index's pending list. The statement that makes the list full moves all of it into the index and blocks the
 * database: for up to a second with the default of 4 MB, and a tenth of that with this size. The total time is the same.
 */
const shortPendingList = "gin_pending_list_limit=512kB";

const settings = ["wal_sync_method=fsync", "shared_buffers=64MB", shortPendingList, ...careSettings];

/** Finds the last error of the engine and its detail in lines such as `2026-11-22 13:44:04.989 UTC [42] FATAL:  …`. */
function lastWords(said: readonly string[]): string | undefined {
  const complaint = said.findLastIndex((line) => /(?:FATAL|PANIC): |^postgres: /.test(line));
  if (complaint === -1) return undefined;
  const words = said.slice(complaint, complaint + 2).filter((line, at) => at === 0 || line.includes(" DETAIL: "));
  return words.map((line) => line.replace(/^.*?\b(?:[A-Z]+|postgres): +/, "").replace(/\.$/, "")).join("; ");
}

/**
 * Makes the engine's file system, and adds the flush to the disk that it lacks. This is done before the engine starts, because a start may
 * recover and checkpoint. It also frees what is copied for a write, and keeps a function that clears the engine's alarm.
 */
function filesThatReachTheDisk(directory: string, onFlush: () => void): NodeFS {
  const files = new NodeFS(directory);
  const init = files.init.bind(files);
  files.init = async (engine, options) => {
    const { emscriptenOpts } = await init(engine, options);
    const change = (program: PGlite["Module"] & { NODEFS?: unknown }) => {
      const { stream_ops, realPath } = program.NODEFS as NodeFiles;
      stream_ops.fsync = ({ nfd, node }) => {
        if (nfd === undefined) flushDirectory(realPath(node));
        else fdatasyncSync(nfd);
        onFlush();
        return 0;
      };
      const { write } = stream_ops;
      // A write of several pieces comes as a copy of them: each new file of the log, whose zeros are written first, as sixteen of a MiB. The
      // collector would free them late: the engine's memory counts as in use, and it waits for about as much garbage.
      stream_ops.write = (file, bytes, ...where) => {
        const written = write(file, bytes, ...where);
        if (bytes.buffer !== program.HEAPU8.buffer) bytes.buffer.transfer(0);
        return written;
      };
    };
    const instantiateWasm = (imports: EngineImports, done: unknown) => {
      alarms.set(engine, () => imports.env._setitimer_js(realTime, 0));
      return emscriptenOpts.instantiateWasm(imports, done);
    };
    const preRun = [...(emscriptenOpts.preRun ?? []), change];
    return { emscriptenOpts: { ...emscriptenOpts, preRun, instantiateWasm } };
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

const emptyModule = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

/** The functions that clear the alarms of engines. An alarm would keep the memory of its engine alive until it fires. */
const alarms = new WeakMap<object, () => void>();

/** The import of the engine's program that is used here: setitimer(2). */
interface EngineImports {
  env: { _setitimer_js: (which: number, ms: number) => number };
}

const realTime = 0;

/** Closes the files of an engine that has failed, and clears its alarm, because such an engine cannot close itself. */
export function abandon(engine: Engine): void {
  if (engine.closed) return;
  alarms.get(engine)?.();
  for (const file of openFilesOf(engine)) {
    try {
      if (file?.nfd !== undefined) closeSync(file.nfd);
    } catch {
      // The file is closed already.
    }
  }
}

/**
 * Removes the engine's files that only initdb, builders of extensions and databases of another encoding read, and copies the others, so
 * that the buffer of 6 MB that all of them came in can be freed.
 */
function freeFiles(files: EngineFiles): void {
  let all: ArrayBuffer | undefined;
  function walk(path: string, { mount, contents = {} }: FileNode): void {
    for (const [name, node] of Object.entries(contents as Record<string, FileNode>)) {
      const inside = `${path}/${name}`;
      if (node.mount !== mount || !node.contents) continue;
      if (!(node.contents instanceof Uint8Array)) walk(inside, node);
      else if (unused.test(inside)) files.unlink(inside);
      else {
        all = node.contents.buffer;
        node.contents = node.contents.slice();
      }
    }
  }
  walk(home, files.lookupPath(home).node);
  all?.transfer(0);
}

/** The directory of the engine's own files. */
const home = "/pglite";

/** The files are 3.8 of the 6.2 MB. */
const unused =
  /\/share\/postgresql\/[^/]+\.(?:bki|sql|txt|sample)$|\/lib\/postgresql\/(?:pgxs\/|.*_and_|libpqwalreceiver|pgoutput)/;

interface FileNode {
  mount: object;
  /** The bytes of a file, or what a directory contains. */
  contents?: Uint8Array<ArrayBuffer> | Record<string, FileNode>;
}

interface EngineFiles {
  lookupPath(path: string): { node: FileNode };
  unlink(path: string): void;
}

/** An open file of the engine; a directory has no descriptor of the host. */
interface OpenFile {
  nfd?: number;
  node: object;
}

/** The part of Emscripten's NODEFS that is used here. */
interface NodeFiles {
  stream_ops: {
    fsync?: (file: OpenFile) => number;
    write: (file: OpenFile, bytes: Int8Array<ArrayBuffer>, ...where: unknown[]) => number;
  };
  realPath(node: object): string;
}

/** The engine's open files; none if the engine ended before it had a file system. */
function openFilesOf({ Module }: { Module?: PGlite["Module"] }): readonly (OpenFile | null | undefined)[] {
  return (Module?.FS as unknown as { streams: (OpenFile | null)[] } | undefined)?.streams ?? [];
}
