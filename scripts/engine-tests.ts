import { readFileSync } from "node:fs";
import { join } from "node:path";
import { importsOf } from "./imports.ts";
import { filesIn, house } from "./sources.ts";

/** Fixtures whose tests run once: they test pages and documents, which are the same on both engines, and take a fifth of the time. */
const once = ["tests/support/browser.ts", "tests/support/foreign-tools.ts"].map((path) => join(house, path));

/** Every test file, by its path from the root of the repository. */
export function allTests(): string[] {
  return filesIn("tests").filter((path) => path.endsWith(".test.ts"));
}

/**
 * The test files that run on both engines. A test learns its engine from TEST_DATABASE_URL alone, so a file that neither reads it nor
 * imports a module that does would only repeat itself. Tests with the fixtures of `once` do not run on both either.
 */
export function engineTests(): string[] {
  return allTests().filter((path) => {
    const imports = importsOf(join(house, path));
    return !once.some((fixture) => imports.has(fixture)) && [...imports].some(readsEngine);
  });
}

/** Whether a source file names the variable that chooses the engine. */
export function readsEngine(path: string): boolean {
  const before = known.get(path);
  if (before !== undefined) return before;
  const reads = readFileSync(path, "utf8").includes("TEST_DATABASE_URL");
  known.set(path, reads);
  return reads;
}

const known = new Map<string, boolean>();
