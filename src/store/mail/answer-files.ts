import { fstatSync, readdirSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { bodyOf, type Fill, namelessFile, removeLeftovers, spoolPath } from "./spool.ts";

/**
 * The files from which large answers are sent. Requests for the same content share a file. A slow client may keep a file for long, so the
 * number of files, their bytes, and the time of an answer are limited.
 */
export interface AnswerFiles {
  /** Returns the bytes `start` to `end` of the content with this name. Undefined if it needs another file, and there is no room for one. */
  body(wanted: WantedBytes, fill: Fill): Promise<Blob | undefined>;
  close(): Promise<void>;
}

export interface WantedBytes {
  name: string;
  /** The size of the whole content. */
  sizeBytes: number;
  start: number;
  end: number;
}

export interface AnswerFilesOptions {
  directory: string;
  randomBytes: (length: number) => Uint8Array;
  limits?: Partial<AnswerLimits>;
}

export interface AnswerLimits {
  mostFiles: number;
  mostBytes: number;
  /** An answer may take `answerMs`, plus the size of the whole content divided by `bytesPerMs`. */
  answerMs: number;
  bytesPerMs: number;
  /** The interval at which files that no answer is sent from are found and dropped. */
  lookMs: number;
}

const usualLimits: AnswerLimits = {
  mostFiles: 64,
  mostBytes: 1 << 30,
  answerMs: 5 * 60_000,
  bytesPerMs: 64,
  lookMs: 1_000,
};

interface SharedFile {
  sizeBytes: number;
  filled: Promise<FileHandle>;
  /** The file, once it is filled. */
  file: FileHandle | undefined;
  /** The time after which new requests get another file, so that each answer has the full time before `endsMs`. */
  takesReadersUntilMs: number;
  endsMs: number;
  /** The time of the last request. The file is not dropped for `lookMs` after it, because the server may not have opened the file yet. */
  askedMs: number;
}

/** Makes answer files in a directory, after removing the files that an earlier process left there. */
export async function answerFiles({ directory, randomBytes, limits }: AnswerFilesOptions): Promise<AnswerFiles> {
  const { mostFiles, mostBytes, answerMs, bytesPerMs, lookMs } = { ...usualLimits, ...limits };
  const files = new Set<SharedFile>();
  const newest = new Map<string, SharedFile>();
  let looking: ReturnType<typeof setInterval> | undefined;
  await removeLeftovers(directory);

  function shared({ name, sizeBytes }: WantedBytes, fill: Fill): SharedFile | undefined {
    const nowMs = performance.now();
    const known = newest.get(name);
    if (known !== undefined && nowMs < known.takesReadersUntilMs) return known;
    if (!hasRoomFor(sizeBytes)) look();
    if (!hasRoomFor(sizeBytes)) return undefined;
    const longestMs = answerMs + sizeBytes / bytesPerMs;
    const made: SharedFile = {
      sizeBytes,
      filled: fileWith(fill),
      file: undefined,
      takesReadersUntilMs: nowMs + longestMs,
      endsMs: nowMs + 2 * longestMs,
      askedMs: nowMs,
    };
    made.filled.then(
      (file) => {
        made.file = file;
      },
      () => forget(made),
    );
    files.add(made);
    newest.set(name, made);
    looking ??= setInterval(look, lookMs);
    return made;
  }

  async function fileWith(fill: Fill): Promise<FileHandle> {
    const { file } = await namelessFile(spoolPath(directory, randomBytes), fill);
    return file;
  }

  function hasRoomFor(sizeBytes: number): boolean {
    let used = 0;
    for (const file of files) used += file.sizeBytes;
    return files.size < mostFiles && (files.size === 0 || used + sizeBytes <= mostBytes);
  }

  /**
   * Drops the files that no answer is sent from. No event reports the end of an answer, but the server has the file open while it sends,
   * so the file is then open more than once.
   */
  function look(): void {
    const nowMs = performance.now();
    const opened = openFiles();
    for (const each of files) {
      if (each.file === undefined) continue;
      const isRead = nowMs - each.askedMs < lookMs || (opened.get(identity(each.file.fd) ?? "") ?? 0) > 1;
      if (!isRead || nowMs >= each.endsMs) forget(each);
    }
  }

  /** Drops a file. It is truncated, which frees the disk and ends answers that have taken too long. */
  function forget(each: SharedFile): void {
    files.delete(each);
    for (const [name, file] of newest) if (file === each) newest.delete(name);
    each.file
      ?.truncate(0)
      .finally(() => each.file?.close())
      .catch(() => undefined);
    if (files.size > 0) return;
    clearInterval(looking);
    looking = undefined;
  }

  return {
    async body(wanted, fill) {
      const each = shared(wanted, fill);
      if (each === undefined) return undefined;
      const file = await each.filled;
      each.askedMs = performance.now();
      return bodyOf(file, wanted.start, wanted.end);
    },
    async close() {
      for (const each of files) forget(each);
    },
  };
}

/** Counts how many times this process has each file open, by device and inode. */
function openFiles(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of readdirSync("/dev/fd")) {
    const file = identity(Number(name));
    if (file !== undefined) counts.set(file, (counts.get(file) ?? 0) + 1);
  }
  return counts;
}

/** The device and inode of an open file; undefined if the file was closed meanwhile. */
function identity(fd: number): string | undefined {
  try {
    const { dev, ino } = fstatSync(fd);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
