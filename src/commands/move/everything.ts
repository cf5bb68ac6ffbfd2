import { openBlobStore } from "../../blobs/blob-store.ts";
import { readConfig } from "../../config.ts";
import { NobodyListens, readFromService } from "../../control/client.ts";
import { type Database, DataDirectoryInUse, openDatabase } from "../../database/db.ts";
import { Refusal } from "../../domain/errors.ts";
import { idMaker } from "../../domain/ids.ts";
import { type SealingSettings, sealingOf } from "../../flows/account/sealed-secrets.ts";
import { exportNamed } from "../../flows/move/export-account.ts";
import { writeChanges } from "../../flows/move/export-changes.ts";
import { type ImportDeps, type ImportTask, importAccount } from "../../flows/move/import-account.ts";
import { importEverything } from "../../flows/move/import-everything.ts";
import { realWorld } from "../../service/time-and-chance.ts";
import { migrate } from "../../store/migrate.ts";
import { version } from "../../version.ts";
import { printExported } from "../cli.ts";
import { refuseWithoutDatabase } from "../database-there.ts";
import { UsageError } from "../failure.ts";
import { exportToFile, exportToStdout, type ReadOut, wentAway } from "./export-target.ts";
import { linesIn, linesOf, openImport, refuseUnreadable } from "./import-source.ts";

export interface ExportOptions {
  /** The name of the only account to export. */
  account?: string;
  /** The file of an earlier export of the account: only what has changed since is exported. */
  after?: string;
  json?: boolean;
}

export interface ImportOptions {
  beside?: boolean;
  ahead?: boolean;
  undo?: boolean;
}

export async function exportAs(path: string, { account, after, json = false }: ExportOptions): Promise<void> {
  const read: ReadOut = after === undefined ? (write) => readOut(account, write) : await changesOf(account, after);
  const end = await (path === "-" ? exportToStdout(read) : exportToFile(path, read));
  const { rows, sha256 } = end;
  const made = path === "-" ? { rows, sha256 } : { file: path, rows, sha256 };
  printExported(made, path, json);
}

export async function importFrom(path: string, options: ImportOptions): Promise<object> {
  const { beside = false } = options;
  const task = taskOf(options);
  const config = readConfig(process.env);
  const { databaseUrl, databaseDirectUrl, dataDir } = config;
  if (beside) refuseWithoutDatabase("import --beside", config);
  const source = await openImport(path);
  try {
    const db = await openDatabase({ url: databaseUrl, directUrl: databaseDirectUrl, dataDir });
    try {
      await migrate(db);
      const imported = beside
        ? await importAccount(await depsOf(db, config), source.lines, task)
        : await importEverything({ db, mailDomain: config.mailDomain }, source.lines);
      return { file: path === "-" ? "stdin" : path, ...imported };
    } finally {
      await db.close();
    }
  } finally {
    await source.close();
  }
}

function taskOf({ beside = false, ahead = false, undo = false }: ImportOptions): ImportTask {
  if ((ahead || undo) && !beside) throw new UsageError("Cannot import: --ahead and --undo need --beside");
  if (ahead && undo) throw new UsageError("Cannot import: use either --ahead or --undo");
  if (ahead) return "ahead";
  return undo ? "undo" : "import";
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
    // The export of an account is written into its audit.
    const standbyToo = accountName === undefined;
    db = await openDatabase({ url: databaseUrl, directUrl: databaseDirectUrl, dataDir, blobs, standbyToo });
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

/** Makes the function that reads out what has changed in an account since the export in this file. */
async function changesOf(account: string | undefined, path: string): Promise<ReadOut> {
  if (account === undefined) throw new UsageError("Cannot export: --after needs --account");
  await refuseUnreadable(path, "export");
  return async (write) => {
    const { now, randomBytes } = realWorld;
    const options = { id: randomBytes(16).toHex(), version, now: now() };
    await writeChanges(options, { earlier: () => linesOf(path), later: linesRead(account) }, write);
  };
}

/** The lines of the whole export of an account. */
async function* linesRead(account: string): AsyncGenerator<string> {
  const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>>();
  const writer = writable.getWriter();
  const reading = readOut(account, (piece) => writer.write(encoded(piece))).then(() => writer.close());
  reading.catch((error: unknown) => writer.abort(error).catch(() => undefined));
  try {
    yield* linesIn(readable);
  } catch (error) {
    await reading;
    throw error;
  }
}

function encoded(piece: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return typeof piece === "string" ? new TextEncoder().encode(piece) : new Uint8Array(piece);
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
