import {
  createMcpHandler,
  isLegacyRequest,
  type McpServerFactory,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { type Serving, serverFactory } from "./server.ts";

/**
 * Answers one request of Streamable HTTP with its parsed body. The client may use revision 2026-07-28, or begin with `initialize` as
 * older clients do. The answer is JSON, or a stream of events for a call whose client asks for its progress. No state is kept.
 */
export async function answerMcp(request: Request, body: unknown, serving: Serving): Promise<Response> {
  const factory = serverFactory(serving);
  if (await isLegacyRequest(request, body)) return answerLegacy(request, body, factory);
  // No subscriptions, because the server has nothing that a client could subscribe to.
  const handler = createMcpHandler(factory, { legacy: "reject", maxSubscriptions: 0, onerror: () => undefined });
  return handler.fetch(request, { parsedBody: body });
}

/** Answers an older client in JSON if it asks for no progress. The SDK's own handler would always answer with a stream. */
async function answerLegacy(request: Request, body: unknown, factory: McpServerFactory): Promise<Response> {
  const { promise: hungUp, resolve } = Promise.withResolvers<Response>();
  const leave = () => resolve(new Response(null, { status: 499 }));
  request.signal.addEventListener("abort", leave, { once: true });
  const server = await factory({ era: "legacy", requestInfo: request });
  const isStream = wantsProgress(body) && takesStreams(request);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !isStream });
  // Ends calls that still wait after the client has hung up.
  const end = async () => {
    request.signal.removeEventListener("abort", leave);
    await server.close();
  };
  let response: Response | undefined;
  try {
    await server.connect(transport);
    response = await Promise.race([transport.handleRequest(acceptingStreams(request), { parsedBody: body }), hungUp]);
  } finally {
    if (!isStream || response?.body == null) await end();
  }
  return isStream && response.body !== null ? new Response(endedBy(response.body, end), response) : response;
}

function wantsProgress(body: unknown): boolean {
  const { params } = (body ?? {}) as { params?: { _meta?: { progressToken?: unknown } } };
  return params?._meta?.progressToken !== undefined;
}

function takesStreams({ headers }: Request): boolean {
  return headers.get("accept")?.includes("text/event-stream") ?? false;
}

/** A stream with the same bytes, which calls `end` when the bytes end or the reader leaves. */
function endedBy(bytes: ReadableStream<Uint8Array>, end: () => Promise<void>): ReadableStream<Uint8Array> {
  const reader = bytes.getReader();
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await reader.read();
      if (!done) return controller.enqueue(value);
      controller.close();
      await end();
    },
    async cancel(reason) {
      await reader.cancel(reason);
      await end();
    },
  });
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
