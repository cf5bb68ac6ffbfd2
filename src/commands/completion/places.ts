import type { Argument, Command, Option } from "commander";

/** Where one can be on a command line: behind the words of a command. */
export interface Place {
  /** The words that lead here, each with a space before it; empty behind `inboxd` itself. */
  at: string;
  commands: readonly Choice[];
  options: readonly PlaceOption[];
  /** What an argument may be, where that is one of a few words. */
  words: readonly string[];
  /** Whether an argument is the path of a file. */
  takesFile: boolean;
}

export interface Choice {
  name: string;
  description: string;
}

export interface PlaceOption {
  /** `--json`, or `-h` and `--help`. */
  names: readonly string[];
  description: string;
  value: "none" | "text" | "file";
}

/** Every place of a program, from its own commands and options: what is added to it is completed. */
export function placesOf(program: Command): Place[] {
  return placesBelow(program, "");
}

function placesBelow(command: Command, at: string): Place[] {
  const help = command.createHelp();
  const below = help.visibleCommands(command);
  const place: Place = {
    at,
    commands: below.map((each) => ({ name: each.name(), description: each.description() })),
    options: help.visibleOptions(command).map(optionOf),
    words: command.registeredArguments.flatMap(({ argChoices = [] }: Argument) => argChoices),
    takesFile: command.registeredArguments.some((argument) => isFile(argument.name())),
  };
  // Behind `help` stand the commands that one may want help on.
  const names = below.map((each) => each.name()).filter((name) => name !== "help");
  const further = below.flatMap((each) =>
    each.name() === "help"
      ? [{ at: `${at} help`, commands: [], options: [], words: names, takesFile: false }]
      : placesBelow(each, `${at} ${each.name()}`),
  );
  return [place, ...further];
}

function optionOf({ short, long, flags, description, required, optional }: Option): PlaceOption {
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

export function namesOf(options: readonly PlaceOption[], ...values: PlaceOption["value"][]): string[] {
  return options.filter(({ value }) => values.length === 0 || values.includes(value)).flatMap(({ names }) => names);
}
