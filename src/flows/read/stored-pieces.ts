import type { Db } from "../../database/db.ts";
import { notFound } from "../../domain/errors.ts";
import type { ByteRange } from "../../standards/byte-range.ts";
import { chunkBytes, findChunk } from "../../store/mail/sources.ts";

/** The bytes in a range of one part of a source, which is the raw mail or an attachment. One chunk at a time is in memory. */
export async function* storedPieces(
  db: Db,
  { sourceId, part }: { sourceId: string; part: number },
  { first, last }: ByteRange,
): AsyncGenerator<Uint8Array> {
  for (let seq = Math.floor(first / chunkBytes); seq * chunkBytes <= last; seq++) {
    const piece = await findChunk(db, sourceId, part, seq);
    // The chunk is missing, because the inbox was deleted meanwhile.
    if (piece === undefined) throw notFound("attachment");
    const start = seq * chunkBytes;
    yield piece.subarray(Math.max(0, first - start), last + 1 - start);
  }
}
