import type { Command } from "commander";
import { printed } from "./print.ts";

/** Adds the commands of one matter to the program. */
export type Register = (program: Command) => void;

/** What a command makes is printed, for a person or with `--json` for a script. */
export function reporting<Given extends unknown[]>(command: Command, work: (...given: Given) => Promise<object>): void {
  command.option("--json", "print JSON").action(async (...given: unknown[]) => {
    const { json = false } = command.opts<{ json?: boolean }>();
    process.stdout.write(printed(await work(...(given as Given)), json));
  });
}
