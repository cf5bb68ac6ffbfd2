import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { exposedHeaders } from "../../../src/http/shell/cors.ts";
import { startWorld, type World } from "../../support/world.ts";

const origin = "https://app.example.com";
let world: World;
beforeAll(async () => {
  world = await startWorld({ env: { CORS_ORIGINS: `${origin}, http://localhost:5173` } });
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

const preflight = (from: string) => ({
  method: "OPTIONS",
  apiKey: null,
  headers: { origin: from, "access-control-request-method": "POST", "access-control-request-headers": "authorization" },
});

describe("A page of another origin", () => {
  test("passes the preflight without a key", async () => {
    const { status, headers } = await world.fetch("/v1/inboxes", preflight(origin));
    expect(status).toBe(204);
    expect(headers.get("access-control-allow-origin")).toBe(origin);
    expect(headers.get("access-control-allow-headers")).toBe(
      "Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, Prefer, X-Request-Id",
    );
    expect(headers.get("access-control-allow-methods")).toContain("PATCH");
    expect(headers.get("access-control-allow-credentials")).toBe(null);
    expect(headers.get("vary")).toBe("Origin");
  });

  test("may read every header in the document", async () => {
    const { headers } = await world.fetch("/v1/inboxes", { headers: { origin } });
    expect(headers.get("access-control-expose-headers")).toBe(exposedHeaders.join(", "));
    const { body } = await world.api("/openapi.json");
    const named = new Set<string>();
    for (const [path, methods] of Object.entries<Record<string, { responses: object }>>(body.paths)) {
      if (!path.startsWith("/v1/")) continue;
      for (const { responses } of Object.values(methods))
        for (const answer of Object.values<{ headers?: object }>(responses as Record<string, { headers?: object }>))
          for (const name of Object.keys(answer.headers ?? {})) named.add(name);
    }
    expect([...named].filter((name) => !exposedHeaders.includes(name))).toEqual([]);
  });

  test("may also read a refusal, whose Vary has both", async () => {
    const { status, headers } = await world.fetch("/v1/inboxes", { headers: { origin }, apiKey: null });
    expect(status).toBe(401);
    expect(headers.get("access-control-allow-origin")).toBe(origin);
    expect(headers.get("vary")).toBe("Accept, Origin");
  });

  test("that is not allowed gets no CORS headers, and responses still vary", async () => {
    const { status, headers } = await world.fetch("/v1/inboxes", preflight("https://evil.example"));
    expect([status, headers.get("access-control-allow-origin")]).toEqual([401, null]);
    const answer = await world.fetch("/v1/inboxes", { headers: { origin: "https://evil.example" } });
    expect([answer.status, answer.headers.get("access-control-allow-origin"), answer.headers.get("vary")]).toEqual([
      200,
      null,
      "Origin",
    ]);
  });

  test("is not allowed outside of the API", async () => {
    const { headers } = await world.fetch("/healthz", { headers: { origin } });
    expect(headers.get("access-control-allow-origin")).toBe(null);
  });
});

test("Without CORS_ORIGINS there are no CORS headers", async () => {
  await using plain = await startWorld();
  const { headers } = await plain.fetch("/v1/inboxes", { headers: { origin } });
  expect([headers.get("access-control-allow-origin"), headers.get("vary")]).toEqual([null, null]);
  expect((await plain.fetch("/v1/inboxes", preflight(origin))).status).toBe(401);
}, 60_000);
