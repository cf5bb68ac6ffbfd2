import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Bundles a script of the page. It is a macro: Bun runs it when it compiles or loads the service, and replaces the call
 * by the returned text. So the page's script is TypeScript under the same rules as all other code, and the binary needs
 * no bundler.
 */
export function bundledScript(entry: string): string {
  const file = fileURLToPath(new URL(entry, import.meta.url));
  const bundler = Bun.spawnSync([process.execPath, "build", "--target=browser", "--minify", file], {
    stderr: "inherit",
  });
  if (bundler.exitCode !== 0) throw new Error(`Cannot bundle ${entry}: the bundler ended with ${bundler.exitCode}`);
  return bundler.stdout.toString();
}

/**
 * Joins the style sheets without the bundler, which would rewrite `light-dark()` so that only the system could choose
 * the theme.
 */
export function styles(files: readonly string[]): string {
  return files.map((file) => readFileSync(new URL(file, import.meta.url), "utf8")).join("\n");
}
