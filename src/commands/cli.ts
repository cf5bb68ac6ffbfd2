import type { Command } from "commander";
import { printed } from "./print.ts";
import { tell } from "./terminal.ts";

/** Adds the commands of one matter to the program. */
export type Register = (program: Command) => void;

/**
 * What a command makes is printed: with `--json` all of it, for a script; for a person what `shown` picks from it.
 */
export function reporting<Given extends unknown[], Made extends object>(
  command: Command,
  work: (...given: Given) => Promise<Made>,
  shown: (made: Made) => object = (made) => made,
): void {
  command.option("--json", "print JSON").action(async (...given: unknown[]) => {
    const { json = false } = command.opts<{ json?: boolean }>();
    const made = await work(...(given as Given));
    tell(printed(json ? made : shown(made), json));
  });
}
