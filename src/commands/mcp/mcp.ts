import { type Command, Option } from "commander";
import { ofServer } from "../api-client.ts";
import type { McpOptions } from "./serve-model.ts";

/** Mail for a language model's program that starts its tools itself. */
export function mcpCommand(program: Command): void {
  ofServer(program.command("mcp"))
    .description("serve the tools of the Model Context Protocol on stdin and stdout, from a running server")
    .option("--embedded", "from a server of its own in DATA_DIR, for as long as stdin is open")
    .option("--tools <names>", "only these tools, with commas between them")
    .addOption(new Option("--read-only", "only the tools that change nothing").conflicts("tools"))
    .option("--inbox <inbox>", "let the model work in this inbox alone: its address, username or id")
    .action(async (options: McpOptions) => {
      const { serveModel } = await import("./serve-model.ts");
      await serveModel(options);
    });
}
