import { accessSync, constants, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseUnavailable, diskFull } from "./unavailable.ts";

/** Thrown if the engine cannot start on its directory. `words` is the engine's own message. */
export class EngineNotStarted extends DatabaseUnavailable {
  readonly words: string;

  constructor(words: string) {
    super(`the embedded engine does not start: ${words}`, meansFullDisk(words) ? diskFull : undefined);
    this.name = "EngineNotStarted";
    this.words = words;
  }
}

function meansFullDisk(words: string): boolean {
  return /No space left|quota exceeded/i.test(words);
}

/** Describes the fault of the directory, and what the operator can do. */
export function cureOf(words: string, directory: string): string {
  if (meansFullDisk(words)) return `its disk is full (${words}); make room, then start again`;
  const closed = closedTo(directory);
  if (closed !== undefined || /Permission denied|Operation not permitted/i.test(words)) {
    const why = closed === undefined ? words : `no access to ${closed}`;
    return `this user can't read and write it (${why}); let the user that runs inboxd own it. Its data may be intact: do not restore a backup over it`;
  }
  return `it is damaged, or another program's (${words}); put a backup in its place, or set DATA_DIR to an empty directory`;
}

/** Finds a path in the directory that this process may not read and write. The engine's message often does not name it. */
function closedTo(directory: string): string | undefined {
  let looked = directory;
  try {
    accessSync(looked, constants.R_OK | constants.W_OK);
    for (const entry of readdirSync(directory, { withFileTypes: true, recursive: true })) {
      looked = join(entry.parentPath, entry.name);
      accessSync(looked, constants.R_OK | constants.W_OK);
    }
    return undefined;
  } catch (error) {
    if (!isSystemError(error) || !/^(EACCES|EPERM|EROFS)$/.test(error.code)) return undefined;
    return error.path ?? looked;
  }
}

function isSystemError(error: unknown): error is Error & { code: string; path?: string } {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}
