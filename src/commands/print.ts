import { oneLine } from "../standards/text.ts";
import { jsonOf } from "./terminal.ts";

/** A result for a script or for a person: one object as lines, a list as a table. */
export function printed(result: object, json: boolean): string {
  if (json) return jsonOf(result, 2);
  if (!Array.isArray(result)) return lines(result);
  return result.length === 0 ? "none\n" : table(result as Record<string, unknown>[]);
}

function lines(result: object): string {
  const entries = Object.entries(result);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${shown(value)}\n`).join("");
}

function table(rows: Record<string, unknown>[]): string {
  const names = Object.keys(rows[0] ?? {});
  const widths = names.map((name) => Math.max(name.length, ...rows.map((row) => shown(row[name]).length)));
  const line = (cells: string[]) =>
    `${cells
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd()}\n`;
  return line(names) + rows.map((row) => line(names.map((name) => shown(row[name])))).join("");
}

function shown(value: unknown): string {
  return oneLine(value === null || value === undefined ? "" : String(value)) || "-";
}
