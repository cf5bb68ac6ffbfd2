import type { Fetching } from "./timed-app.ts";

/** Request headers that pages of other origins may set. */
const allowedHeaders = [
  "Authorization",
  "Content-Type",
  "Idempotency-Key",
  "If-Match",
  "Last-Event-ID",
  "Prefer",
  "X-Request-Id",
].join(", ");

const allowedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE";

/** Response headers that pages of other origins may read. A test compares them with the document. */
export const exposedHeaders = [
  "Allow",
  "Content-Disposition",
  "Content-Range",
  "ETag",
  "Idempotent-Replayed",
  "Location",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "WWW-Authenticate",
  "X-Request-Id",
];

const rememberedSeconds = 7_200;

/**
 * Lets pages of other origins call /v1 with a key or a token, never with cookies. A preflight carries no key, so it is
 * answered before the key is checked.
 */
export function corsApp(app: Fetching, origins: readonly string[] | "*"): Fetching {
  const isAllowed = (origin: string) => origins === "*" || origins.includes(origin);
  return {
    async fetch(request) {
      if (!isOfApi(request.url)) return app.fetch(request);
      const origin = request.headers.get("origin");
      const allowed = origin !== null && isAllowed(origin) ? origin : undefined;
      if (allowed !== undefined && isPreflight(request)) return preflightAnswer(allowed);
      const answer = await app.fetch(request);
      answer.headers.append("vary", "Origin");
      if (allowed !== undefined) {
        answer.headers.set("access-control-allow-origin", allowed);
        answer.headers.set("access-control-expose-headers", exposedHeaders.join(", "));
      }
      return answer;
    },
  };
}

function isOfApi(url: string): boolean {
  const path = new URL(url).pathname;
  return path === "/v1" || path.startsWith("/v1/");
}

function isPreflight(request: Request): boolean {
  return request.method === "OPTIONS" && request.headers.has("access-control-request-method");
}

function preflightAnswer(origin: string): Response {
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-origin": origin,
      "access-control-allow-methods": allowedMethods,
      "access-control-allow-headers": allowedHeaders,
      "access-control-max-age": String(rememberedSeconds),
      vary: "Origin",
    },
  });
}
