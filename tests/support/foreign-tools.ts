import { copyFileSync, existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Programs of others that read our document. They have a folder and a lock of their own: two hundred packages that nobody needs to run the service or its tests. */
const folder = join(import.meta.dir, "../foreign-tools");

export interface Ended {
  code: number;
  said: string;
}

/** Installed by hand or by CI, where it is a failure if they are not. */
export function haveForeignTools(): boolean {
  const areThere = existsSync(join(folder, "node_modules/.bin/redocly"));
  if (!areThere && process.env.CI) throw new Error(`Cannot find the packages of tests/foreign-tools: ${howToInstall}`);
  return areThere;
}

export const howToInstall = "bun install --frozen-lockfile --cwd tests/foreign-tools installs them";

/** What a linter says of the document. Every finding, however small, makes its code another than 0. */
export async function lintWith(linter: "redocly" | "spectral", document: unknown): Promise<Ended> {
  await using place = await temporary({ "openapi.json": JSON.stringify(document) });
  const { name, words } = linters[linter];
  const ended = await run([process.execPath, join(folder, "node_modules/.bin", name), ...words(place.path)]);
  if (linter === "spectral") return ended;
  // It takes warnings for no failure.
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
      ...["lint", join(path, "openapi.json"), "--ruleset", join(folder, "spectral.yaml")],
      ...["--format", "text", "--fail-severity", "hint"],
    ],
  },
};

function totalsOf(said: string): string {
  const [, errors = "?", warnings = "?"] = /"errors": (\d+),\s*"warnings": (\d+)/.exec(said) ?? [];
  return `${errors} errors, ${warnings} warnings`;
}

/** A program of the tools' folder with a client that is generated from the document beside it, compiled. */
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
    // Neither shall tell anybody that it ran, or ask whether there is a newer one.
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
