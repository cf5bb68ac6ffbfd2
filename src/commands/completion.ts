import { Argument, type Command } from "commander";
import { bashCompletion } from "./completion/bash.ts";
import { fishCompletion } from "./completion/fish.ts";
import { type Point, pointsOf } from "./completion/points.ts";
import { zshCompletion } from "./completion/zsh.ts";
import { print } from "./terminal.ts";

const shells: Readonly<Record<string, (points: readonly Point[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** Adds `completion`. It prints a script that contains all commands and options, so that the tab key starts no inboxd. */
export function completionCommand(program: Command): void {
  program
    .command("completion")
    .description("print a completion script for a shell; its first lines explain how to install it")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(shells)))
    .action((shell: string) => print(completionScript(shell, program)));
}

export function completionScript(shell: string, program: Command): string {
  return shells[shell]?.(pointsOf(program)) ?? "";
}
