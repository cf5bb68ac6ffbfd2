import {
  fromJsonSchema,
  type jsonSchemaValidator,
  McpServer,
  type McpServerFactory,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { TObject } from "@sinclair/typebox";
import { Inboxd, InboxdError } from "../../sdk/typescript/src/inboxd.ts";
import type { Fetch } from "../../sdk/typescript/src/options.ts";
import { instructions, instructionsWithin, remedies } from "./texts.ts";
import { type Progress, type Tool, ToolFailure } from "./tool.ts";
import { type Permitted, tools } from "./tools.ts";

/** How the tools reach the API. */
export interface Api {
  /** Empty inside the service, whose `fetch` calls the app without a socket. */
  baseUrl: string;
  fetch: Fetch;
  /** Headers of each request, such as the caller's key. */
  headers?: Readonly<Record<string, string>>;
}

export interface Serving extends Permitted {
  api: Api;
  version: string;
  randomBytes(length: number): Uint8Array;
  /** Called after each tool call, with `ok` or the code of its failure. */
  observe?: ((tool: string, outcome: string) => void) | undefined;
  /** Called with each bug. The model sees only that the call failed. */
  onFault(error: unknown): void;
}

/** Returns a function that makes an MCP server, for one request or one connection. The servers share no state. */
export function serverFactory(serving: Serving): McpServerFactory {
  return () => {
    const { version, tools: offered, inbox } = serving;
    const server = new McpServer(
      { name: "inboxd", title: "inboxd", version },
      {
        instructions: inbox === undefined ? instructions : instructionsWithin(inbox),
        capabilities: { tools: { listChanged: false } },
      },
    );
    for (const tool of offered) {
      const { input, output } = schemasOf(tool, inbox !== undefined);
      server.registerTool(
        tool.name,
        {
          title: tool.title,
          description: tool.description,
          inputSchema: input,
          outputSchema: output,
          annotations: {
            readOnlyHint: tool.hints.readOnly ?? false,
            idempotentHint: tool.hints.idempotent ?? false,
            destructiveHint: tool.hints.destructive ?? false,
            openWorldHint: tool.hints.openWorld ?? false,
          },
        },
        (args, { mcpReq }) => called(tool, args, serving, { signal: mcpReq.signal, progress: progressOf(mcpReq) }),
      );
    }
    return server;
  };
}

/** Sends progress notifications for the token of a request; undefined if it has none. */
function progressOf({ _meta, notify }: ServerContext["mcpReq"]): Progress | undefined {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return undefined;
  // A client that has left is no failure: its call ends by its signal.
  return (told) =>
    void notify({ method: "notifications/progress", params: { progressToken, ...told } }).catch(() => undefined);
}

async function called(
  tool: Tool,
  args: unknown,
  serving: Serving,
  { signal, progress }: { signal: AbortSignal; progress: Progress | undefined },
) {
  const { inbox: fence, randomBytes, observe } = serving;
  try {
    const guides = () => guidesFrom(serving, signal);
    const made = await tool.call(args, { api: clientOf(serving, signal), fence, randomBytes, guides, progress });
    observe?.(tool.name, "ok");
    return { structuredContent: { ...made }, content: [{ type: "text" as const, text: JSON.stringify(made) }] };
  } catch (error) {
    const failure = failureOf(error);
    if (failure === undefined && !signal.aborted) serving.onFault(error);
    const { code, message } = failure ?? new ToolFailure("internal_error", "Cannot answer");
    observe?.(tool.name, code);
    const remedy = remedies[code];
    const text = `${code}: ${message}${remedy === undefined ? "" : `\n${remedy}`}`;
    return { isError: true, content: [{ type: "text" as const, text }] };
  }
}

/** A client whose requests are aborted with the tool call. It does not retry, because the model decides that. */
function clientOf({ api }: Serving, signal: AbortSignal): Inboxd {
  const fetch: Fetch = (url, init) =>
    api.fetch(url, { ...init, signal: init.signal ? AbortSignal.any([init.signal, signal]) : signal });
  return new Inboxd({ ...api, fetch, timeoutMs, retries: 0 });
}

async function guidesFrom({ api }: Serving, signal: AbortSignal): Promise<string> {
  const response = await api.fetch(`${api.baseUrl}/llms-full.txt`, { headers: { ...api.headers }, signal });
  if (!response.ok) throw new ToolFailure("internal_error", `Cannot read the guides: they answered ${response.status}`);
  return response.text();
}

/**
 * The time limit of a request to the API. It is longer than any response takes: a send waits at most 30 s for its first
 * attempt.
 */
const timeoutMs = 60_000;

/** The failure that the model sees; undefined for a bug. */
function failureOf(error: unknown): ToolFailure | undefined {
  if (error instanceof ToolFailure) return error;
  if (!(error instanceof InboxdError)) return undefined;
  const { status, code, message, baseUrl, cause, problem } = error;
  // Inside the service every request gets a response, so a missing one is a bug.
  if (status === 0 && baseUrl === "") return undefined;
  if (status === 0) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return new ToolFailure("service_unavailable", `Cannot reach ${baseUrl}: ${reason}`);
  }
  if (code === "unreadable_answer")
    return new ToolFailure("internal_error", `Cannot ask the API: it answered ${status}`);
  const until = typeof problem.resets_at === "string" ? ` (possible again at ${problem.resets_at})` : "";
  return new ToolFailure(code, `${message}${until}`);
}

type Schema = ReturnType<typeof fromJsonSchema<Record<string, unknown>>>;

/** Validates nothing: the tools check their arguments, with our messages, and the tests check the results. */
const trusting: jsonSchemaValidator = {
  getValidator: () => (data: unknown) => ({ valid: true, data: data as never, errorMessage: undefined }),
};

const schemas = new Map(
  tools.map((tool) => [
    tool,
    {
      usual: { input: schemaOf(tool.input), output: schemaOf(tool.output) },
      fenced: { input: schemaOf(withoutRequired(tool.input, "inbox")), output: schemaOf(tool.output) },
    },
  ]),
);

function schemasOf(tool: Tool, isFenced: boolean): { input: Schema; output: Schema } {
  const made = schemas.get(tool);
  if (made === undefined) throw new Error(`Cannot offer ${tool.name}: it is not one of our tools`);
  return isFenced ? made.fenced : made.usual;
}

function schemaOf(schema: object): Schema {
  // Converts to JSON and back, to drop the symbols that TypeBox adds.
  return fromJsonSchema<Record<string, unknown>>(JSON.parse(JSON.stringify(schema)), trusting);
}

function withoutRequired(schema: TObject, name: string): object {
  const { required = [], ...rest } = schema;
  return { ...rest, required: required.filter((each) => each !== name) };
}
