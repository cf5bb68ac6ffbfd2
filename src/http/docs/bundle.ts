import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Macros: run when this is compiled or loaded from source, and replaced by the text that they give. So the script of the page is
 * TypeScript under the same rules as all else, and the binary carries it without a bundler.
 */
export function bundledScript(entry: string): string {
  const file = fileURLToPath(new URL(entry, import.meta.url));
  const bundler = Bun.spawnSync([process.execPath, "build", "--target=browser", "--minify", file], {
    stderr: "inherit",
  });
  if (bundler.exitCode !== 0) throw new Error(`Cannot bundle ${entry}: the bundler ended with ${bundler.exitCode}`);
  return bundler.stdout.toString();
}

/** Not by the bundler: it takes `light-dark()` apart, and then only the system could choose the theme. */
export function styles(files: readonly string[]): string {
  return files.map((file) => readFileSync(new URL(file, import.meta.url), "utf8")).join("\n");
}
