import type { Db } from "../../../database/db.ts";
import { Refusal } from "../../../domain/errors.ts";
import { storedPieces } from "../../../flows/read/stored-pieces.ts";
import type { ByteRange } from "../../../standards/byte-range.ts";
import type { AnswerFiles, WantedBytes } from "../../../store/mail/answer-files.ts";
import { chunkBytes } from "../../../store/mail/sources.ts";
import type { Fill } from "../../../store/mail/spool.ts";

export interface StoredBytesDeps {
  /** Where large answers are put together. */
  answerFiles: AnswerFiles;
}

/** One part of a source: the raw mail or an attachment. */
export interface StoredPart {
  sourceId: string;
  part: number;
  sizeBytes: number;
}

/** Stored bytes as the body of an answer: in memory where they are few, by way of a file where they are more. */
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

/** The file has all of the part, for whoever asks next for another range of it. */
async function inFile(answerFiles: AnswerFiles, db: Db, part: StoredPart, { first, last }: ByteRange): Promise<Blob> {
  const { sourceId, sizeBytes } = part;
  const wanted = { name: `${sourceId}/${part.part}`, sizeBytes, start: first, end: last + 1 };
  return answerFrom(answerFiles, wanted, async (write) => {
    for await (const piece of storedPieces(db, part, { first: 0, last: sizeBytes - 1 })) await write(piece);
  });
}

/** From the file that has all of it. */
export async function answerFrom(answerFiles: AnswerFiles, wanted: WantedBytes, fill: Fill): Promise<Blob> {
  const body = await answerFiles.body(wanted, fill);
  if (body !== undefined) return body;
  throw new Refusal("service_unavailable", "Cannot download: too many large downloads are under way", {
    retryAfterSeconds: 5,
  });
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
