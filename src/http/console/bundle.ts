import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Bundles the scripts of the console: `console-….js`, which the page names, and those that it imports when a screen is
 * opened. Their names contain the hash of their content. It is a macro: Bun runs it when it compiles the service, or at
 * the first visit if the service runs from source, and replaces the call by the returned texts. So the binary contains
 * the console without a build step.
 */
export function consoleScripts(): { name: string; text: string }[] {
  const folder = mkdtempSync(join(tmpdir(), "inboxd-console-"));
  try {
    const main = fileURLToPath(new URL("../../console/main.tsx", import.meta.url));
    const names = "--entry-naming=console-[hash].[ext]";
    const bundler = Bun.spawnSync(
      [process.execPath, "build", "--production", "--target=browser", "--splitting", names, "--outdir", folder, main],
      { cwd: fileURLToPath(new URL("../../..", import.meta.url)), stderr: "inherit" },
    );
    if (bundler.exitCode !== 0) {
      throw new Error(`Cannot bundle the console: the bundler ended with ${bundler.exitCode}`);
    }
    return readdirSync(folder).map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Joins the style sheets without the bundler, which would rewrite `light-dark()` so that only the system could choose
 * the theme.
 */
export function consoleStyle(): string {
  const folder = new URL("../../console/styles/", import.meta.url);
  const files = ["tokens", "base", "controls", "frame", "parts", "charts", "screens", "mail", "print"];
  return files
    .map((name) => readFileSync(new URL(`${name}.css`, folder), "utf8"))
    .join("\n")
    .replace(/\/\*[^*]*\*\//g, "")
    .replace(/\n\s*/g, "\n");
}
