import { openBlobStore } from "../../blobs/blob-store.ts";
import { readConfig } from "../../config.ts";
import { NobodyListens, readFromService } from "../../control/client.ts";
import { type Database, DataDirectoryInUse, openDatabase } from "../../database/db.ts";
import { Refusal } from "../../domain/errors.ts";
import { idMaker } from "../../domain/ids.ts";
import { type SealingSettings, sealingOf } from "../../flows/account/sealed-secrets.ts";
import { exportNamed } from "../../flows/move/export-account.ts";
import { type ImportDeps, importAccount } from "../../flows/move/import-account.ts";
import { importEverything } from "../../flows/move/import-everything.ts";
import { realWorld } from "../../service/time-and-chance.ts";
import { migrate } from "../../store/migrate.ts";
import { version } from "../../version.ts";
import { printExported } from "../cli.ts";
import { refuseWithoutDatabase } from "../database-there.ts";
import { exportToFile, exportToStdout, type ReadOut, wentAway } from "./export-target.ts";
import { openImport } from "./import-source.ts";

export interface ExportOptions {
  /** The name of the only account to export. */
  account?: string;
  json?: boolean;
}

export async function exportAs(path: string, { account, json = false }: ExportOptions): Promise<void> {
  const read: ReadOut = (write) => readOut(account, write);
  const end = await (path === "-" ? exportToStdout(read) : exportToFile(path, read));
  const { rows, sha256 } = end;
  const made = path === "-" ? { rows, sha256 } : { file: path, rows, sha256 };
  printExported(made, path, json);
}

export async function importFrom(path: string, { beside = false }: { beside?: boolean }): Promise<object> {
  const config = readConfig(process.env);
  const { databaseUrl, databaseDirectUrl, dataDir } = config;
  if (beside) refuseWithoutDatabase("import --beside", config);
  const source = await openImport(path);
  try {
    const db = await openDatabase({ url: databaseUrl, directUrl: databaseDirectUrl, dataDir });
    try {
      await migrate(db);
      const imported = beside
        ? await importAccount(await depsOf(db, config), source.lines)
        : await importEverything({ db, mailDomain: config.mailDomain }, source.lines);
      return { file: path === "-" ? "stdin" : path, ...imported };
    } finally {
      await db.close();
    }
  } finally {
    await source.close();
  }
}

async function depsOf(db: Database, config: SealingSettings & { mailDomain: string }): Promise<ImportDeps> {
  const { now, randomBytes } = realWorld;
  const sealing = await sealingOf(db.api, config, randomBytes);
  return { db, now, newId: idMaker(randomBytes), sealing, mailDomain: config.mailDomain };
}

async function readOut(accountName: string | undefined, write: Parameters<ReadOut>[0]): Promise<void> {
  const { databaseUrl, databaseDirectUrl, dataDir, blobs: settings } = readConfig(process.env);
  refuseWithoutDatabase("export", { databaseUrl, dataDir });
  let db: Database;
  try {
    const blobs = settings && openBlobStore(settings);
    db = await openDatabase({ url: databaseUrl, directUrl: databaseDirectUrl, dataDir, blobs });
  } catch (error) {
    if (!(error instanceof DataDirectoryInUse)) throw error;
    for await (const piece of readByHolder(dataDir, accountName, error)) await write(piece);
    return;
  }
  try {
    await migrate(db);
    const { now, randomBytes } = realWorld;
    const options = { id: randomBytes(16).toHex(), version, now: now(), accountName };
    await exportNamed({ db, newId: idMaker(randomBytes) }, options, write);
  } finally {
    await db.close();
  }
}

/** Reads the export from the service that has opened the embedded database. */
async function* readByHolder(
  dataDir: string,
  account: string | undefined,
  inUse: DataDirectoryInUse,
): AsyncGenerator<Uint8Array> {
  try {
    yield* readFromService(dataDir, { account });
  } catch (error) {
    // Without a socket the directory belongs to another command, not to a service.
    if (error instanceof NobodyListens) throw inUse;
    throw error instanceof Refusal ? error : wentAway(error);
  }
}
