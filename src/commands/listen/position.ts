import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** How far the log has been forwarded: the id of the last event, `null` for nothing yet. */
export interface Position {
  after: string | null;
}

/**
 * A file for each server, key, inbox and target, in the user's directory for state (XDG Base Directory): two listeners
 * don't share one, and none lands in a project's repository.
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
  if (after === undefined) throw new Error(`Cannot read the position: ${file} holds none; give --after`);
  return { after };
}

/** Written beside and moved over: a crash leaves the old position or the new one. */
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
