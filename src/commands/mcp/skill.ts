import type { Command } from "commander";
import skill from "../../../docs/skill/SKILL.md" with { type: "text" };
import { tell } from "../terminal.ts";

/** For a language model that has a shell and no tools of ours. */
export function skillCommand(program: Command): void {
  program
    .command("skill")
    .description("print an Agent Skill: how a language model works with mail by these commands")
    .action(() => tell(skill));
}
