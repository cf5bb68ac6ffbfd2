import type { AskApi } from "../../mcp/api.ts";

/** What the tools ask, wherever it is. */
export interface ServerOfTools {
  askApi: AskApi;
  /** Of each request: as whom, where `askApi` does not know it. */
  headers: Readonly<Record<string, string>>;
  toolCall: ((tool: string, outcome: string) => void) | undefined;
  stop(): Promise<void>;
}
