import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { findClient } from "../../../src/flows/connect/find-client.ts";
import { registerClient } from "../../../src/flows/connect/register-client.ts";
import { version } from "../../../src/version.ts";
import { webhookClient } from "../../../src/webhook/client.ts";
import { prune } from "../../../src/workers/prune.ts";
import { enginesHere } from "../../support/engines.ts";
import { oneWorldOn } from "../../support/world-on.ts";

describe("A client with a metadata document", () => {
  let server: Bun.Server<undefined>;
  /** Documents by path, and other answers. */
  const answers: Record<string, (origin: string) => Response> = {
    "/good": (origin) =>
      Response.json({ client_id: `${origin}/good`, client_name: "Good", redirect_uris: ["https://a.example/cb"] }),
    "/other-id": (origin) => Response.json({ client_id: `${origin}/good`, redirect_uris: ["https://a.example/cb"] }),
    "/moved": (origin) => Response.redirect(`${origin}/good`),
    "/long": (origin) =>
      Response.json({ client_id: `${origin}/long`, redirect_uris: ["https://a.example/cb"], more: "x".repeat(6_144) }),
    "/page": () => new Response("<html>"),
    "/script": (origin) => Response.json({ client_id: `${origin}/script`, redirect_uris: ["javascript:alert(1)"] }),
    "/silent": () => new Response(new ReadableStream()),
  };
  beforeAll(() => {
    server = Bun.serve({
      port: 0,
      fetch(request) {
        const { pathname, origin } = new URL(request.url);
        return answers[pathname]?.(origin) ?? new Response("", { status: 404 });
      },
    });
  });
  afterAll(() => server.stop(true));

  const find = (path: string, { allowPrivate = true } = {}) => {
    const documents = webhookClient({ allowPrivate, version, timeoutMs: 500 });
    // No document is in the database.
    return findClient(
      { documents, allowHttp: allowPrivate, db: undefined as never },
      `http://127.0.0.1:${server.port}${path}`,
    );
  };

  test("is found by its address", async () => {
    expect(await find("/good")).toEqual({
      id: `http://127.0.0.1:${server.port}/good`,
      name: "Good",
      redirectUris: ["https://a.example/cb"],
    });
  });

  test.each([
    ["/other-id", "has another client_id"],
    ["/moved", "answered 302"],
    ["/long", "is longer than 5120 bytes"],
    ["/page", "is not valid: it must be a JSON object"],
    ["/script", "is not valid: each of `redirect_uris`"],
    ["/missing", "answered 404"],
    ["/silent", "timed out"],
    ["/", "neither a registered id nor an https address"],
    ["/good#part", "neither a registered id nor an https address"],
    ["/a/../good", "neither a registered id nor an https address"],
  ])("is refused for the document %s, which %s", async (path, words) => {
    expect(await find(path)).toContain(words);
  });

  test("is not looked for at an address that is not public, or without TLS", async () => {
    expect(await find("/good", { allowPrivate: false })).toContain("neither a registered id nor an https address");
    const documents = webhookClient({ allowPrivate: false, version });
    for (const host of ["127.0.0.1", "10.0.0.1", "[::1]", "169.254.169.254", "localhost"])
      expect(
        await findClient({ documents, allowHttp: false, db: undefined as never }, `https://${host}/client.json`),
      ).toContain("cannot be read");
  });
});

for (const engine of enginesHere()) {
  describe(`The registration of clients, on ${engine}`, () => {
    const world = oneWorldOn(engine);
    const metadata = { name: "Program", redirectUris: ["https://a.example/cb"] };

    test("ends at 1,000 that nobody has used, which are removed after a day", async () => {
      const { deps } = world().service;
      const register = (count: number) =>
        Promise.all(
          Array.from({ length: 10 }, (_, index) => registerClient(deps, metadata, `192.0.${count}.${index}`)),
        );
      for (let count = 0; count < 100; count += 1) expect(await register(count)).not.toContain(undefined);
      expect(await registerClient(deps, metadata, "192.0.2.1")).toBeUndefined();
      world().clock.pass(86_400_000);
      await prune({ ...deps, eventRetentionDays: 30 });
      world().clock.pass(1);
      await prune({ ...deps, eventRetentionDays: 30 });
      expect(await registerClient(deps, metadata, "192.0.2.1")).toBeDefined();
    });
  });
}
