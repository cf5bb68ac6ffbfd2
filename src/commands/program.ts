/** The words that start this program: the binary, or Bun and the script when it runs from source. */
export function runningProgram(): string[] {
  const isCompiled = Bun.main.startsWith("/$bunfs/") || Bun.main.startsWith("B:/~BUN/");
  return isCompiled ? [process.execPath] : [process.execPath, Bun.main];
}
