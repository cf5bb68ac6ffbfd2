import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const root = join(import.meta.dir, "..");
const textAt = (path: string) => readFileSync(path, "utf8");
const textOf = (path: string) => textAt(join(root, path));

/** Every file of ours that may cite a rule. */
const sources = ["src", "sdk/typescript/src", "tests", "bench", "scripts"].flatMap((folder) =>
  [...new Bun.Glob("**/*.{ts,tsx}").scanSync(join(root, folder))].map((path) => join(folder, path)),
);

test("each rule of the contract that a comment cites is there", () => {
  const contract = textOf("docs/contract.md");
  const sections = new Set(Array.from(contract.matchAll(/^#+ §([\d.]+)/gm), ([, number]) => number));
  const points = Array.from(contract.matchAll(/^## §(\d+)|^(\d+)\. /gm)).reduce<{ section: string; all: string[] }>(
    ({ section, all }, [, begun, point]) => ({
      section: begun ?? section,
      all: point === undefined ? all : [...all, `${section}.${point}`],
    }),
    { section: "", all: [] },
  ).all;
  const known = new Set([...sections, ...points]);
  const cited = sources.flatMap((path) =>
    Array.from(textOf(path).matchAll(/contract §(\d+(?:\.\d+)?)/g), ([, number]) => `${path} §${number}`),
  );
  expect(cited.length).toBeGreaterThan(30);
  expect(cited.filter((citation) => !known.has(citation.split("§")[1] ?? ""))).toEqual([]);
});

test("each file that the pages of the house name is there", () => {
  const named = ["docs/house.md", "docs/outbox.md"].flatMap((page) =>
    Array.from(textOf(page).matchAll(/`((?:[a-z-]+\/)+[a-z-]+\.(?:ts|grit))`/g), ([, path = ""]) => path),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !existsSync(join(root, "src", path)) && !existsSync(join(root, path)))).toEqual([]);
});

test("a command loads what only the service needs when it runs, if it does", () => {
  const loaded = loadedWith(join(root, "src/main.ts"));
  const only = [
    "src/service/start.ts",
    "src/database/db.ts",
    "src/store/migrate.ts",
    "src/http/",
    "src/mail/read/",
    "src/mcp/",
  ];
  expect(loaded.has(join(root, "src/commands/send.ts"))).toBe(true);
  const needless = [...loaded]
    .map((path) => relative(root, path))
    .filter((path) => only.some((part) => path.startsWith(part)));
  expect(needless).toEqual([]);
});

/** A file of ours with all of ours that are read before it runs; what it imports later is not among them. */
function loadedWith(path: string, loaded = new Set<string>()): ReadonlySet<string> {
  if (loaded.has(path) || !path.endsWith(".ts")) return loaded;
  loaded.add(path);
  const program = textAt(path).replace(/^#!.*/, "");
  for (const { path: imported, kind } of new Bun.Transpiler({ loader: "ts" }).scanImports(program)) {
    if (kind === "import-statement" && imported.startsWith(".")) loadedWith(join(dirname(path), imported), loaded);
  }
  return loaded;
}
