import { join } from "node:path";
import type { ByteRange } from "../domain/byte-range.ts";
import { notFound } from "../domain/errors.ts";
import type { Db } from "../store/db.ts";
import { chunkBytes, findChunk } from "../store/sources.ts";
import { spooled } from "../store/spool.ts";

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

/** Stored bytes as the body of an answer: in memory where they are few, by way of a file where they are more. */
export async function storedBytes(deps: SpoolDeps, db: Db, part: StoredPart, range: ByteRange): Promise<BodyInit> {
  const sizeBytes = range.last - range.first + 1;
  return sizeBytes <= chunkBytes ? inMemory(db, part, range, sizeBytes) : inFile(deps, db, part, range);
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

function inFile({ randomBytes, spoolDir }: SpoolDeps, db: Db, part: StoredPart, range: ByteRange): Promise<Blob> {
  return spooled(join(spoolDir, `.answer-${randomBytes(16).toHex()}`), async (write) => {
    for await (const piece of piecesOf(db, part, range)) await write(piece);
  });
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
