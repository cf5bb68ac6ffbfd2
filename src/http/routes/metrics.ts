import { Elysia } from "elysia";
import { Refusal } from "../../domain/errors.ts";
import { isSameSecret } from "../../standards/signature.ts";
import { bearerKey } from "../shell/auth.ts";
import type { Fetching } from "../shell/timed-app.ts";

export interface MetricsDeps {
  /** The metrics in Prometheus' text format. */
  text: () => Promise<string>;
  contentType: string;
  /** Undefined if no token is needed. */
  token: string | undefined;
}

/** `/metrics` on the API's port. It is for the operator, so the document of the API leaves it out. */
export function metrics(deps: MetricsDeps) {
  return new Elysia().get(
    "/metrics",
    ({ request }) => {
      if (!mayRead(request, deps.token)) throw unauthorized();
      return answer(deps);
    },
    { parse: "none", detail: { hide: true } },
  );
}

/** `/metrics` on a port of its own. */
export function metricsPort(deps: MetricsDeps): Fetching {
  return {
    async fetch(request) {
      if (new URL(request.url).pathname !== "/metrics") return plainAnswer(404, "Metrics are at /metrics");
      if (request.method !== "GET" && request.method !== "HEAD")
        return plainAnswer(405, "Metrics are read by GET", "allow");
      if (!mayRead(request, deps.token)) return plainAnswer(401, "/metrics needs METRICS_TOKEN as Bearer token", "www");
      return answer(deps);
    },
  };
}

async function answer({ text, contentType }: MetricsDeps): Promise<Response> {
  return new Response(await text(), { headers: { "content-type": contentType, "cache-control": "no-store" } });
}

function mayRead(request: Request, token: string | undefined): boolean {
  return token === undefined || isSameSecret(bearerKey(request.headers.get("authorization")), token);
}

function unauthorized(): Refusal {
  return new Refusal("unauthorized", "Cannot read /metrics: METRICS_TOKEN is needed as Bearer token", {
    headers: { "www-authenticate": "Bearer" },
  });
}

function plainAnswer(status: number, text: string, extra?: "allow" | "www"): Response {
  const headers = new Headers({ "content-type": "text/plain; charset=utf-8" });
  if (extra === "allow") headers.set("allow", "GET, HEAD");
  if (extra === "www") headers.set("www-authenticate", "Bearer");
  return new Response(`${text}\n`, { status, headers });
}
