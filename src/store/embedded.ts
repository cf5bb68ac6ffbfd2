import { fdatasyncSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import type { Connection } from "./pool.ts";
import { readers } from "./wire.ts";

export interface Embedded {
  connection: Connection;
  listen(channel: string, onNotify: (payload: string) => void): Promise<() => Promise<void>>;
}

/** Opens the Postgres that runs inside this process, in `dataDir/pg`. The caller holds the lock on `dataDir`. */
export async function openEmbedded(dataDir: string): Promise<Embedded> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const engine = await PGlite.create({
    dataDir: join(dataDir, "pg"),
    startParams: [...PGlite.defaultStartParams.filter((param) => param !== "-F"), "-c", "wal_sync_method=fsync"],
    parsers: readers,
    serializers: { 17: (bytes) => bytes },
  });
  reachTheDisk(engine);
  return { connection: connectionTo(engine), listen: (channel, onNotify) => engine.listen(quoted(channel), onNotify) };
}

/** The engine's file system has no fsync: without this each commit would be a promise that a power cut breaks. */
function reachTheDisk(engine: PGlite): void {
  const { stream_ops: operations } = engine.Module.NODEFS as unknown as { stream_ops: Record<string, unknown> };
  operations.fsync = (stream: { nfd: number }) => {
    fdatasyncSync(stream.nfd);
    return 0;
  };
}

function connectionTo(engine: PGlite): Connection {
  let isOpen = true;
  return {
    get isOpen() {
      return isOpen;
    },
    async run(text, values, shape) {
      const rowMode = shape === "arrays" ? "array" : "object";
      const { rows } = await engine.query<unknown>(text, values, { rowMode });
      return rows;
    },
    async script(text) {
      const results = await engine.exec(text);
      return (results.at(-1) as { command?: string } | undefined)?.command ?? "";
    },
    sever() {},
    async close() {
      if (!isOpen) return;
      isOpen = false;
      await engine.close();
    },
  };
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
