import { join } from "node:path";

const house = join(import.meta.dir, "..");

/** Makes one file of the service that needs nothing else, source maps beside it; ends this process where that fails. */
export function compile(binary: string): void {
  const compiler = Bun.spawnSync(
    [
      ...[process.execPath, "build", "--compile", "--sourcemap", "--outfile", binary],
      // Parsing the sources at each start would take a fifth of a second.
      ...["--bytecode", "--format=esm"],
      // Else each command would load what only the service needs.
      "--splitting",
      // Else the binary would obey a stray bunfig.toml or .env in its working directory.
      ...["--no-compile-autoload-bunfig", "--no-compile-autoload-dotenv"],
      // Never --minify: Elysia reads the source of its handlers.
      "src/binary.ts",
    ],
    { cwd: house, stdin: "ignore", stdout: "inherit", stderr: "inherit" },
  );
  if (compiler.exitCode !== 0) process.exit(1);
}
