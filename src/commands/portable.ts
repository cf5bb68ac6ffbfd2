import { lstatSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import type { Command } from "commander";
import { readConfig } from "../config.ts";
import { NobodyListens, readFromService } from "../control/client.ts";
import { type Database, DataDirectoryInUse, openDatabase } from "../database/db.ts";
import { Refusal } from "../domain/errors.ts";
import { exportEverything } from "../flows/move/export-everything.ts";
import { importEverything } from "../flows/move/import-everything.ts";
import { realWorld } from "../service/time-and-chance.ts";
import { migrate } from "../store/migrate.ts";
import { version } from "../version.ts";
import { reporting } from "./cli.ts";
import { linesOf } from "./lines.ts";

/** Moving the service: from the embedded database to Postgres, or into a backup. */
export function portableCommands(program: Command): void {
  reporting(
    program
      .command("export <file>")
      .description("write everything to a file, ids and secrets included; the service may run"),
    exportTo,
  );
  reporting(
    program
      .command("import <file>")
      .description("read an export into an empty database; goes on where it was interrupted"),
    importFrom,
  );
}

/** The file gets its name when it is whole. It holds secrets: nobody else may read it, and half of one is not left behind. */
async function exportTo(path: string): Promise<object> {
  const unfinished = `${path}.unfinished`;
  if (lstatSync(path, { throwIfNoEntry: false })) throw new Error(`Cannot export: ${path} is there already`);
  // Nothing that is there is written into: it may be a link, and lead to where the secrets in it can be read.
  const file = await open(unfinished, "wx", 0o600).catch((error: unknown) => {
    const isThere = error instanceof Error && "code" in error && error.code === "EEXIST";
    throw isThere ? new Error(`Cannot export: ${unfinished} is there, of an export that runs or was killed`) : error;
  });
  try {
    await readOut((piece) => file.writeFile(piece));
    await file.sync();
    const end = await lastLine(unfinished);
    await rename(unfinished, path);
    return { file: path, ...end };
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

async function importFrom(path: string): Promise<object> {
  const { databaseUrl, dataDir } = readConfig(process.env);
  const db = await openDatabase({ url: databaseUrl, dataDir });
  try {
    await migrate(db);
    return { file: path, ...(await importEverything(db, () => linesOf(path))) };
  } finally {
    await db.close();
  }
}

function exportName() {
  return { id: realWorld.randomBytes(16).toHex(), version, now: realWorld.now() };
}

async function readOut(write: (piece: string | Uint8Array) => Promise<void>): Promise<void> {
  const { databaseUrl, dataDir } = readConfig(process.env);
  let db: Database;
  try {
    db = await openDatabase({ url: databaseUrl, dataDir });
  } catch (error) {
    if (!(error instanceof DataDirectoryInUse)) throw error;
    for await (const piece of readByHolder(dataDir, error)) await write(piece);
    return;
  }
  try {
    await migrate(db);
    await exportEverything(db, exportName(), write);
  } finally {
    await db.close();
  }
}

/** What the service that has the embedded database reads out. */
async function* readByHolder(dataDir: string, inUse: DataDirectoryInUse): AsyncGenerator<Uint8Array> {
  try {
    yield* readFromService(dataDir);
  } catch (error) {
    // Without a socket it is no service that has the directory, but another command.
    if (error instanceof NobodyListens) throw inUse;
    throw error instanceof Refusal ? error : wentAway(error);
  }
}

function wentAway(cause?: unknown): Error {
  return new Error("Cannot export: the running service went away before the end", { cause });
}

async function lastLine(path: string): Promise<object> {
  let last = "";
  for await (const line of linesOf(path)) last = line;
  if (!/^\{"end":true,.*\}$/.test(last)) throw wentAway();
  const { rows, sha256 } = JSON.parse(last) as { rows: number; sha256: string };
  return { rows, sha256 };
}
