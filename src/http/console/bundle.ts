import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Bundles the script of the console. It is a macro: Bun runs it when it compiles the service, or at the first visit if
 * the service runs from source, and replaces the call by the returned text. So the binary contains the console without
 * a build step.
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
