import { type Command, Option } from "commander";
import skill from "../../../docs/skill/SKILL.md" with { type: "text" };
import { ofServer } from "../client.ts";
import { print } from "../terminal.ts";
import type { McpOptions } from "./serve-model.ts";

/** Adds `mcp`, for programs that start their tools as processes. */
export function mcpCommand(program: Command): void {
  ofServer(program.command("mcp"))
    .description("serve the Model Context Protocol on stdin and stdout, with the mail of a running server")
    .option("--embedded", "start a separate server in DATA_DIR, until stdin ends")
    .option("--tools <names>", "offer only these tools, separated by commas")
    .addOption(new Option("--read-only", "offer only the tools that change nothing").conflicts("tools"))
    .option("--inbox <inbox>", "limit the model to this inbox: its address, username or id")
    .action(async (options: McpOptions) => {
      const { serveModel } = await import("./serve-model.ts");
      await serveModel(options);
    });
}

/** Adds `skill`, for a language model with a shell and without our tools. */
export function skillCommand(program: Command): void {
  program
    .command("skill")
    .description("print an Agent Skill that explains to a language model how to work with mail by these commands")
    .action(() => print(skill));
}
