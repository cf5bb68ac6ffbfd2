import { readConfig } from "../../config.ts";
import { NobodyListens, readFromService } from "../../control/client.ts";
import { type Database, DataDirectoryInUse, openDatabase } from "../../database/db.ts";
import { Refusal } from "../../domain/errors.ts";
import { exportEverything } from "../../flows/move/export-everything.ts";
import { importEverything } from "../../flows/move/import-everything.ts";
import { realWorld } from "../../service/time-and-chance.ts";
import { migrate } from "../../store/migrate.ts";
import { version } from "../../version.ts";
import { printExported } from "../cli.ts";
import { refuseWithoutDatabase } from "../database-there.ts";
import { exportToFile, exportToStdout, wentAway } from "./export-target.ts";
import { openImport } from "./import-source.ts";

export async function exportAs(path: string, { json = false }: { json?: boolean }): Promise<void> {
  const end = await (path === "-" ? exportToStdout(readOut) : exportToFile(path, readOut));
  const { rows, sha256 } = end;
  const made = path === "-" ? { rows, sha256 } : { file: path, rows, sha256 };
  printExported(made, path, json);
}

export async function importFrom(path: string): Promise<object> {
  const { databaseUrl, dataDir } = readConfig(process.env);
  const source = await openImport(path);
  try {
    const db = await openDatabase({ url: databaseUrl, dataDir });
    try {
      await migrate(db);
      return { file: path === "-" ? "stdin" : path, ...(await importEverything(db, source.lines)) };
    } finally {
      await db.close();
    }
  } finally {
    await source.close();
  }
}

function exportName() {
  return { id: realWorld.randomBytes(16).toHex(), version, now: realWorld.now() };
}

async function readOut(write: (piece: string | Uint8Array) => Promise<void>): Promise<void> {
  const { databaseUrl, dataDir } = readConfig(process.env);
  refuseWithoutDatabase("export", { databaseUrl, dataDir });
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

/** Reads the export from the service that has opened the embedded database. */
async function* readByHolder(dataDir: string, inUse: DataDirectoryInUse): AsyncGenerator<Uint8Array> {
  try {
    yield* readFromService(dataDir);
  } catch (error) {
    // Without a socket the directory belongs to another command, not to a service.
    if (error instanceof NobodyListens) throw inUse;
    throw error instanceof Refusal ? error : wentAway(error);
  }
}
