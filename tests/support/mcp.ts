import {
  Client,
  type ClientOptions,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { tools } from "../../src/mcp/tools.ts";
import { inboxdHere, type RunOptions } from "./inboxd.ts";

/** The protocol of a client: the revision of 2026-07-28, or the one that begins with `initialize`. */
export const eras = {
  "revision 2026-07-28": { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  "the handshake of before": { versionNegotiation: { mode: "legacy" } },
} as const satisfies Record<string, ClientOptions>;
export type Era = keyof typeof eras;

/** The official client, connected. */
export interface Model extends AsyncDisposable {
  client: Client;
  /** A tool's answer; throws if it failed or does not fit its schema. */
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads it compares at once
  call(name: string, args?: object): Promise<any>;
  /** The text of a failure. */
  failure(name: string, args?: object): Promise<string>;
}

/** A server and its caller: a `World`, or another one. */
interface Server {
  apiKey: string;
  service: { apiUrl: URL };
}

export function overHttp(
  server: Server,
  { era = "revision 2026-07-28", query = "" }: { era?: Era; query?: string } = {},
) {
  const headers = { authorization: `Bearer ${server.apiKey}` };
  const url = new URL(`/mcp${query}`, server.service.apiUrl);
  return connected(new StreamableHTTPClientTransport(url, { requestInit: { headers } }), era);
}

/** `inboxd mcp`, as in a client's configuration. */
export function overStdio(
  words: readonly string[],
  env: Record<string, string>,
  era: Era = "revision 2026-07-28",
  { command: inboxd = inboxdHere, cwd }: RunOptions = {},
) {
  const [command = "", ...args] = [...inboxd, "mcp", ...words];
  const { PATH = "", HOME = "" } = process.env;
  return connected(
    new StdioClientTransport({
      command,
      args,
      env: { PATH, HOME, ...env },
      stderr: "ignore" as const,
      ...(cwd !== undefined && { cwd }),
    }) as Transport,
    era,
  );
}

async function connected(transport: Transport, era: Era): Promise<Model> {
  const client = new Client({ name: "tests", version: "1.0.0" }, eras[era]);
  await client.connect(transport);
  async function result(name: string, args: object) {
    return client.callTool({ name, arguments: { ...args } });
  }
  return {
    client,
    async call(name, args = {}) {
      const { isError, structuredContent, content } = await result(name, args);
      const [said] = content;
      if (isError || said?.type !== "text") throw new Error(`${name} failed: ${JSON.stringify(content)}`);
      const text = JSON.parse(said.text);
      if (!Bun.deepEquals(text, structuredContent))
        throw new Error(`${name} says one thing as text and another as a value`);
      const faults = schemaFaults(name, structuredContent);
      if (faults !== undefined) throw new Error(`${name} answers what its schema does not say: ${faults}`);
      if (said.text.length > 60_000) throw new Error(`${name} answers ${said.text.length} characters`);
      return structuredContent;
    },
    async failure(name, args = {}) {
      const { isError, content } = await result(name, args);
      const [said] = content;
      if (!isError || said?.type !== "text") throw new Error(`${name} did not fail: ${JSON.stringify(content)}`);
      return said.text;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const validator = new AjvJsonSchemaValidator();

/** Validates with the schema, without additional fields. */
function schemaFaults(name: string, value: unknown): string | undefined {
  const schema = closed(JSON.parse(JSON.stringify(tools.find((tool) => tool.name === name)?.output)));
  const { valid, errorMessage } = validator.getValidator(schema as never)(value);
  return valid ? undefined : errorMessage;
}

function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const inside = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return inside.type === "object" ? { ...inside, additionalProperties: false } : inside;
}
