import { serveOnStdio } from "../../mcp/stdio.ts";
import { type Narrowed, narrowed } from "../../mcp/tools.ts";
import { realWorld } from "../../service/time-and-chance.ts";
import { version } from "../../version.ts";
import type { ServerOptions } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import { tell } from "../terminal.ts";
import { runningServer } from "./running-server.ts";
import type { ServerOfTools } from "./server-of-tools.ts";

export interface McpOptions extends ServerOptions {
  embedded?: boolean;
  tools?: string;
  readOnly?: boolean;
  inbox?: string;
}

/** Speaks the protocol until stdin ends. */
export async function serveModel(options: McpOptions): Promise<void> {
  const permitted = permittedTools(options);
  const { askApi, headers, toolCall, stop } = await serverOf(options);
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

async function serverOf({ embedded, ...options }: McpOptions): Promise<ServerOfTools> {
  if (!embedded) return runningServer(options);
  const { ownServer } = await import("./own-server.ts");
  return ownServer();
}
