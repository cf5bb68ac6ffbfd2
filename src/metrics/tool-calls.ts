import { tools } from "../mcp/tools.ts";
import type { Registry } from "./registry.ts";

/** Told of each call of a tool by MCP: `ok`, or the code of what it was refused with. */
export type ToolCallObserver = (tool: string, outcome: string) => void;

export function toolCallObserver(metrics: Registry): ToolCallObserver {
  const calls = metrics.counter(
    "inboxd_mcp_calls_total",
    "Calls of tools by MCP: ok, or the code of what they were refused with",
    ["tool", "outcome"],
  );
  for (const { name } of tools) calls({ tool: name, outcome: "ok" });
  return (tool, outcome) => calls({ tool, outcome }).add();
}
