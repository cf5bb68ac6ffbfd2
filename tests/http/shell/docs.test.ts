import { afterAll, describe, expect, test } from "bun:test";
import { guidePages } from "../../../src/http/docs/guide-pages.ts";
import { openDoor } from "../../support/http-door.ts";
import { expectWholeDocument } from "../../support/openapi.ts";

const door = openDoor();
afterAll(() => door.server.stop(0));

const document = async () => (await door.ask("GET", "/openapi.json")).json();

describe("The document", () => {
  test("is valid and whole", async () => {
    await expectWholeDocument(await document());
  });

  test("has each operation once, and what is no operation not at all", async () => {
    const { paths } = await document();
    const operations = Object.entries(paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    expect(operations.sort()).toEqual([
      "delete /v1/boxes/{id}",
      "get /docs",
      "get /healthz",
      "get /openapi.json",
      "get /readyz",
      "get /v1/boxes",
      "get /v1/boxes/{id}",
      "get /v1/boxes/{id}/slow",
      "get /v1/boxes/{id}/{trouble}",
      "post /v1/boxes",
      "post /v1/boxes/anything",
      "post /v1/boxes/empty",
      "post /v1/boxes/{id}/send",
    ]);
  });

  test("tells what the schemas judge, in words of JSON Schema alone", async () => {
    const { paths } = await document();
    const { schema, example } = paths["/v1/boxes"].post.requestBody.content["application/json"];
    expect(schema.required).toEqual(["size"]);
    expect(schema.properties).toMatchObject({
      size: { type: "integer", minimum: 1, maximum: 9 },
      name: { type: "string", minLength: 1, maxLength: 5 },
      kind: { type: "string", enum: ["flat", "tall"] },
      fragile: { type: "boolean" },
    });
    expect(schema.properties.to).toEqual({ type: "string", pattern: "^[a-z]+@[a-z]+$", examples: ["ada@example"] });
    expect(example).toMatchObject({ size: 1, kind: "flat", fragile: true, to: "ada@example" });
  });

  test("has an example that the operation itself takes", async () => {
    const { paths } = await document();
    const { example } = paths["/v1/boxes"].post.requestBody.content["application/json"];
    const headers = { "content-type": "application/json" };
    expect((await door.ask("POST", "/v1/boxes", { headers, body: JSON.stringify(example) })).status).toBe(201);
  });

  test("shows each refusal as the door would tell it", async () => {
    const { paths } = await document();
    const refused = paths["/v1/boxes/{id}/send"].post.responses;
    expect(Object.keys(refused)).toEqual(["200", "400", "401", "403", "404", "409", "413", "415", "422", "500", "503"]);
    expect(Object.keys(refused["400"].content["application/problem+json"].examples)).toEqual([
      "invalid_query",
      "invalid_json",
      "validation_error",
      "missing_idempotency_key",
      "invalid_idempotency_key",
    ]);
    expect(refused["409"].content["application/problem+json"].examples.idempotency_in_progress.value).toMatchObject({
      title: "Conflict",
      status: 409,
      detail: "Cannot send box: the first request with this key still runs",
    });
  });

  test("asks for no parameter that has a default, and tells of it", async () => {
    const { parameters } = (await document()).paths["/v1/boxes"].get;
    expect(parameters.filter(({ required }: { required: boolean }) => required)).toEqual([]);
    expect(parameters[0]).toMatchObject({ name: "limit", schema: { default: 50 } });
    const { properties } = (await document()).paths["/v1/boxes"].post.requestBody.content["application/json"].schema;
    expect(properties.fragile).not.toHaveProperty("default");
    expect(properties.fragile.description).toEndWith("(default: true)");
  });

  test("says which operations need a key, and which headers come back", async () => {
    const { paths, components, security } = await document();
    expect(security).toEqual([{ apiKey: [] }]);
    expect(components.securitySchemes.apiKey).toMatchObject({ type: "http", scheme: "bearer" });
    expect(paths["/healthz"].get.security).toEqual([]);
    expect(paths["/v1/boxes"].get.security).toBeUndefined();
    expect(Object.keys(paths["/v1/boxes"].post.responses["201"].headers)).toEqual(["X-Request-Id", "Location"]);
  });
});

describe("The page", () => {
  test("asks for nothing that this service does not serve itself", async () => {
    const page = await door.ask("GET", "/docs");
    const html = await page.text();
    const loaded = Array.from(
      html.matchAll(/<(?:link|script|img)[^>]* (?:src|href)="([^"]+)"/g),
      ([, address = ""]) => address,
    );
    expect(loaded).toEqual(["favicon.svg", "docs/viewer.css", "docs/viewer.js"]);
    for (const address of loaded.slice(1)) {
      const asked = await fetch(new URL(address, page.url));
      expect([asked.status, asked.headers.get("x-content-type-options")]).toEqual([200, "nosniff"]);
      expect(await asked.text()).not.toMatch(/https?:\/\/|@import|\burl\(/);
    }
  });

  test("may load from here alone, and the browser sees to it", async () => {
    const page = await door.ask("GET", "/docs");
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toStartWith("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).not.toMatch(/https?:|\*|unsafe/);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  });

  test("shows each operation and each guide", async () => {
    const html = await (await door.ask("GET", "/docs")).text();
    const { paths } = await document();
    const operations = Object.values(paths as Record<string, Record<string, { operationId: string }>>).flatMap(
      (methods) => Object.values(methods).map(({ operationId }) => operationId),
    );
    for (const id of [...operations, ...Object.keys(guidePages)])
      expect([id, html.includes(` id="${id}"`)]).toEqual([id, true]);
  });

  test("is small, and smaller still for who takes it compressed", async () => {
    const sizes = await Promise.all(
      ["/docs", "/docs/viewer.js", "/docs/viewer.css"].map(async (path) => {
        const whole = await door.ask("GET", path, { headers: { "accept-encoding": "identity" } });
        const packed = await door.ask("GET", path, { headers: { "accept-encoding": "gzip" } });
        expect([whole.headers.get("content-encoding"), packed.headers.get("content-encoding")]).toEqual([null, "gzip"]);
        const text = await whole.text();
        expect(await packed.text()).toBe(text);
        return text.length;
      }),
    );
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(1_500_000);
  });

  test.each(["/docs", "/docs/viewer.js", "/docs/viewer.css"])(
    "is not sent again where the browser has it: %s",
    async (path) => {
      const etag = (await door.ask("GET", path)).headers.get("etag") ?? "";
      const again = await door.ask("GET", path, { headers: { "if-none-match": etag } });
      expect([again.status, await again.text()]).toEqual([304, ""]);
      expect((await door.ask("GET", path, { headers: { "if-none-match": '"older"' } })).status).toBe(200);
    },
  );
});
