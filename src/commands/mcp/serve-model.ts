import type { Api } from "../../mcp/server.ts";
import { serveOnStdio } from "../../mcp/stdio.ts";
import { type Permitted, permitted } from "../../mcp/tools.ts";
import { realWorld } from "../../service/time-and-chance.ts";
import { version } from "../../version.ts";
import { clientOf, fetchFromHere, type ServerOptions } from "../client.ts";
import { reasonOf, UsageError } from "../failure.ts";
import { print } from "../terminal.ts";
import type { ModelServer } from "./own-server.ts";

export interface McpOptions extends ServerOptions {
  embedded?: boolean;
  tools?: string;
  readOnly?: boolean;
  inbox?: string;
}

/** Serves the protocol until stdin ends. */
export async function serveModel({ embedded = false, ...options }: McpOptions): Promise<void> {
  const offered = offeredTools(options);
  const { api, observe, stop } = embedded ? await ownServer() : runningServer(options);
  try {
    await serveOnStdio({
      ...offered,
      api,
      version,
      observe,
      randomBytes: realWorld.randomBytes,
      onFault: (error) => print(`${error instanceof Error ? error.message : String(error)}\n`, process.stderr),
    });
  } finally {
    await stop?.();
  }
}

function offeredTools({ tools, readOnly, inbox }: McpOptions): Permitted {
  const offered = permitted(readOnly ? "read" : tools, inbox);
  if (typeof offered === "string") throw new UsageError(`Cannot read --tools: it ${offered}`);
  return offered;
}

async function ownServer(): Promise<ModelServer> {
  const { startOwnServer } = await import("./own-server.ts");
  return startOwnServer();
}

/** The server in the options. A failed connection gets a message in plain words. */
function runningServer(options: ServerOptions): ModelServer {
  const { baseUrl } = clientOf(options);
  const fetch: Api["fetch"] = (url, init) =>
    fetchFromHere(url, init).catch((error: unknown) => {
      throw new Error(reasonOf(error));
    });
  return { api: { baseUrl, fetch, headers: { authorization: `Bearer ${options.apiKey}` } } };
}
