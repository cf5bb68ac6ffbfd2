import { type FileHandle, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** A function that writes the content of a file piece by piece, by calling `write`. */
export type Fill = (write: (piece: Uint8Array) => Promise<void>) => Promise<unknown>;

/**
 * Returns the output of `fill` as the body of an answer. It is written to a nameless file first, and sent from there. So only one piece is
 * in memory at a time, a slow client does not occupy a database connection, the answer has a length, which Bun does not give to a stream,
 * and an error is found before the first byte is sent.
 */
export async function spooled(path: string, fill: Fill): Promise<Blob> {
  const { file, sizeBytes } = await namelessFile(path, fill);
  // The server opens the file again in the same turn of the event loop, so our handle may be closed in the next.
  setTimeout(() => void file.close().catch(() => undefined));
  return bodyOf(file, 0, sizeBytes);
}

/** Makes a random path for a new file in a directory. */
export function spoolPath(directory: string, randomBytes: (length: number) => Uint8Array): string {
  return join(directory, `${prefix}${randomBytes(16).toHex()}`);
}

const prefix = ".answer-";

/** Removes the files in a directory that are left of a process that died before it could unlink them. */
export async function removeLeftovers(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  const left = names.filter((name) => name.startsWith(prefix));
  await Promise.all(left.map((name) => rm(join(directory, name), { force: true })));
}

/** Writes the output of `fill` to a file without a name. The kernel deletes it once nothing has it open any more. */
export async function namelessFile(path: string, fill: Fill): Promise<{ file: FileHandle; sizeBytes: number }> {
  const file = await open(path, "wx+", 0o600);
  let sizeBytes = 0;
  try {
    await rm(path, { force: true });
    await fill(async (piece) => {
      try {
        await file.writeFile(piece);
      } catch (error) {
        // Frees the space at once, and not when `fill` ends, because the database may be on the same disk.
        await file.truncate(0);
        throw error;
      }
      sizeBytes += piece.length;
    });
    return { file, sizeBytes };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The bytes `start` to `end` of a file as a body. A slice, because the server does not apply the request's Range to a slice again. */
export function bodyOf(file: FileHandle, start: number, end: number): Blob {
  return Bun.file(`/dev/fd/${file.fd}`).slice(start, end);
}
