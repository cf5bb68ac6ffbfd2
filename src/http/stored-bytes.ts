import { open, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { ByteRange } from "../domain/byte-range.ts";
import { notFound } from "../domain/errors.ts";
import type { Db } from "../store/db.ts";
import { chunkBytes, findChunk } from "../store/sources.ts";

export interface SpoolDeps {
  randomBytes: (length: number) => Uint8Array;
  /** Where large answers are put together. */
  spoolDir: string;
}

/** One part of a source: the raw mail or an attachment. */
export interface StoredPart {
  sourceId: string;
  part: number;
}

/**
 * Stored bytes as the body of an answer, in memory where they are few. More are read piece by piece into a file without
 * a name and sent from there: then memory holds one piece however many read, a slow reader holds no connection of the
 * database, and the answer has its length, which Bun gives to no stream. What is missing is found out before the first byte goes out.
 */
export async function storedBytes(deps: SpoolDeps, db: Db, part: StoredPart, range: ByteRange): Promise<BodyInit> {
  const sizeBytes = range.last - range.first + 1;
  return sizeBytes <= chunkBytes ? inMemory(db, part, range, sizeBytes) : inFile(deps, db, part, range, sizeBytes);
}

async function inMemory(db: Db, part: StoredPart, range: ByteRange, sizeBytes: number): Promise<BodyInit> {
  const bytes = new Uint8Array(sizeBytes);
  let at = 0;
  for await (const piece of piecesOf(db, part, range)) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

async function inFile(
  { randomBytes, spoolDir }: SpoolDeps,
  db: Db,
  part: StoredPart,
  range: ByteRange,
  sizeBytes: number,
): Promise<BodyInit> {
  const path = join(spoolDir, `.answer-${randomBytes(16).toHex()}`);
  const file = await open(path, "wx+", 0o600);
  try {
    // Without a name it goes when the last reader closes it, whatever dies when.
    await unlink(path);
    for await (const piece of piecesOf(db, part, range)) await file.writeFile(piece);
    // The server opens the body in the turn in which it gets it, so ours may be closed in the next.
    setTimeout(() => void file.close().catch(() => undefined));
    // Of a slice the server leaves the range of the request alone: it is in the file already.
    return Bun.file(`/dev/fd/${file.fd}`).slice(0, sizeBytes);
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function* piecesOf(
  db: Db,
  { sourceId, part }: StoredPart,
  { first, last }: ByteRange,
): AsyncGenerator<Uint8Array> {
  for (let seq = Math.floor(first / chunkBytes); seq * chunkBytes <= last; seq++) {
    const piece = await findChunk(db, sourceId, part, seq);
    // Its inbox was deleted while it was read.
    if (piece === undefined) throw notFound("attachment");
    const start = seq * chunkBytes;
    yield piece.subarray(Math.max(0, first - start), last + 1 - start);
  }
}

/**
 * A body for HEAD. Elysia answers HEAD by reading the body of GET to its end and adding up what it reads; one piece that
 * says it is so long spares reading the real ones.
 */
export function lengthAlone(sizeBytes: number): ReadableStream {
  return new ReadableStream<{ byteLength: number }>({
    start(controller) {
      controller.enqueue({ byteLength: sizeBytes });
      controller.close();
    },
  });
}

/** Bytes of a stranger: not to be guessed at, run, kept by a proxy, or named to another site. */
export const untrustedHeaders = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox",
  "cache-control": "private, no-store",
  "referrer-policy": "no-referrer",
};
