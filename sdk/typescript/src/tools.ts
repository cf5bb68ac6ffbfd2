import type { Inboxd } from "./inboxd.ts";
import type { McpReach } from "./mcp.ts";

/** A tool for a language model, in no framework's form. */
export interface InboxTool {
  name: string;
  description: string;
  inputSchema: InputSchema;
  /**
   * Calls the tool, and returns its result as text for the model. In it the words of strangers are between marks. A failure that the model
   * can do something about is a result too: its code, its reason and advice.
   */
  execute(input: unknown, options?: { signal?: AbortSignal | undefined }): Promise<string>;
}

/** JSON Schema of the arguments of a tool. */
export interface InputSchema {
  type: "object";
  properties: Record<string, object>;
  required: string[];
  additionalProperties: boolean;
}

interface Listed {
  name: string;
  description: string;
  inputSchema: Omit<InputSchema, "required"> & { required?: string[] };
  annotations: { idempotentHint: boolean };
}

/** The tools of the service's MCP, within one inbox or some of them only, as functions of this program. */
export async function inboxTools(client: Inboxd, reach: McpReach = {}): Promise<InboxTool[]> {
  const { tools } = (await client.mcp("tools/list", {}, reach, { isRepeatable: true })) as { tools: Listed[] };
  return tools.map(({ name, description, inputSchema, annotations }) => ({
    name,
    description,
    inputSchema: {
      type: inputSchema.type,
      properties: inputSchema.properties,
      required: inputSchema.required ?? [],
      additionalProperties: inputSchema.additionalProperties,
    },
    async execute(input, { signal } = {}) {
      const isRepeatable = annotations.idempotentHint;
      const called = await client.mcp("tools/call", { name, arguments: input }, reach, { signal, isRepeatable });
      const { content } = called as { content: { text: string }[] };
      return content.map(({ text }) => text).join("\n");
    },
  }));
}

/** A tool as the Chat Completions API takes it. */
export interface ChatTool {
  type: "function";
  function: { name: string; description: string; parameters: Record<string, unknown> };
}

export function chatTools(tools: readonly InboxTool[]): ChatTool[] {
  return tools.map(({ name, description, inputSchema }) => ({
    type: "function",
    function: { name, description, parameters: { ...inputSchema } },
  }));
}

/** A call in the answer of a model. A call of another type than `function` is not one of these tools. */
export interface ChatToolCall {
  id: string;
  type: string;
  function?: { name: string; arguments: string };
}

export interface ChatToolMessage {
  role: "tool";
  tool_call_id: string;
  content: string;
}

/** Calls the tools that a model has asked for, one after the other, and returns the messages for its next turn. */
export async function answerChatCalls(
  tools: readonly InboxTool[],
  calls: readonly ChatToolCall[] = [],
  options?: { signal?: AbortSignal | undefined },
): Promise<ChatToolMessage[]> {
  const messages: ChatToolMessage[] = [];
  for (const { id, function: asked } of calls) {
    const tool = tools.find(({ name }) => name === asked?.name);
    const input = argumentsIn(asked?.arguments);
    let content = "validation_error: Cannot call tool: its arguments are not JSON";
    if (tool === undefined) content = "not_found: Cannot call tool: no such tool";
    else if (input !== undefined) content = await tool.execute(input, options);
    messages.push({ role: "tool", tool_call_id: id, content });
  }
  return messages;
}

/** The arguments that a model has written; undefined if they are not JSON. */
function argumentsIn(text: string | undefined): unknown {
  try {
    return JSON.parse(text || "{}");
  } catch {
    return undefined;
  }
}
