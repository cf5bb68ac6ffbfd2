import { Elysia } from "elysia";
import { notFound, Refusal } from "../../domain/errors.ts";
import type { Api } from "../../mcp/server.ts";
import { type Permitted, permitted } from "../../mcp/tools.ts";
import { isLoopbackHost } from "../../standards/host-name.ts";
import { connectPath, isSafeForSignIn, resourceMetadataPath } from "../connect/addresses.ts";
import { scopes } from "../connect/metadata.ts";
import type { Asked } from "../shell/actor.ts";
import { type Authenticate, authenticated, bearerKey } from "../shell/auth.ts";
import { parseJson, readBody } from "../shell/body.ts";
import { unavailable } from "../shell/errors.ts";
import { loggable } from "../shell/loggable.ts";
import { wrongParameter } from "../shell/parameters.ts";
import { requestIdHeader } from "../shell/request-headers.ts";

export interface McpDeps {
  authenticate: Authenticate;
  /** A credential for the tools' own requests in place of a token that is valid for MCP alone. */
  credentialForTools(credential: string): Promise<string>;
  /** Whether programs may sign in at `/mcp/connect`. */
  connects: boolean;
  isDraining(): boolean;
  /** Makes a `fetch` for the tools, which are a client of the API. It passes requests to the app of this service, without a socket. */
  apiFor(request: Request): Api["fetch"];
  baseUrl(): string;
  /** Origins whose pages may call MCP, in addition to the origin of `baseUrl`. */
  allowedOrigins: readonly string[];
  /** Whether the service listens on a loopback address only. Then an unknown name in `Host` means DNS rebinding. */
  isLoopback: boolean;
  version: string;
  randomBytes(length: number): Uint8Array;
  observe: ((tool: string, outcome: string) => void) | undefined;
  log: { error(fields: object, message: string): void };
}

const limits = { maxBytes: 1 << 20, timeoutMs: 60_000 };

/**
 * The Model Context Protocol over HTTP. It is mounted without the guard, because its checks have another order: first
 * the origin, so that a page of another origin learns nothing, then the key, then the body.
 */
export function mcp(deps: McpDeps) {
  const hook = { parse: "none" as const, detail: { hide: true } };
  const app = new Elysia().all("/mcp", ({ request, set }) => answer(deps, request, set), hook);
  if (!deps.connects) return app;
  return app.all(
    connectPath,
    async ({ request, set }) => {
      if (!isSafeForSignIn(deps.baseUrl())) throw notFound("route");
      try {
        return await answer(deps, request, set);
      } catch (error) {
        throw error instanceof Refusal && error.reason === "unauthorized" ? withSignIn(deps.baseUrl(), error) : error;
      }
    },
    hook,
  );
}

/** The refusal that tells a client where its person can sign in (RFC 9728 §5.1). */
function withSignIn(baseUrl: string, { message, reason }: Refusal): Refusal {
  const challenge = `Bearer resource_metadata="${baseUrl}${resourceMetadataPath}", scope="${scopes.join(" ")}"`;
  return new Refusal(reason, message, { headers: { "www-authenticate": challenge } });
}

async function answer(deps: McpDeps, request: Request, set: Asked["set"]): Promise<Response> {
  if (request.method !== "POST") {
    const headers = { allow: "POST" };
    throw new Refusal("method_not_allowed", "Cannot do this: the method here is POST", { headers });
  }
  refuseForeign(request, deps);
  if (deps.isDraining()) throw unavailable("the service is shutting down", { connection: "close" });
  await authenticated(request, deps.authenticate);
  const offered = offeredTools(new URL(request.url).searchParams);
  const body = parseJson(await readBody(request, limits));
  // Loaded at the first call, because the protocol's code takes 40 ms to load.
  const { answerMcp } = await import("../../mcp/http.ts");
  return answerMcp(request, body ?? null, {
    ...offered,
    api: {
      baseUrl: "",
      fetch: deps.apiFor(request),
      headers: {
        authorization: `Bearer ${await deps.credentialForTools(bearerKey(request.headers.get("authorization")))}`,
        [requestIdHeader]: String(set.headers[requestIdHeader]),
        ...forwardedFor(request),
      },
    },
    version: deps.version,
    randomBytes: deps.randomBytes,
    observe: deps.observe,
    onFault: (error) => deps.log.error({ error: loggable(error) }, "tool call failed: unexpected error"),
  });
}

/** The X-Forwarded-For of a request, so that its tools' requests have the same client. */
function forwardedFor(request: Request): Record<string, string> {
  const forwarded = request.headers.get("x-forwarded-for");
  return forwarded === null ? {} : { "x-forwarded-for": forwarded };
}

/**
 * Throws if the request comes from a page of an origin that is not allowed: any page can make a browser send requests.
 */
function refuseForeign(request: Request, { baseUrl, allowedOrigins, isLoopback }: McpDeps): void {
  const own = new URL(baseUrl());
  const origin = request.headers.get("origin");
  const isOwn = origin === own.origin || (isLoopback && isSameServer(origin ?? "", own));
  if (origin !== null && !isOwn && !allowedOrigins.includes(origin)) {
    throw new Refusal(
      "forbidden",
      "Cannot use MCP: pages of this origin are not allowed; MCP_ORIGINS has the allowed origins",
    );
  }
  if (!isLoopback) return;
  const host = URL.parse(`http://${request.headers.get("host") ?? ""}`)?.hostname;
  if (host === undefined || !(isLoopbackHost(host) || host === own.hostname)) {
    throw new Refusal("forbidden", "Cannot use MCP: Host must be a name of this machine, or that of BASE_URL");
  }
}

/** Whether a page comes from this server by another name of this machine, such as localhost for 127.0.0.1. */
function isSameServer(origin: string, own: URL): boolean {
  const page = URL.parse(origin);
  return page !== null && page.protocol === own.protocol && page.port === own.port && isLoopbackHost(page.hostname);
}

/** The tools that the query allows. Refuses an unknown parameter, because a misspelled limit would otherwise have no effect. */
function offeredTools(query: URLSearchParams): Permitted {
  for (const name of new Set(query.keys())) {
    if (name !== "tools" && name !== "inbox")
      throw wrong(name, "is not a parameter of this path (its parameters: tools, inbox)");
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
