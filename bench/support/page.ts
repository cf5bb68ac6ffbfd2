/** The generated parts of a page, each between two comments: `<!-- name: begin -->` and `<!-- name: end -->`. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const performancePage = join(import.meta.dir, "../../docs/performance.md");

export function readSection(path: string, name: string): string {
  const page = readFileSync(path, "utf8");
  const { from, to } = placeOf(page, path, name);
  return page.slice(from, to).trim();
}

export function writeSection(path: string, name: string, text: string): void {
  const page = readFileSync(path, "utf8");
  const { from, to } = placeOf(page, path, name);
  writeFileSync(path, `${page.slice(0, from)}\n\n${text.trim()}\n\n${page.slice(to)}`);
}

function placeOf(page: string, path: string, name: string): { from: number; to: number } {
  const begin = `<!-- ${name}: begin -->`;
  const from = page.indexOf(begin);
  const to = page.indexOf(`<!-- ${name}: end -->`);
  if (from === -1 || to < from)
    throw new Error(`Cannot write into ${path}: it has no section between "${begin}" and its end`);
  return { from: from + begin.length, to };
}

/** A row of a table in Markdown. */
export function row(...cells: string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replace(/\s+/g, " ").trim()).join(" | ")} |`;
}
