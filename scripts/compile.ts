import { join } from "node:path";

const house = join(import.meta.dir, "..");

/** Compiles the service into one file, with source maps beside it; ends this process on failure. */
export function compile(binary: string): void {
  const compiler = Bun.spawnSync(
    [
      process.execPath,
      "build",
      "--compile",
      "--sourcemap",
      "--outfile",
      binary,
      // Without bytecode each start would parse the sources for 0.2 s.
      "--bytecode",
      "--format=esm",
      // Without it each command would load the whole service.
      "--splitting",
      // Without these the binary would obey a stray bunfig.toml or .env in its working directory.
      "--no-compile-autoload-bunfig",
      "--no-compile-autoload-dotenv",
      // Never --minify: Elysia reads the source of its handlers.
      "src/binary.ts",
    ],
    { cwd: house, stdin: "ignore", stdout: "inherit", stderr: "inherit" },
  );
  if (compiler.exitCode !== 0) process.exit(1);
}
