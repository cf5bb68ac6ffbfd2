import { Argument, type Command } from "commander";
import { bashCompletion } from "./completion/bash.ts";
import { fishCompletion } from "./completion/fish.ts";
import { type Place, placesOf } from "./completion/places.ts";
import { zshCompletion } from "./completion/zsh.ts";
import { tell } from "./terminal.ts";

const shells: Readonly<Record<string, (places: readonly Place[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** A script that knows all commands and options by itself: at the tab key no inboxd is started. */
export function completionCommand(program: Command): void {
  program
    .command("completion")
    .description("print a script with which a shell completes commands and options; its head says where it goes")
    .addArgument(new Argument("<shell>", "whose script").choices(Object.keys(shells)))
    .action((shell: string) => tell(completionScript(shell, program)));
}

export function completionScript(shell: string, program: Command): string {
  return shells[shell]?.(placesOf(program)) ?? "";
}
