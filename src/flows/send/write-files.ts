import { notFound, Refusal } from "../../domain/errors.ts";
import { chunkBytes, chunkOf } from "../../store/mail/sources.ts";
import { insertPiece, insertUpload, type NewUpload, type Room, removeUpload } from "../../store/mail/uploads.ts";
import type { Deps } from "../deps.ts";
import { sizeGate } from "../size-gate.ts";

export interface UploadLimits {
  /** Of one mail, and so of one file. */
  sendMaxBytes: number;
  /** Of all files of an account that no mail has yet, those counted that are still coming. */
  uploadsMaxBytes: number;
  uploadTtlMs: number;
}

/** Told of the files that clients send. */
export interface FileObserver {
  came?(sizeBytes: number): void;
}

export interface UploadDeps extends Deps {
  uploads: UploadLimits & FileObserver;
}

/** Where files are written while they come: a row that stands before their first byte, and a source. */
export interface ComingFiles {
  id: string;
  sourceId: string;
  createdAt: Date;
  /** Lets go of what was written. It goes, unless a mail has taken a share of it. */
  remove(): Promise<void>;
}

/** What nobody finishes is swept away after so long. */
const unfinishedMs = 3_600_000;

/** Takes the room for files of at most so many bytes in all, `among` all of the account or those alone that are still coming. */
export async function openFiles(
  deps: UploadDeps,
  accountId: string,
  file: Pick<NewUpload, "filename" | "contentType" | "sizeBytes">,
  among: Room["among"] = "all",
): Promise<ComingFiles> {
  const createdAt = deps.now();
  const [id, sourceId] = [deps.newId("upl", createdAt), deps.newId("src", createdAt)];
  const expiresAt = new Date(createdAt.getTime() + unfinishedMs);
  const full = await insertUpload(
    deps.db.api,
    { ...file, id, accountId, sourceId, createdAt, expiresAt },
    { mostBytes: deps.uploads.uploadsMaxBytes, among },
  );
  if (full !== undefined) throw uploadLimit(deps, full.freeAt);
  return {
    id,
    sourceId,
    createdAt,
    // Whatever is in the way of that: what stays is swept.
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

/** The bytes of a file as its client sends them; each piece is told of when the one before it is written. */
export async function* observed(bytes: AsyncIterable<Uint8Array>, { came }: FileObserver): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    came?.(piece.length);
    yield piece;
  }
}

/**
 * On its way to the disk a piece is there several times over, compressed and as the words of its statement: of however many files that
 * come at once few have such a piece, and the others wait with the one that they fill.
 */
const writing = sizeGate(2);

/** Files that are coming, and how many of their bytes were written since the collector last ran. */
const coming = { files: 0, uncollectedBytes: 0 };

/**
 * The copies of a piece are no objects but bytes, of which the collector learns too late: eight files of 10 MB at once took 118 MiB, and
 * kept 80 of them. With a collection each 6 MiB they take 60 and keep none. One or two files at once need none.
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

/**
 * Writes a file as one part of the source, piece by piece as it comes, each in a statement of its own: one piece of it lies in memory,
 * and nothing more is asked of who sends it before the last piece is on disk.
 */
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
  // A file without a byte has one piece too, which holds the share.
  if (filled > 0 || seq === 0) await flush();
  return { sizeBytes, digest: hash.digest("hex") };
}
