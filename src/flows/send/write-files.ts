import { notFound, Refusal } from "../../domain/errors.ts";
import { chunkBytes, chunkOf } from "../../store/mail/sources.ts";
import { insertPiece, insertUpload, type NewUpload, type Room, removeUpload } from "../../store/mail/uploads.ts";
import type { Deps } from "../deps.ts";
import { sizeGate } from "../size-gate.ts";

export interface UploadLimits {
  /** The most bytes of one mail, and so of one file. */
  sendMaxBytes: number;
  /** The most bytes of all files of an account that are in no mail yet, including those that are still coming. */
  uploadsMaxBytes: number;
  uploadTtlMs: number;
}

/** Counts the files that clients send. */
export interface FileObserver {
  came?(sizeBytes: number): void;
}

export interface UploadDeps extends Deps {
  uploads: UploadLimits & FileObserver;
}

/** Files that are being received. They have a row, which is written before the first byte, and a source for the bytes. */
export interface ComingFiles {
  id: string;
  sourceId: string;
  createdAt: Date;
  /** Releases the files. They are removed unless a mail has a share of them. */
  remove(): Promise<void>;
}

/** How long after their start unfinished files are removed. */
const unfinishedMs = 3_600_000;

/**
 * Reserves room for files of at most `sizeBytes`, or refuses if the account has no room. `among`: whether all files of the account count,
 * or only those that are still coming.
 */
export async function openFiles(
  deps: UploadDeps,
  accountId: string,
  file: Pick<NewUpload, "filename" | "contentType" | "sizeBytes"> & { madeBy?: string },
  among: Room["among"] = "all",
): Promise<ComingFiles> {
  const createdAt = deps.now();
  const [id, sourceId] = [deps.newId("upl", createdAt), deps.newId("src", createdAt)];
  const expiresAt = new Date(createdAt.getTime() + unfinishedMs);
  const full = await insertUpload(
    deps.db.api,
    { madeBy: "", ...file, id, accountId, sourceId, createdAt, expiresAt },
    { mostBytes: deps.uploads.uploadsMaxBytes, among },
  );
  if (full !== undefined) throw uploadLimit(deps, full.freeAt);
  return {
    id,
    sourceId,
    createdAt,
    // An error does no harm, because files that are not removed here expire and are pruned.
    remove: () =>
      removeUpload(deps.db.api, id).catch((err) => deps.log.warn({ err, upload_id: id }, "files not removed")),
  };
}

function uploadLimit({ uploads, now }: UploadDeps, freeAt: Date): Refusal {
  const limit = uploads.uploadsMaxBytes;
  return new Refusal("upload_limit", `Cannot take file: uploads of the account may have ${limit} bytes in all`, {
    extra: { limit },
    retryAfterSeconds: (freeAt.getTime() - now().getTime()) / 1000,
    headers: { connection: "close" },
  });
}

/** Passes on the bytes of a file, and counts each piece. */
export async function* observed(bytes: AsyncIterable<Uint8Array>, { came }: FileObserver): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    came?.(piece.length);
    yield piece;
  }
}

/**
 * Limits writing to two pieces at a time, because such a piece is in memory several times: as it came, compressed, and in its statement.
 */
const writing = sizeGate(2);

/** The number of files that are coming, and the bytes that were written since the last garbage collection. */
const coming = { files: 0, uncollectedBytes: 0 };

/**
 * Runs the garbage collector every 6 MiB if at least three files are coming. The copies of a piece are bytes outside the JavaScript heap,
 * which the collector notices too late: eight files of 10 MB at once took 118 MiB and kept 80 of them. With this function they take 60 and
 * keep none.
 */
function collectAfter(writtenBytes: number): void {
  coming.uncollectedBytes += writtenBytes;
  if (coming.files < 3 || coming.uncollectedBytes < uncollectedMost) return;
  coming.uncollectedBytes = 0;
  Bun.gc(true);
}

const uncollectedMost = 6 << 20;

export interface WrittenFile {
  sizeBytes: number;
  /** SHA-256 in hex. */
  digest: string;
}

/** Writes a file as one part of the source, with one statement for each piece. Reads more input only when the previous piece is on disk. */
export async function writeFile(...given: Parameters<typeof writePieces>): Promise<WrittenFile> {
  coming.files += 1;
  try {
    return await writePieces(...given);
  } finally {
    coming.files -= 1;
  }
}

async function writePieces(
  { db }: Pick<Deps, "db">,
  { id, sourceId }: Pick<ComingFiles, "id" | "sourceId">,
  part: number,
  bytes: AsyncIterable<Uint8Array>,
): Promise<WrittenFile> {
  const hash = new Bun.CryptoHasher("sha256");
  const piece = new Uint8Array(chunkBytes);
  let filled = 0;
  let sizeBytes = 0;
  let seq = 0;
  const flush = async () => {
    const isWritten = await writing(1, async () =>
      insertPiece(db.api, id, sourceId, await chunkOf(part, seq, piece.subarray(0, filled))),
    );
    if (!isWritten) throw notFound("upload");
    seq += 1;
    collectAfter(filled);
    filled = 0;
  };
  for await (const came of bytes) {
    hash.update(came);
    sizeBytes += came.length;
    for (let at = 0; at < came.length; ) {
      const taken = came.subarray(at, at + chunkBytes - filled);
      piece.set(taken, filled);
      filled += taken.length;
      at += taken.length;
      if (filled === chunkBytes) await flush();
    }
  }
  // An empty file gets one piece too, because the first piece of a source stores how many mails share the source.
  if (filled > 0 || seq === 0) await flush();
  return { sizeBytes, digest: hash.digest("hex") };
}
