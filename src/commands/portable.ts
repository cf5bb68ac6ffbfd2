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
import { refuseWithoutDatabase } from "./database-there.ts";
import { exportToFile, exportToStdout, wentAway } from "./move/export-target.ts";
import { openImport } from "./move/import-source.ts";
import { lines } from "./print.ts";
import { jsonOf, tell } from "./terminal.ts";

/** Moving the service: from the embedded database to Postgres, or into a backup. */
export function portableCommands(program: Command): void {
  program
    .command("export <file>")
    .description("write everything to a new file, or to stdout (-), ids and secrets included; the service may run")
    .option("--json", "print JSON")
    .action(exportAs);
  reporting(
    program
      .command("import <file>")
      .description(
        "read an export, from a file or stdin (-), into an empty database; goes on where it was interrupted",
      ),
    importFrom,
  );
}

/** On stdout stands the export alone, so what came of it is said on stderr. */
async function exportAs(path: string, { json = false }: { json?: boolean }): Promise<void> {
  const end = await (path === "-" ? exportToStdout(readOut) : exportToFile(path, readOut));
  const { rows, sha256 } = end;
  const made = path === "-" ? { rows, sha256 } : { file: path, rows, sha256 };
  tell(json ? jsonOf(made, 2) : lines(made), path === "-" ? process.stderr : process.stdout);
}

async function importFrom(path: string): Promise<object> {
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
