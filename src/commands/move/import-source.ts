import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { realWorld } from "../../service/time-and-chance.ts";
import { namelessFile } from "../../store/mail/spool.ts";
import { reasonOf, UsageError } from "../failure.ts";

/** An export that can be read several times from its beginning. */
export interface ImportSource {
  lines: () => AsyncGenerator<string>;
  close: () => Promise<void>;
}

/** Opens a file, or stdin for `-`. Throws if the file cannot be read, before anything is imported. */
export async function openImport(path: string): Promise<ImportSource> {
  if (path === "-") return stdinKept();
  await refuseUnreadable(path, "import");
  return { lines: () => linesOf(path), close: async () => undefined };
}

/** Throws if a file cannot be read. `doing` begins the message. */
export async function refuseUnreadable(path: string, doing: "import" | "export"): Promise<void> {
  const file = await open(path, "r").catch((error: unknown) => {
    throw new Error(`Cannot ${doing}: ${path}: ${reasonOf(error)}`);
  });
  try {
    if ((await file.stat()).isDirectory()) throw new Error(`Cannot ${doing}: ${path}: it is a directory`);
  } finally {
    await file.close();
  }
}

/** Copies stdin into an unnamed temporary file, because an import reads its source three times and stdin can be read once. */
async function stdinKept(): Promise<ImportSource> {
  if (process.stdin.isTTY)
    throw new UsageError("Cannot import from a terminal: pipe an export into it, or name a file");
  const kept = join(tmpdir(), `.inboxd-import-${realWorld.randomBytes(16).toHex()}`);
  const { file } = await namelessFile(kept, async (write) => {
    for await (const piece of Bun.stdin.stream()) await write(piece);
  }).catch((error: unknown) => {
    throw new Error(
      `Cannot import: cannot store stdin in ${tmpdir()}: ${reasonOf(error)}; set TMPDIR to another directory`,
    );
  });
  return { lines: () => linesOf(`/dev/fd/${file.fd}`), close: () => file.close() };
}

/** The lines of a file of any size. */
export function linesOf(path: string): AsyncGenerator<string> {
  return linesIn(Bun.file(path).stream());
}

/**
 * The lines of a stream. The pieces of a line are joined once, at its end. Splits only at line feeds: JSON escapes them, but may contain
 * characters that other readers take for a line end (U+2028).
 */
export async function* linesIn(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let begun: string[] = [];
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const [end = "", ...lines] = chunk.split("\n");
    begun.push(end);
    const beginning = lines.pop();
    if (beginning === undefined) continue;
    yield begun.join("");
    yield* lines;
    begun = [beginning];
  }
  const last = begun.join("");
  if (last !== "") yield last;
}
