import type { Db } from "../../../database/db.ts";
import { Refusal } from "../../../domain/errors.ts";
import { type SourcePart, storedPieces } from "../../../flows/read/stored-pieces.ts";
import type { ByteRange } from "../../../standards/byte-range.ts";
import type { AnswerFiles, WantedBytes } from "../../../store/mail/answer-files.ts";
import { chunkBytes } from "../../../store/mail/sources.ts";
import type { Fill } from "../../../store/mail/spool.ts";

export interface StoredBytesDeps {
  /** Temporary files in which large answers are assembled. */
  answerFiles: AnswerFiles;
}

export interface StoredPart extends SourcePart {
  sizeBytes: number;
}

/** Makes the body of an answer from stored bytes: in memory if they fit into one chunk, otherwise in a file. */
export async function storedBytes(
  { answerFiles }: StoredBytesDeps,
  db: Db,
  part: StoredPart,
  range: ByteRange,
): Promise<BodyInit> {
  const sizeBytes = range.last - range.first + 1;
  return sizeBytes <= chunkBytes ? inMemory(db, part, range, sizeBytes) : inFile(answerFiles, db, part, range);
}

async function inMemory(db: Db, part: StoredPart, range: ByteRange, sizeBytes: number): Promise<BodyInit> {
  const bytes = new Uint8Array(sizeBytes);
  let at = 0;
  for await (const piece of storedPieces(db, part, range)) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** Makes the body from a file. The file holds the whole part, so that requests for other ranges of the part can use it too. */
async function inFile(answerFiles: AnswerFiles, db: Db, part: StoredPart, { first, last }: ByteRange): Promise<Blob> {
  const { sourceId, sizeBytes } = part;
  const wanted = { name: `${sourceId}/${part.part}`, sizeBytes, start: first, end: last + 1 };
  return answerFrom(answerFiles, wanted, async (write) => {
    for await (const piece of storedPieces(db, part, { first: 0, last: sizeBytes - 1 })) await write(piece);
  });
}

/** Makes the body of an answer from a file, which `fill` writes if it does not exist. */
export async function answerFrom(answerFiles: AnswerFiles, wanted: WantedBytes, fill: Fill): Promise<Blob> {
  const body = await answerFiles.body(wanted, fill);
  if (body !== undefined) return body;
  throw new Refusal("service_unavailable", "Cannot download: too many large downloads are under way", {
    retryAfterSeconds: 5,
  });
}

/**
 * A body for HEAD. Elysia answers HEAD by reading the body of GET and adding up its lengths; one chunk that only has a
 * length saves reading the real bytes.
 */
export function lengthAlone(sizeBytes: number): ReadableStream {
  return new ReadableStream<{ byteLength: number }>({
    start(controller) {
      controller.enqueue({ byteLength: sizeBytes });
      controller.close();
    },
  });
}

/**
 * Response headers for bytes that a stranger sent: they forbid type sniffing, scripts, caching by proxies, and sending
 * a referrer.
 */
export const untrustedHeaders = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox",
  "cache-control": "private, no-store",
  "referrer-policy": "no-referrer",
};
