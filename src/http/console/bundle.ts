import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Macros: run when this is compiled, or at the first visit from source, and replaced by the text that they give. So the binary carries the
 * console, and there is no step of building it.
 */
export function consoleScript(): string {
  const main = fileURLToPath(new URL("../../console/main.tsx", import.meta.url));
  const bundler = Bun.spawnSync([process.execPath, "build", "--production", "--target=browser", main], {
    cwd: fileURLToPath(new URL("../../..", import.meta.url)),
    stderr: "inherit",
  });
  if (bundler.exitCode !== 0) throw new Error(`Cannot bundle the console: the bundler ended with ${bundler.exitCode}`);
  return bundler.stdout.toString();
}

/** Not by the bundler: it takes `light-dark()` apart, and then only the system could choose the theme. */
export function consoleStyle(): string {
  const folder = new URL("../../console/styles/", import.meta.url);
  const files = ["tokens", "base", "controls", "frame", "parts", "charts", "screens", "mail"];
  return files
    .map((name) => readFileSync(new URL(`${name}.css`, folder), "utf8"))
    .join("\n")
    .replace(/\/\*[^*]*\*\//g, "")
    .replace(/\n\s*/g, "\n");
}
