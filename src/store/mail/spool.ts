import { type FileHandle, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** Writes out what a file gets, piece by piece. */
export type Fill = (write: (piece: Uint8Array) => Promise<void>) => Promise<unknown>;

/**
 * What `fill` writes, as the body of an answer: first whole in a file without a name, then sent from there. So memory
 * holds one piece however many read, a slow reader holds no connection of the database, the answer has its length,
 * which Bun gives to no stream, and what goes wrong is found out before the first byte goes out.
 */
export async function spooled(path: string, fill: Fill): Promise<Blob> {
  const { file, sizeBytes } = await namelessFile(path, fill);
  // The server opens the body in the turn in which it gets it, so ours may be closed in the next.
  setTimeout(() => void file.close().catch(() => undefined));
  return bodyOf(file, 0, sizeBytes);
}

/** Where to make one. */
export function spoolPath(directory: string, randomBytes: (length: number) => Uint8Array): string {
  return join(directory, `${prefix}${randomBytes(16).toHex()}`);
}

const prefix = ".answer-";

/** Removes what a process left that died between making a file and taking its name away. */
export async function removeLeftovers(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  const left = names.filter((name) => name.startsWith(prefix));
  await Promise.all(left.map((name) => rm(join(directory, name), { force: true })));
}

/** A file with what `fill` writes. Without a name it goes when the last who has it open closes it, whatever dies when. */
export async function namelessFile(path: string, fill: Fill): Promise<{ file: FileHandle; sizeBytes: number }> {
  const file = await open(path, "wx+", 0o600);
  let sizeBytes = 0;
  try {
    await rm(path, { force: true });
    await fill(async (piece) => {
      try {
        await file.writeFile(piece);
      } catch (error) {
        // The database may be on the same disk: it gets the room back before whoever fills lets go of it.
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

/** Of a slice the server leaves the range of the request alone: what is in it is what is asked for. */
export function bodyOf(file: FileHandle, start: number, end: number): Blob {
  return Bun.file(`/dev/fd/${file.fd}`).slice(start, end);
}
