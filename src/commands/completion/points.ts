import type { Argument, Command, Option } from "commander";

/** The completions that are possible after the words of one command. */
export interface Point {
  /** The words of the command after `inboxd`, each with a space before it; empty for `inboxd` alone. */
  at: string;
  commands: readonly Choice[];
  options: readonly PointOption[];
  /** The choices for an argument. */
  words: readonly string[];
  /** Whether an argument is the path of a file. */
  takesFile: boolean;
}

export interface Choice {
  name: string;
  description: string;
}

export interface PointOption {
  /** `--json`, or `-h` and `--help`. */
  names: readonly string[];
  description: string;
  value: "none" | "text" | "file";
}

/** All points of a program, from its own commands and options. */
export function pointsOf(program: Command): Point[] {
  return pointsBelow(program, "");
}

function pointsBelow(command: Command, at: string): Point[] {
  const help = command.createHelp();
  const below = help.visibleCommands(command);
  const point: Point = {
    at,
    commands: below.map((each) => ({ name: each.name(), description: each.description() })),
    options: help.visibleOptions(command).map(optionOf),
    words: command.registeredArguments.flatMap(({ argChoices = [] }: Argument) => argChoices),
    takesFile: command.registeredArguments.some((argument) => isFile(argument.name())),
  };
  // After `help`, the names of the other commands are possible.
  const names = below.map((each) => each.name()).filter((name) => name !== "help");
  const further = below.flatMap((each) =>
    each.name() === "help"
      ? [{ at: `${at} help`, commands: [], options: [], words: names, takesFile: false }]
      : pointsBelow(each, `${at} ${each.name()}`),
  );
  return [point, ...further];
}

function optionOf({ short, long, flags, description, required, optional }: Option): PointOption {
  const takesValue = required || optional;
  const isPath = isFile(/[<[]([^>\]]+)/.exec(flags)?.[1] ?? "");
  return {
    names: [short, long].filter((name) => name !== undefined),
    description,
    value: takesValue ? (isPath ? "file" : "text") : "none",
  };
}

function isFile(name: string): boolean {
  return name === "file" || name === "path";
}

export function namesOf(options: readonly PointOption[], ...values: PointOption["value"][]): string[] {
  return options.filter(({ value }) => values.length === 0 || values.includes(value)).flatMap(({ names }) => names);
}
