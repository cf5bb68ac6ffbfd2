/** Makes `sdk/typescript/dist`, the published package: JavaScript modules with their types. */
import { rmSync } from "node:fs";
import { join } from "node:path";

const house = join(import.meta.dir, "..");

export function buildSdk(to = join(house, "sdk/typescript/dist")): void {
  rmSync(to, { recursive: true, force: true });
  const compiler = Bun.spawnSync(
    [process.execPath, join(house, "node_modules/.bin/tsc"), "-p", join(house, "sdk/typescript"), "--outDir", to],
    { stdin: "ignore", stdout: "inherit", stderr: "inherit" },
  );
  if (compiler.exitCode !== 0) throw new Error(`Cannot build the SDK: tsc ended with ${compiler.exitCode}`);
}

if (import.meta.main) buildSdk();
