import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** The position in the log: the id of the last forwarded event, or `null` for the start. */
export interface Position {
  after: string | null;
}

/**
 * One file for each server, key, inbox and target, in the user's directory for state (XDG Base Directory): two listeners
 * never share a file, and no file ends up in a project's repository.
 */
export function positionFile(env: Readonly<Record<string, string | undefined>>, listener: readonly string[]): string {
  const state = env.XDG_STATE_HOME || join(env.HOME || ".", ".local/state");
  const name = createHash("sha256").update(JSON.stringify(listener)).digest("hex").slice(0, 16);
  return join(state, "inboxd", `listen-${name}.json`);
}

export async function readPosition(file: string): Promise<Position | undefined> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new Error(`Cannot read the position: ${(error as Error).message}`);
  }
  const after = afterIn(text);
  if (after === undefined) throw new Error(`Cannot read the position: ${file} contains none; give --after`);
  return { after };
}

/** Writes a new file and renames it, so that a crash leaves either the old position or the new one. */
export async function writePosition(file: string, position: Position): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const beside = `${file}.${process.pid}`;
  await writeFile(beside, `${JSON.stringify(position)}\n`, { mode: 0o600 });
  await rename(beside, file);
}

function afterIn(text: string): string | null | undefined {
  try {
    const { after } = JSON.parse(text) as { after?: unknown };
    return typeof after === "string" || after === null ? after : undefined;
  } catch {
    return undefined;
  }
}
