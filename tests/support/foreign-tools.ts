import { copyFileSync, existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Foreign programs that read our document. Their two hundred packages have a folder and a lock file of their own, since the service and the other tests do not need them. */
const folder = join(import.meta.dir, "../foreign-tools");

export interface Ended {
  code: number;
  said: string;
}

/** Whether they are installed; in CI it is an error if they are not. */
export function haveForeignTools(): boolean {
  const areThere = existsSync(join(folder, "node_modules/.bin/redocly"));
  if (!areThere && process.env.CI) throw new Error(`Cannot find the packages of tests/foreign-tools: ${howToInstall}`);
  return areThere;
}

export const howToInstall = "bun install --frozen-lockfile --cwd tests/foreign-tools installs them";

/** A linter's output for the document. Any finding gives a code other than 0. */
export async function lintWith(linter: "redocly" | "spectral", document: unknown): Promise<Ended> {
  await using place = await temporary({ "openapi.json": JSON.stringify(document) });
  const { name, words } = linters[linter];
  const ended = await run([process.execPath, join(folder, "node_modules/.bin", name), ...words(place.path)]);
  if (linter === "spectral") return ended;
  // By default its warnings do not fail.
  return { code: ended.code || (/0 errors, 0 warnings/.test(totalsOf(ended.said)) ? 0 : 1), said: ended.said };
}

const linters = {
  redocly: {
    name: "redocly",
    words: (path: string) => [
      "lint",
      join(path, "openapi.json"),
      "--config",
      join(folder, "redocly.yaml"),
      "--format",
      "json",
    ],
  },
  spectral: {
    name: "spectral",
    words: (path: string) => [
      "lint",
      join(path, "openapi.json"),
      "--ruleset",
      join(folder, "spectral.yaml"),
      "--format",
      "text",
      "--fail-severity",
      "hint",
    ],
  },
};

function totalsOf(said: string): string {
  const [, errors = "?", warnings = "?"] = /"errors": (\d+),\s*"warnings": (\d+)/.exec(said) ?? [];
  return `${errors} errors, ${warnings} warnings`;
}

/** A compiled program of the tools' folder, with a client generated from the document. */
export async function generatedClient(document: unknown, program: string) {
  const place = await temporary({ "openapi.json": JSON.stringify(document) });
  for (const name of ["tsconfig.json", "package.json", program]) {
    copyFileSync(join(folder, name), join(place.path, name));
  }
  symlinkSync(join(folder, "node_modules"), join(place.path, "node_modules"));
  const tool = (name: string) => join(folder, "node_modules/.bin", name);
  const generated = await run(
    [process.execPath, tool("openapi-typescript"), "openapi.json", "-o", "api.ts"],
    place.path,
  );
  if (generated.code !== 0) throw new Error(`Cannot generate a client: ${generated.said}`);
  return {
    compiled: await run([process.execPath, tool("tsc"), "-p", "tsconfig.json"], place.path),
    load: () => import(join(place.path, program)),
    [Symbol.asyncDispose]: place[Symbol.asyncDispose],
  };
}

async function temporary(files: Record<string, string>) {
  const path = mkdtempSync(join(tmpdir(), "ibx-foreign-"));
  for (const [name, text] of Object.entries(files)) await Bun.write(join(path, name), text);
  return { path, [Symbol.asyncDispose]: async () => rmSync(path, { recursive: true }) };
}

async function run(command: readonly string[], cwd = folder): Promise<Ended> {
  const { PATH, HOME } = process.env;
  const child = Bun.spawn([...command], {
    cwd,
    // Both must send no telemetry and look for no newer version.
    env: { PATH, HOME, NO_COLOR: "1", REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, faults, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, said: `${out}${faults}` };
}
