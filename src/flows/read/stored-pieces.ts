import type { Db } from "../../database/db.ts";
import { notFound, type Resource } from "../../domain/errors.ts";
import type { ByteRange } from "../../standards/byte-range.ts";
import { chunkBytes, findChunk } from "../../store/mail/sources.ts";

/** A part of a source: the raw mail (0) or an attachment. */
export interface SourcePart {
  sourceId: string;
  part: number;
  /** The resource that is not found if its bytes are gone. By default a message or an attachment. */
  resource?: Resource;
}

/** The bytes in a range of one part of a source. One chunk at a time is in memory. */
export async function* storedPieces(
  db: Db,
  { sourceId, part, resource = part === 0 ? "message" : "attachment" }: SourcePart,
  { first, last }: ByteRange,
): AsyncGenerator<Uint8Array> {
  for (let seq = Math.floor(first / chunkBytes); seq * chunkBytes <= last; seq++) {
    const piece = await findChunk(db, sourceId, part, seq);
    // The chunk is missing, because the inbox was deleted meanwhile.
    if (piece === undefined) throw notFound(resource);
    const start = seq * chunkBytes;
    yield piece.subarray(Math.max(0, first - start), last + 1 - start);
  }
}

/** Loads a raw mail whole. Undefined if a chunk is missing, because the mail was deleted meanwhile. */
export async function storedMail(
  db: Db,
  { sourceId, sizeBytes }: { sourceId: string; sizeBytes: number },
): Promise<Uint8Array | undefined> {
  const raw = new Uint8Array(sizeBytes);
  for (let at = 0, seq = 0; at < sizeBytes; seq += 1) {
    const piece = await findChunk(db, sourceId, 0, seq);
    if (piece === undefined) return undefined;
    raw.set(piece, at);
    at += piece.length;
  }
  return raw;
}
