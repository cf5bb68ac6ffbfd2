import {
  createMcpHandler,
  isLegacyRequest,
  type McpServerFactory,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { type Serving, serverFactory } from "./server.ts";

/**
 * Answers one request of Streamable HTTP, whose body has been read: of revision 2026-07-28, or of a client that begins with
 * `initialize`, by the same tools and with nothing kept in between. Always JSON, never a stream.
 */
export async function answerMcp(request: Request, body: unknown, serving: Serving): Promise<Response> {
  const factory = serverFactory(serving);
  if (await isLegacyRequest(request, body)) return answerLegacy(request, body, factory);
  // Nothing here changes that anybody could subscribe to.
  const handler = createMcpHandler(factory, { legacy: "reject", maxSubscriptions: 0, onerror: () => undefined });
  return handler.fetch(request, { parsedBody: body });
}

/** The SDK's own way to serve these answers with a stream of one event. */
async function answerLegacy(request: Request, body: unknown, factory: McpServerFactory): Promise<Response> {
  const { promise: gone, resolve } = Promise.withResolvers<Response>();
  const leave = () => resolve(new Response(null, { status: 499 }));
  request.signal.addEventListener("abort", leave, { once: true });
  const server = await factory({ era: "legacy", requestInfo: request });
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  try {
    await server.connect(transport);
    return await Promise.race([transport.handleRequest(takingBoth(request), { parsedBody: body }), gone]);
  } finally {
    request.signal.removeEventListener("abort", leave);
    // Ends what still waits where the client has gone.
    await server.close();
  }
}

/** The transport wants a client to take streams too, which it gets none of. */
function takingBoth({ url, method, headers, signal }: Request): Request {
  const own = new Headers(headers);
  own.set("accept", "application/json, text/event-stream");
  return new Request(url, { method, headers: own, signal });
}
