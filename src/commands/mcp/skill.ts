import type { Command } from "commander";
import skill from "../../../docs/skill/SKILL.md" with { type: "text" };
import { print } from "../terminal.ts";

/** For a language model with a shell and without our tools. */
export function skillCommand(program: Command): void {
  program
    .command("skill")
    .description("print an Agent Skill that explains to a language model how to work with mail by these commands")
    .action(() => print(skill));
}
