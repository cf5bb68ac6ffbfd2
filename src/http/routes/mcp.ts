import { Elysia } from "elysia";
import { Refusal } from "../../domain/errors.ts";
import type { Api } from "../../mcp/server.ts";
import { type Permitted, permitted } from "../../mcp/tools.ts";
import { isLoopbackHost } from "../../standards/host-name.ts";
import { type Authenticate, authenticated } from "../shell/auth.ts";
import { parseJson, readBody } from "../shell/body.ts";
import { unavailable } from "../shell/errors.ts";
import { loggable } from "../shell/loggable.ts";
import { wrongParameter } from "../shell/parameters.ts";
import { requestIdHeader } from "../shell/request-headers.ts";

export interface McpDeps {
  authenticate: Authenticate;
  isDraining(): boolean;
  /** Calls the app itself: the tools are a client of the API. */
  askApi: Api["fetch"];
  baseUrl(): string;
  /** Origins of web pages that may ask, beside that of `baseUrl`. */
  allowedOrigins: readonly string[];
  /** Whether only this machine can ask: then a foreign name in `Host` is a web page that had its name point here. */
  isLoopback: boolean;
  version: string;
  randomBytes(length: number): Uint8Array;
  observe: ((tool: string, outcome: string) => void) | undefined;
  log: { error(fields: object, message: string): void };
}

const limits = { maxBytes: 1 << 20, timeoutMs: 60_000 };

/**
 * The Model Context Protocol over HTTP. Mounted open, since it has an order of its own: whatever it is asked for, a page of another
 * origin learns nothing, and without a key no body is read.
 */
export function mcp(deps: McpDeps) {
  return new Elysia().all(
    "/mcp",
    async ({ request, set }) => {
      if (request.method !== "POST") {
        const headers = { allow: "POST" };
        throw new Refusal("method_not_allowed", "Cannot do this: the method here is POST", { headers });
      }
      refuseForeign(request, deps);
      if (deps.isDraining()) throw unavailable("the service is shutting down", { connection: "close" });
      await authenticated(request, deps.authenticate);
      const offered = offeredTools(new URL(request.url).searchParams);
      const body = parseJson(await readBody(request, limits));
      // What speaks the protocol takes 40 ms to load, which who never asks for it does not wait for.
      const { answerMcp } = await import("../../mcp/http.ts");
      return answerMcp(request, body ?? null, {
        ...offered,
        api: {
          baseUrl: "",
          fetch: deps.askApi,
          headers: {
            authorization: request.headers.get("authorization") ?? "",
            [requestIdHeader]: String(set.headers[requestIdHeader]),
          },
        },
        version: deps.version,
        randomBytes: deps.randomBytes,
        observe: deps.observe,
        onFault: (error) => deps.log.error({ error: loggable(error) }, "tool call failed: unexpected error"),
      });
    },
    { parse: "none", detail: { hide: true } },
  );
}

/** A browser can be made to ask by any page that it shows; no page but ours and the operator's own may. */
function refuseForeign(request: Request, { baseUrl, allowedOrigins, isLoopback }: McpDeps): void {
  const own = new URL(baseUrl());
  const origin = request.headers.get("origin");
  if (origin !== null && origin !== own.origin && !allowedOrigins.includes(origin)) {
    throw new Refusal("forbidden", "Cannot use MCP: pages of this origin may not; MCP_ORIGINS names those that may");
  }
  if (!isLoopback) return;
  const host = URL.parse(`http://${request.headers.get("host") ?? ""}`)?.hostname;
  if (host === undefined || !(isLoopbackHost(host) || host === own.hostname)) {
    throw new Refusal("forbidden", "Cannot use MCP: Host must be a name of this machine, or that of BASE_URL");
  }
}

/** The tools that the query allows. Refuses an unknown parameter, since a misspelled limit must not become no limit. */
function offeredTools(query: URLSearchParams): Permitted {
  for (const name of new Set(query.keys())) {
    if (name !== "tools" && name !== "inbox") throw wrong(name, "is no parameter here (there are tools, inbox)");
    if (query.getAll(name).length > 1) throw wrong(name, "must be given once");
    if (query.get(name) === "") throw wrong(name, "must not be empty");
  }
  const offered = permitted(query.get("tools") ?? undefined, query.get("inbox") ?? undefined);
  if (typeof offered === "string") throw wrong("tools", offered);
  return offered;
}

function wrong(name: string, detail: string): Refusal {
  return wrongParameter(name, detail, "use MCP");
}
