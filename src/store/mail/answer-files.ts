import { fstatSync, readdirSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { bodyOf, type Fill, namelessFile, removeLeftovers, spoolPath } from "./spool.ts";

/**
 * Files that large answers are sent from, one for all who read the same. Readers may be as slow as they like for a while, so
 * there is a bound on the files, on their bytes, and on the time of an answer.
 */
export interface AnswerFiles {
  /** Bytes `start` to `end` of what is known by this name; undefined where there is no room for another file now. */
  body(wanted: WantedBytes, fill: Fill): Promise<Blob | undefined>;
  close(): Promise<void>;
}

export interface WantedBytes {
  name: string;
  /** Of all of it. */
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
  /** An answer may take so long, and what its size takes at this rate. */
  answerMs: number;
  bytesPerMs: number;
  /** How often to look which files are read no more. */
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
  /** Once it is filled. */
  file: FileHandle | undefined;
  /** Who comes later gets another file, so that nobody's time is cut short. */
  takesReadersUntilMs: number;
  endsMs: number;
  /** When somebody asked for it last: the server has it open by the next look. */
  askedMs: number;
}

/** Begins by removing what is left of the last process. */
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

  /** Nobody says when an answer has ended, but who reads a file has it open. */
  function look(): void {
    const nowMs = performance.now();
    const opened = openFiles();
    for (const each of files) {
      if (each.file === undefined) continue;
      const isRead = nowMs - each.askedMs < lookMs || (opened.get(identity(each.file.fd) ?? "") ?? 0) > 1;
      if (!isRead || nowMs >= each.endsMs) forget(each);
    }
  }

  /** Readers who are left have had their time: what they read ends here. */
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

/** How often this process has each of its files open. */
function openFiles(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of readdirSync("/dev/fd")) {
    const file = identity(Number(name));
    if (file !== undefined) counts.set(file, (counts.get(file) ?? 0) + 1);
  }
  return counts;
}

/** Undefined of what was closed meanwhile. */
function identity(fd: number): string | undefined {
  try {
    const { dev, ino } = fstatSync(fd);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
