import { type Command, Option } from "commander";
import { type Narrowed, narrowed } from "../../mcp/tools.ts";
import { realWorld } from "../../service/time-and-chance.ts";
import { version } from "../../version.ts";
import { ofServer, type ServerOptions } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import { tell } from "../terminal.ts";
import { ownServer } from "./own-server.ts";
import { runningServer } from "./running-server.ts";

interface McpOptions extends ServerOptions {
  embedded?: boolean;
  tools?: string;
  readOnly?: boolean;
  inbox?: string;
}

/** Mail for a language model's program that starts its tools itself. */
export function mcpCommand(program: Command): void {
  ofServer(program.command("mcp"))
    .description("serve the tools of the Model Context Protocol on stdin and stdout, from a running server")
    .option("--embedded", "from a server of its own in DATA_DIR, for as long as stdin is open")
    .option("--tools <names>", "only these tools, with commas between them")
    .addOption(new Option("--read-only", "only the tools that change nothing").conflicts("tools"))
    .option("--inbox <inbox>", "let the model work in this inbox alone: its address, username or id")
    .action(serveModel);
}

async function serveModel(options: McpOptions): Promise<void> {
  const permitted = permittedTools(options);
  // Only here: all other commands would take 40 ms longer with it.
  const { serveOnStdio } = await import("../../mcp/stdio.ts");
  const { askApi, headers, toolCall, stop } = options.embedded ? await ownServer() : runningServer(options);
  try {
    await serveOnStdio({
      ...{ ...permitted, askApi, headers, version, observe: toolCall },
      randomBytes: realWorld.randomBytes,
      onFault: (error) => tell(`${error instanceof Error ? error.message : String(error)}\n`, process.stderr),
    });
  } finally {
    await stop();
  }
}

function permittedTools({ tools, readOnly, inbox }: McpOptions): Narrowed {
  const permitted = narrowed(readOnly ? "read" : tools, inbox);
  if (typeof permitted === "string") throw new UsageError(`Cannot read --tools: it ${permitted}`);
  return permitted;
}
