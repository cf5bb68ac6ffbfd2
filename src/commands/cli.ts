import type { Command } from "commander";
import { realWorld } from "../service/time-and-chance.ts";
import { lines, printed } from "./print.ts";
import type { Calendar } from "./short-time.ts";
import { jsonOf, print, printBytes } from "./terminal.ts";

/** Adds the commands of one matter to the program. */
export type Register = (program: Command) => void;

/** Selects the part of a command's result that is printed for a person: fields, rows, a text, or bytes as they are. */
export type Shown<Given extends unknown[], Made> = (
  made: Made,
  calendar: Calendar,
  ...given: Given
) => object | string | Uint8Array;

/** Adds an action that prints its result: with `--json` all of it, else the selection of `shown`. */
export function reporting<Given extends unknown[], Made extends object>(
  command: Command,
  work: (...given: Given) => Promise<Made>,
  shown: Shown<Given, Made> = (...[made]) => made,
): void {
  command.option("--json", "print JSON").action(async (...given: unknown[]) => {
    const { json = false } = command.opts<{ json?: boolean }>();
    const made = await work(...(given as Given));
    const seen = json ? made : shown(made, calendarHere(), ...(given as Given));
    if (seen instanceof Uint8Array) await printBytes(seen);
    else print(printed(seen, json, columnsHere()));
  });
}

/** Prints on stderr that a list has more items, and the option that continues it. stdout has only the items. */
export function printMoreHint(option: string): void {
  print(`There is more: ${option}\n`, process.stderr);
}

/** Prints this hint for a list that is paged by an offset, if items follow. */
export function printMoreByOffset({ data, total }: { data: readonly unknown[]; total: number }, offset: string): void {
  const next = Number(offset) + data.length;
  if (data.length > 0 && next < total) printMoreHint(`--offset ${next}`);
}

/** Prints the result of an export: on stderr if the export itself goes to stdout (-). */
export function printExported(made: object, path: string, json: boolean): void {
  print(json ? jsonOf(made, 2) : lines(made), path === "-" ? process.stderr : process.stdout);
}

export interface OfAccount {
  account?: string;
}

/** Adds `--account`. */
export function ofAccount(command: Command): Command {
  return command.option("--account <name>", "name of the account (default: the first one)");
}

/** The width to which tables are cut: that of the terminal, or 80 if it reports 0. Output into a pipe or a file is not cut. */
function columnsHere(): number {
  return process.stdout.isTTY ? process.stdout.columns || usualColumns : Number.POSITIVE_INFINITY;
}

const usualColumns = 80;

function calendarHere(): Calendar {
  return { now: realWorld.now(), timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone };
}
