import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** When an import is loaded: at the start of its file, or when the program reaches it. */
export type ImportTime = "at-start" | "later";

/** A source file of the repository and all that it imports, directly or not, by absolute path. Types do not count. */
export function importsOf(
  path: string,
  times: readonly ImportTime[] = ["at-start", "later"],
  found = new Set<string>(),
): ReadonlySet<string> {
  if (found.has(path)) return found;
  found.add(path);
  for (const { path: imported, time } of directImports(path)) {
    if (times.includes(time)) importsOf(imported, times, found);
  }
  return found;
}

interface DirectImport {
  path: string;
  time: ImportTime;
}

const transpilers = {
  ts: new Bun.Transpiler({ loader: "ts" }),
  tsx: new Bun.Transpiler({ loader: "tsx" }),
};
const known = new Map<string, readonly DirectImport[]>();

export function directImports(path: string): readonly DirectImport[] {
  const before = known.get(path);
  if (before !== undefined) return before;
  const program = readFileSync(path, "utf8").replace(/^#!.*/, "");
  const imports = transpilers[path.endsWith(".tsx") ? "tsx" : "ts"]
    .scanImports(program)
    .filter(({ path: imported }) => /^\..*\.tsx?$/.test(imported))
    .map(({ path: imported, kind }): DirectImport => {
      const time = kind === "import-statement" ? "at-start" : "later";
      return { path: join(dirname(path), imported), time };
    });
  known.set(path, imports);
  return imports;
}
