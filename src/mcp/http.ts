import {
  createMcpHandler,
  isLegacyRequest,
  type McpServerFactory,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { type Serving, serverFactory } from "./server.ts";

/**
 * Answers one request of Streamable HTTP with its parsed body. The client may use revision 2026-07-28, or begin with `initialize` as
 * older clients do. The answer is always JSON, never a stream, and no state is kept.
 */
export async function answerMcp(request: Request, body: unknown, serving: Serving): Promise<Response> {
  const factory = serverFactory(serving);
  if (await isLegacyRequest(request, body)) return answerLegacy(request, body, factory);
  // No subscriptions, because the server has nothing that a client could subscribe to.
  const handler = createMcpHandler(factory, { legacy: "reject", maxSubscriptions: 0, onerror: () => undefined });
  return handler.fetch(request, { parsedBody: body });
}

/** Answers an older client in JSON. The SDK's own handler would answer with a stream of one event. */
async function answerLegacy(request: Request, body: unknown, factory: McpServerFactory): Promise<Response> {
  const { promise: hungUp, resolve } = Promise.withResolvers<Response>();
  const leave = () => resolve(new Response(null, { status: 499 }));
  request.signal.addEventListener("abort", leave, { once: true });
  const server = await factory({ era: "legacy", requestInfo: request });
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  try {
    await server.connect(transport);
    return await Promise.race([transport.handleRequest(acceptingStreams(request), { parsedBody: body }), hungUp]);
  } finally {
    request.signal.removeEventListener("abort", leave);
    // Ends calls that still wait after the client has hung up.
    await server.close();
  }
}

/**
 * Copies a request without its body, with an Accept header that includes event streams. The transport requires that
 * header, although it answers in JSON here.
 */
function acceptingStreams({ url, method, headers, signal }: Request): Request {
  const own = new Headers(headers);
  own.set("accept", "application/json, text/event-stream");
  return new Request(url, { method, headers: own, signal });
}
