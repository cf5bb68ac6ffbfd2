import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { realWorld } from "../../service/time-and-chance.ts";
import { namelessFile } from "../../store/mail/spool.ts";
import { reasonOf, UsageError } from "../failure.ts";
import { linesOf } from "./lines.ts";

/** An export that can be read from its beginning as often as is needed. */
export interface ImportSource {
  lines: () => AsyncGenerator<string>;
  close: () => Promise<void>;
}

/** Fails before anything is made where there is nothing to be read. */
export async function openImport(path: string): Promise<ImportSource> {
  if (path === "-") return stdinKept();
  const file = await open(path, "r").catch((error: unknown) => {
    throw new Error(`Cannot import: ${path}: ${reasonOf(error)}`);
  });
  try {
    if ((await file.stat()).isDirectory()) throw new Error(`Cannot import: ${path}: it is a directory`);
  } finally {
    await file.close();
  }
  return { lines: () => linesOf(path), close: async () => undefined };
}

/** An import reads three times, and a pipe can be read once: so it is kept in a file without a name. */
async function stdinKept(): Promise<ImportSource> {
  if (process.stdin.isTTY)
    throw new UsageError("Cannot import from a terminal: pipe an export into it, or name a file");
  const kept = join(tmpdir(), `.inboxd-import-${realWorld.randomBytes(16).toHex()}`);
  const { file } = await namelessFile(kept, async (write) => {
    for await (const piece of Bun.stdin.stream()) await write(piece);
  }).catch((error: unknown) => {
    throw new Error(
      `Cannot import: stdin can't be kept in ${tmpdir()}: ${reasonOf(error)}; TMPDIR names another place`,
    );
  });
  return { lines: () => linesOf(`/dev/fd/${file.fd}`), close: () => file.close() };
}
