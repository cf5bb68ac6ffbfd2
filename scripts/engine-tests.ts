import { readFileSync } from "node:fs";
import { join } from "node:path";
import { importsOf } from "./imports.ts";
import { filesIn, house } from "./sources.ts";

const browser = join(house, "tests/support/browser.ts");

/** Every test file, by its path from the root of the repository. */
export function allTests(): string[] {
  return filesIn("tests").filter((path) => path.endsWith(".test.ts"));
}

/**
 * The test files that run on both engines. A test learns its engine from TEST_DATABASE_URL alone, so a file that neither reads it nor
 * imports a module that does would only repeat itself. Tests that drive a browser also run once: they test pages, which are the same
 * on both engines, and take a sixth of the time.
 */
export function engineTests(): string[] {
  return allTests().filter((path) => {
    const imports = importsOf(join(house, path));
    return !imports.has(browser) && [...imports].some(readsEngine);
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
