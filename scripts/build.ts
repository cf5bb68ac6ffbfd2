/** Makes `dist/inboxd`: the service, its database engine, migrations and docs viewer in one file that needs nothing else. */
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";

const house = join(import.meta.dir, "..");
const binary = join(house, "dist/inboxd");

rmSync(join(house, "dist"), { recursive: true, force: true });
const compiler = Bun.spawnSync(
  [
    ...[process.execPath, "build", "--compile", "--sourcemap", "--outfile", binary],
    // Parsing the sources at each start would take a fifth of a second.
    ...["--bytecode", "--format=esm"],
    // Else the binary would obey a stray bunfig.toml or .env in its working directory.
    ...["--no-compile-autoload-bunfig", "--no-compile-autoload-dotenv"],
    // Never --minify: Elysia reads the source of its handlers. The second entry is a Worker's.
    ...["src/main.ts", "src/mail/parse-worker.ts"],
  ],
  { cwd: house, stdin: "ignore", stdout: "inherit", stderr: "inherit" },
);
if (compiler.exitCode !== 0) process.exit(1);

// The binary carries its source maps; these are the same once more.
for (const map of new Bun.Glob("*.map").scanSync(join(house, "dist"))) rmSync(join(house, "dist", map));
console.log(`dist/inboxd: ${(statSync(binary).size / 1e6).toFixed(1)} MB`);
