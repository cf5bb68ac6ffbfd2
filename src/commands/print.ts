import { oneLine } from "../standards/text.ts";
import { jsonOf } from "./terminal.ts";

/** A result for a script or for a person: one object as lines, a list as a table, a text as it is. */
export function printed(result: object | string, json: boolean, columns: number): string {
  if (json) return jsonOf(result, 2);
  if (typeof result === "string") return result;
  if (!Array.isArray(result)) return lines(result);
  return result.length === 0 ? "none\n" : table(result as Record<string, unknown>[], columns);
}

/** The fields of one thing, a line each. */
export function lines(result: object): string {
  const entries = Object.entries(result);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${shown(value)}\n`).join("");
}

/**
 * What stands before a column `id` has room in the columns of the screen, so that subjects are seen however long addresses are.
 * That column and those behind it are never cut, since they are there to be copied.
 */
function table(rows: readonly Record<string, unknown>[], columns: number): string {
  const names = Object.keys(rows[0] ?? {});
  const cells = [names, ...rows.map((row) => names.map((name) => shown(row[name])))];
  const whole = names.map((_, index) => Math.max(...cells.map((line) => Bun.stringWidth(line[index] ?? ""))));
  const firstId = names.findIndex((name) => /(?:^| )id$/.test(name));
  const cuttable = firstId < 0 ? names.length : firstId;
  const widths = [...fitted(whole.slice(0, cuttable), columns), ...whole.slice(cuttable)];
  return cells
    .map((line) => line.map((cell, index) => padded(cell, widths[index] ?? 0)).join(gap))
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}

const gap = "  ";
const narrowest = 4;

/** The widest columns give way, all to the same width; what is then left over goes to the last of them, which says most. */
function fitted(widths: readonly number[], columns: number): number[] {
  const room = columns - gap.length * (widths.length - 1);
  const sumOf = (cut: readonly number[]) => cut.reduce((sum, width) => sum + width, 0);
  let most = Math.max(0, ...widths);
  let cut = [...widths];
  while (most > narrowest && sumOf(cut) > room) {
    most -= 1;
    cut = widths.map((width) => Math.min(width, most));
  }
  const last = widths.findLastIndex((width) => width > most);
  return cut.map((width, index) => (index === last ? width + Math.max(0, room - sumOf(cut)) : width));
}

/** In columns of a screen, of which an ideograph or an emoji takes two and an accent of its own none. */
function padded(cell: string, width: number): string {
  const short = Bun.stringWidth(cell) <= width ? cell : `${beginning(cell, width - 1).trimEnd()}…`;
  return short + " ".repeat(Math.max(0, width - Bun.stringWidth(short)));
}

function beginning(text: string, width: number): string {
  let begun = "";
  let taken = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    taken += Bun.stringWidth(segment);
    if (taken > width) break;
    begun += segment;
  }
  return begun;
}

function shown(value: unknown): string {
  return oneLine(inWords(value)) || "-";
}

/** Of several things, as recipients, what each says of itself. */
function inWords(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "object" || value instanceof Date) return String(value);
  if (Array.isArray(value)) return value.map(inWords).join(value.some((each) => typeof each === "object") ? ", " : ",");
  return Object.values(value).map(inWords).filter(Boolean).join(" ");
}
