import { open, rename } from "node:fs/promises";
import type { Command } from "commander";
import { readConfig } from "../config.ts";
import { exportEverything } from "../flows/export-everything.ts";
import { importEverything } from "../flows/import-everything.ts";
import { realWorld } from "../service.ts";
import { type Database, openDatabase } from "../store/db.ts";
import { askHolder, DataDirectoryInUse } from "../store/directory-lock.ts";
import { migrate } from "../store/migrate.ts";
import { version } from "../version.ts";
import { reporting } from "./cli.ts";

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

/** The file gets its name when it is whole. It holds secrets, so nobody else may read it. */
async function exportTo(path: string): Promise<object> {
  const unfinished = `${path}.unfinished`;
  const file = await open(unfinished, "w", 0o600);
  try {
    const write = async (chunk: string | Uint8Array) => {
      await file.write(chunk as Uint8Array);
    };
    await withDatabase(
      (db) => exportEverything(db, exportName(), write),
      async (holder) => {
        for await (const chunk of holder.body ?? []) await write(chunk);
      },
    );
    await file.sync();
  } finally {
    await file.close();
  }
  const end = await lastLine(unfinished);
  await rename(unfinished, path);
  return { file: path, ...end };
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

/** The answer of the process that holds the embedded database, to `inboxd export` of another. */
export function exportDoor(db: Database): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  exportEverything(db, exportName(), (text) => writer.write(encoder.encode(text))).then(
    () => writer.close(),
    (error: unknown) => writer.abort(error),
  );
  return new Response(readable);
}

export const exportPath = "/export";

function exportName() {
  return { id: realWorld.randomBytes(16).toHex(), version, now: realWorld.now() };
}

async function withDatabase(
  here: (db: Database) => Promise<unknown>,
  there: (answer: Response) => Promise<void>,
): Promise<void> {
  const { databaseUrl, dataDir } = readConfig(process.env);
  let db: Database;
  try {
    db = await openDatabase({ url: databaseUrl, dataDir });
  } catch (error) {
    if (!(error instanceof DataDirectoryInUse)) throw error;
    return there(
      await askHolder(dataDir, exportPath).catch(() => {
        throw error;
      }),
    );
  }
  try {
    await migrate(db);
    await here(db);
  } finally {
    await db.close();
  }
}

async function lastLine(path: string): Promise<object> {
  let last = "{}";
  for await (const line of linesOf(path)) last = line;
  const end = JSON.parse(last) as { end?: true; rows?: number; sha256?: string };
  if (end.end !== true) throw new Error("Cannot export: the database went away before the end");
  return { rows: end.rows, sha256: end.sha256 };
}

/** At line feeds alone: JSON writes none, but may hold what others take for the end of a line (U+2028). */
async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of Bun.file(path).stream().pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}
