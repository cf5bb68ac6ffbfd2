import type { Caller, CallOptions } from "./call.ts";

/** How much of MCP a call reaches. */
export interface McpReach {
  /** The only inbox: its address, username or id. */
  inbox?: string | undefined;
  /** `read` for the tools that change nothing, or the names of some tools. */
  tools?: "read" | readonly string[] | undefined;
}

export interface McpOptions extends Pick<CallOptions, "signal" | "timeoutMs"> {
  /** Whether the call does no harm if it arrives twice. Otherwise it is not retried. */
  isRepeatable?: boolean | undefined;
}

/** Makes one request of the Model Context Protocol, which needs no session, and returns its result. */
export type Mcp = (method: string, params: object, reach?: McpReach, options?: McpOptions) => Promise<unknown>;

/** A wait for mail takes at most 50 s, and a send waits at most 30 s for its first attempt. */
const longestCallMs = 50_000;

export const mcp =
  ({ call }: Caller): Mcp =>
  async (method, params, { inbox, tools } = {}, { isRepeatable = false, ...options } = {}) => {
    const answer = (await call({
      method: "POST",
      path: "/mcp",
      query: { inbox, tools },
      body: { jsonrpc: "2.0", id: 1, method, params },
      headers: { accept: "application/json, text/event-stream" },
      serverWaitMs: longestCallMs,
      isRepeatable,
      ...options,
    })) as { result?: unknown; error?: { message: string } };
    if (answer.error !== undefined) throw new Error(`Cannot call ${method}: ${answer.error.message}`);
    return answer.result;
  };
