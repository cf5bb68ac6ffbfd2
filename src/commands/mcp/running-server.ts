import { type AskApi, ToolFailure } from "../../mcp/api.ts";
import { apiClient, type ServerOptions } from "../api-client.ts";
import { exchange } from "../exchange.ts";
import { reasonOf } from "../failure.ts";
import type { ServerOfTools } from "./server-of-tools.ts";

/** Longer than any answer takes: a wait may be told to take 50 s. */
const timeoutMs = 60_000;

/** The server that the options name, over the network. */
export function runningServer(options: ServerOptions): ServerOfTools {
  const { url } = apiClient(options);
  const askApi: AskApi = async (path, { method = "GET", headers, body, signal }) => {
    const exchanged = await exchange({
      ...{ method, url: new URL(`${url}${path}`), timeoutMs },
      headers: Object.fromEntries(new Headers(headers)),
      ...(typeof body === "string" && { body }),
      ...(signal && { signal }),
    }).catch((error: unknown) => {
      throw new ToolFailure("service_unavailable", `Cannot reach ${url}: ${reasonOf(error)}`);
    });
    return new Response(new Uint8Array(exchanged.bytes), exchanged);
  };
  return {
    askApi,
    headers: { authorization: `Bearer ${options.apiKey}` },
    toolCall: undefined,
    stop: async () => undefined,
  };
}
