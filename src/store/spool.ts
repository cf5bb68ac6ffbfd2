import { open, unlink } from "node:fs/promises";

/**
 * What `fill` writes, as the body of an answer: first whole in a file without a name, then sent from there. So memory
 * holds one piece however many read, a slow reader holds no connection of the database, the answer has its length,
 * which Bun gives to no stream, and what goes wrong is found out before the first byte goes out.
 */
export async function spooled(
  path: string,
  fill: (write: (piece: Uint8Array) => Promise<void>) => Promise<unknown>,
): Promise<Blob> {
  const file = await open(path, "wx+", 0o600);
  let sizeBytes = 0;
  try {
    // Without a name it goes when the last reader closes it, whatever dies when.
    await unlink(path);
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
    // The server opens the body in the turn in which it gets it, so ours may be closed in the next.
    setTimeout(() => void file.close().catch(() => undefined));
    // Of a slice the server leaves the range of the request alone: what is in the file is what is asked for.
    return Bun.file(`/dev/fd/${file.fd}`).slice(0, sizeBytes);
  } catch (error) {
    await file.close();
    throw error;
  }
}
