/** Whether this is the compiled binary, whose files are in a file system of Bun's own; the second path is that of Windows. */
export const isCompiled = Bun.main.startsWith("/$bunfs/") || Bun.main.startsWith("B:/~BUN/");
