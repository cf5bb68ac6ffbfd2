import { lstatSync } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import type { ExportEnd } from "../../flows/move/export-file.ts";
import { reasonOf, UsageError } from "../failure.ts";

/** Writes an export piece by piece. */
export type ReadOut = (write: (piece: string | Uint8Array) => Promise<void>) => Promise<void>;

/** Writes a file that only its owner can read, since it contains secrets. Renames it when it is complete, and removes an incomplete one. */
export async function exportToFile(path: string, readOut: ReadOut): Promise<ExportEnd> {
  const unfinished = `${path}.unfinished`;
  const whenThere = `${path} already exists`;
  if (lstatSync(path, { throwIfNoEntry: false })) throw new Error(`Cannot export: ${whenThere}`);
  // Never opens an existing file: it may be a link to a place where others can read the secrets.
  const file = await openNew(unfinished, `${unfinished} already exists: another export is running, or one was killed`);
  try {
    const seen = endWatch();
    await readOut(async (piece) => {
      seen.pass(piece);
      await file.writeFile(piece);
    });
    const end = seen.end();
    await file.sync();
    // Reserves the name, because `rename` would replace a file that was made meanwhile.
    await (await openNew(path, whenThere)).close();
    await rename(unfinished, path).catch(async (error: unknown) => {
      await rm(path, { force: true });
      throw error;
    });
    return end;
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Writes into a pipe, at the speed of its reader. */
export async function exportToStdout(readOut: ReadOut): Promise<ExportEnd> {
  if (process.stdout.isTTY) {
    throw new UsageError(
      "Cannot export to a terminal: an export contains secrets; pipe it into a program, or name a file",
    );
  }
  const seen = endWatch();
  const unread = Promise.withResolvers<never>();
  unread.promise.catch(() => undefined);
  process.stdout.on("error", (error) => unread.reject(new Error(`Cannot export: ${whyUnread(error)}`)));
  await readOut(async (piece) => {
    seen.pass(piece);
    await Promise.race([written(piece), unread.promise]);
  });
  return seen.end();
}

function written(piece: string | Uint8Array): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  process.stdout.write(piece, (error) => {
    if (error) reject(new Error(`Cannot export: ${whyUnread(error)}`));
    else resolve();
  });
  return promise;
}

function whyUnread(error: Error): string {
  return "code" in error && error.code === "EPIPE"
    ? "the program that reads the export ended before the export was complete"
    : reasonOf(error);
}

async function openNew(path: string, whenThere: string): Promise<FileHandle> {
  return open(path, "wx", 0o600).catch((error: unknown) => {
    const taken = error instanceof Error && "code" in error && error.code === "EEXIST";
    throw new Error(`Cannot export: ${taken ? whenThere : `${path}: ${reasonOf(error)}`}`);
  });
}

/** The length of the end that is kept: longer than the last line of any export. */
const endBytes = 256;

/** Keeps the end of the export, whose last line shows that it is complete. */
function endWatch() {
  let kept = "";
  return {
    pass(piece: string | Uint8Array): void {
      const end =
        typeof piece === "string" ? piece.slice(-endBytes) : Buffer.from(piece.subarray(-endBytes)).toString();
      kept = (kept + end).slice(-endBytes);
    },
    end(): ExportEnd {
      const last = kept.trimEnd().split("\n").at(-1) ?? "";
      if (!kept.endsWith("\n") || !/^\{"end":true,.*\}$/.test(last)) throw wentAway();
      return JSON.parse(last) as ExportEnd;
    },
  };
}

export function wentAway(cause?: unknown): Error {
  return new Error("Cannot export: the running service stopped before the export was complete", { cause });
}
