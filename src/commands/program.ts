import { isCompiled } from "../primitives/compiled.ts";

/** The words that start this program: the binary, or Bun and the script when it runs from source. */
export function runningProgram(): string[] {
  return isCompiled ? [process.execPath] : [process.execPath, Bun.main];
}
