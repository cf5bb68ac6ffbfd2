import type { Command } from "commander";
import { realWorld } from "../service/time-and-chance.ts";
import { lines, printed } from "./print.ts";
import type { Calendar } from "./short-time.ts";
import { jsonOf, tell } from "./terminal.ts";

/** Adds the commands of one matter to the program. */
export type Register = (program: Command) => void;

/** What a command makes of what it was given, as a person shall see it: fields, rows, or a text. */
export type Shown<Given extends unknown[], Made> = (made: Made, calendar: Calendar, ...given: Given) => object | string;

/**
 * What a command makes is printed: with `--json` all of it, for a script; for a person what `shown` picks from it.
 */
export function reporting<Given extends unknown[], Made extends object>(
  command: Command,
  work: (...given: Given) => Promise<Made>,
  shown: Shown<Given, Made> = (...[made]) => made,
): void {
  command.option("--json", "print JSON").action(async (...given: unknown[]) => {
    const { json = false } = command.opts<{ json?: boolean }>();
    const made = await work(...(given as Given));
    const seen = json ? made : shown(made, calendarHere(), ...(given as Given));
    tell(printed(seen, json, columnsHere()));
  });
}

/** What came of an export. Where that is on stdout (-) it stands there alone, and this is said on stderr. */
export function tellExported(made: object, path: string, json: boolean): void {
  tell(json ? jsonOf(made, 2) : lines(made), path === "-" ? process.stderr : process.stdout);
}

/** Whose key or webhook it is. */
export interface OfAccount {
  account?: string;
}

/** The option that says whose. */
export function ofAccount(command: Command): Command {
  return command.option("--account <name>", "the first account where left out");
}

/** A screen has an end, which some terminals call 0. A pipe or a file has none, so nothing is cut there. */
function columnsHere(): number {
  return process.stdout.isTTY ? process.stdout.columns || usualColumns : Number.POSITIVE_INFINITY;
}

const usualColumns = 80;

function calendarHere(): Calendar {
  return { now: realWorld.now(), timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone };
}
