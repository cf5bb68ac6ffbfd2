import { oneLine } from "../standards/text.ts";
import { jsonOf } from "./terminal.ts";

/** A result as JSON, or for a person: an object as lines, a list as a table, a text as it is. */
export function printed(result: object | string, json: boolean, columns: number): string {
  if (json) return jsonOf(result, 2);
  if (typeof result === "string") return result;
  if (!Array.isArray(result)) return lines(result);
  return result.length === 0 ? "none\n" : table(result as Record<string, unknown>[], columns);
}

/** The fields of an object, a line each. */
export function lines(result: object): string {
  const entries = Object.entries(result);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${shown(value)}\n`).join("");
}

/**
 * Fits the columns before the first `id` into the width of the screen, so that long addresses do not hide the subjects. The
 * columns from that one on are never cut, because people copy ids.
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

/** Cuts the widest columns to the same width. The last of them, which is the most useful, gets the width that remains. */
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

/** Pads or cuts a cell by its width on the screen, where an emoji takes two columns and a combining accent none. */
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
  return oneLine(asText(value)) || "-";
}

/** A value as text: a list is joined. */
function asText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return value.map(asText).join(value.some((each) => typeof each === "object") ? ", " : ",");
  return Object.values(value).map(asText).filter(Boolean).join(" ");
}
