/** Makes `sdk/typescript/dist`, the published package: ES modules, and CommonJS in `cjs`, each with its types. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const house = join(import.meta.dir, "..");

export function buildSdk(to = join(house, "sdk/typescript/dist")): void {
  rmSync(to, { recursive: true, force: true });
  compile(to);
  // `verbatimModuleSyntax` forbids `import` in a file that becomes CommonJS.
  compile(join(to, "cjs"), "--module", "commonjs", "--verbatimModuleSyntax", "false");
  writeFileSync(join(to, "cjs/package.json"), '{"type":"commonjs"}\n');
}

function compile(to: string, ...options: string[]): void {
  const [tsc, project] = ["node_modules/.bin/tsc", "sdk/typescript"].map((path) => join(house, path)) as [
    string,
    string,
  ];
  const compiler = Bun.spawnSync([process.execPath, tsc, "-p", project, "--outDir", to, ...options], {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
  });
  if (compiler.exitCode !== 0) throw new Error(`Cannot build the SDK: tsc ended with ${compiler.exitCode}`);
}

if (import.meta.main) buildSdk();
