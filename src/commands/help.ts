import type { Command } from "commander";
import { nearestName } from "../primitives/nearest-name.ts";

/** Adds a `help` command to the program and each group. Commander's own one ignores an unknown word and shows the whole help. */
export function addHelpCommands(group: Command): void {
  for (const below of group.commands) if (below.commands.length > 0) addHelpCommands(below);
  group.helpCommand(false);
  group
    .command("help")
    .argument("[command...]")
    .description("display help for command")
    .helpOption(false)
    .action((words: string[]) => words.reduce(commandBelow, group).help());
}

function commandBelow(group: Command, name: string): Command {
  const found = group.commands.find((each) => each.name() === name);
  if (found !== undefined) return found;
  const meant = nearestName(
    name,
    group.commands.map((each) => each.name()),
  );
  return group.error(`error: unknown command '${name}'${meant === undefined ? "" : `\n(Did you mean ${meant}?)`}`);
}
