import {
  fromJsonSchema,
  type jsonSchemaValidator,
  McpServer,
  type McpServerFactory,
} from "@modelcontextprotocol/server";
import type { TObject } from "@sinclair/typebox";
import { type AskApi, apiOf, ToolFailure } from "./api.ts";
import { instructions, instructionsWithin, remedies } from "./texts.ts";
import type { Tool } from "./tool.ts";
import { type Narrowed, tools } from "./tools.ts";

/** What a server is made from: who asks what it may, and how the tools reach the API. */
export interface Serving extends Narrowed {
  askApi: AskApi;
  /** Fields of each request to the API: the caller's key first of all. */
  headers: Readonly<Record<string, string>>;
  version: string;
  randomBytes(length: number): Uint8Array;
  /** Told of each call: `ok`, or the code of its failure. */
  observe?: ((tool: string, outcome: string) => void) | undefined;
  /** What is a bug, and none of the model's business. */
  onFault(error: unknown): void;
}

/** Makes a server for each request, or for a connection: it keeps nothing that the next one would need. */
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
        (args, { mcpReq }) => called(tool, args, serving, mcpReq.signal),
      );
    }
    return server;
  };
}

async function called(tool: Tool, args: unknown, serving: Serving, signal: AbortSignal) {
  const { askApi, headers, inbox: fence, randomBytes, observe } = serving;
  try {
    const made = await tool.call(args, { api: apiOf(askApi, headers, signal), fence, randomBytes });
    observe?.(tool.name, "ok");
    return { structuredContent: { ...made }, content: [{ type: "text" as const, text: JSON.stringify(made) }] };
  } catch (error) {
    if (!(error instanceof ToolFailure) && !signal.aborted) serving.onFault(error);
    const failure = error instanceof ToolFailure ? error : new ToolFailure("internal_error", "Cannot answer");
    observe?.(tool.name, failure.code);
    return { isError: true, content: [{ type: "text" as const, text: toldFailure(failure) }] };
  }
}

function toldFailure({ code, message }: ToolFailure): string {
  const remedy = remedies[code];
  return `${code}: ${message}${remedy === undefined ? "" : `\n${remedy}`}`;
}

type Schema = ReturnType<typeof fromJsonSchema<Record<string, unknown>>>;

/** The tools judge their arguments themselves, in words of ours; that results fit is for the tests. */
const trusting: jsonSchemaValidator = {
  getValidator: () => (data: unknown) => ({ valid: true, data: data as never, errorMessage: undefined }),
};

const schemas = new Map(
  tools.map((tool) => [
    tool,
    {
      usual: { input: schemaOf(tool.input), output: schemaOf(tool.output) },
      fenced: { input: schemaOf(withoutNeed(tool.input, "inbox")), output: schemaOf(tool.output) },
    },
  ]),
);

function schemasOf(tool: Tool, isFenced: boolean): { input: Schema; output: Schema } {
  const made = schemas.get(tool);
  if (made === undefined) throw new Error(`Cannot offer ${tool.name}: it is no tool of ours`);
  return isFenced ? made.fenced : made.usual;
}

function schemaOf(schema: object): Schema {
  // By way of text: what TypeBox keeps beside a schema is no part of it.
  return fromJsonSchema<Record<string, unknown>>(JSON.parse(JSON.stringify(schema)), trusting);
}

function withoutNeed(schema: TObject, name: string): object {
  const { required = [], ...rest } = schema;
  return { ...rest, required: required.filter((each) => each !== name) };
}
