import { type FileHandle, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** Writes the content of a file piece by piece. */
export type Fill = (write: (piece: Uint8Array) => Promise<void>) => Promise<unknown>;

/**
 * The output of `fill` as the body of an answer. It is first written to a nameless file, and sent from there. So only one piece is in
 * memory at a time, a slow reader does not occupy a database connection, the answer has a length, which Bun does not give to a stream, and
 * an error is found before the first byte is sent.
 */
export async function spooled(path: string, fill: Fill): Promise<Blob> {
  const { file, sizeBytes } = await namelessFile(path, fill);
  // The server opens the file again in the same turn of the event loop, so our handle may be closed in the next.
  setTimeout(() => void file.close().catch(() => undefined));
  return bodyOf(file, 0, sizeBytes);
}

/** The path for a new file. */
export function spoolPath(directory: string, randomBytes: (length: number) => Uint8Array): string {
  return join(directory, `${prefix}${randomBytes(16).toHex()}`);
}

const prefix = ".answer-";

/** Removes files of a process that died between creating a file and unlinking it. */
export async function removeLeftovers(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  const left = names.filter((name) => name.startsWith(prefix));
  await Promise.all(left.map((name) => rm(join(directory, name), { force: true })));
}

/** A nameless file with the output of `fill`. It is gone when the last process that has it open closes it or dies. */
export async function namelessFile(path: string, fill: Fill): Promise<{ file: FileHandle; sizeBytes: number }> {
  const file = await open(path, "wx+", 0o600);
  let sizeBytes = 0;
  try {
    await rm(path, { force: true });
    await fill(async (piece) => {
      try {
        await file.writeFile(piece);
      } catch (error) {
        // The database may be on the same disk: the space is freed before `fill` ends.
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

/** A slice, because the server does not apply the Range of the request to a slice again. */
export function bodyOf(file: FileHandle, start: number, end: number): Blob {
  return Bun.file(`/dev/fd/${file.fd}`).slice(start, end);
}
