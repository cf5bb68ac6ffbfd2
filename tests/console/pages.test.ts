import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const ask = (path: string, headers: Record<string, string> = {}) => world.fetch(path, { apiKey: null, headers });

/** The paths of the scripts and styles of a page. */
async function assetsOf(path: string): Promise<string[]> {
  const page = await (await ask(path)).text();
  const named = page.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g);
  return Array.from(named, ([, address = ""]) => new URL(address, new URL(path, world.service.apiUrl)).pathname);
}

describe("The console's pages", () => {
  test("allow only their own scripts, requests and frames", async () => {
    const page = await ask("/console/inboxes/inb_1");
    expect(page.headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
    expect(page.headers.get("cross-origin-opener-policy")).toBe("same-origin");
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    expect(page.headers.get("cache-control")).toBe("no-store");
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("find their script and style at every depth, also behind a proxy with a path prefix", async () => {
    const assets = await assetsOf("/console/");
    expect(assets).toEqual([
      expect.stringMatching(/^\/console\/assets\/console-\w+\.css$/),
      expect.stringMatching(/^\/console\/assets\/console-\w+\.js$/),
    ]);
    for (const path of ["/console/inboxes", "/console/inboxes/inb_1", "/console/events/evt_1"]) {
      expect(await assetsOf(path)).toEqual(assets);
    }
    const redirect = await fetch(new URL("/console", world.service.apiUrl), { redirect: "manual" });
    expect([redirect.status, redirect.headers.get("location")]).toEqual([302, "console/"]);
  });

  test("name at most 60 kB of scripts and 10 kB of styles, which are cached without limit", async () => {
    const sizesBytes: Record<string, number> = {};
    for (const path of await assetsOf("/console/")) {
      const asset = await ask(path, { "accept-encoding": "gzip" });
      expect(asset.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      const text = await (await ask(path, { "accept-encoding": "identity" })).text();
      sizesBytes[path.split(".").at(-1) ?? ""] = Bun.gzipSync(text, { level: 9 }).length;
    }
    expect(sizesBytes).toEqual({ js: expect.any(Number), css: expect.any(Number) });
    expect(sizesBytes.js).toBeLessThanOrEqual(60_000);
    expect(sizesBytes.css).toBeLessThanOrEqual(10_000);
    expect((await ask("/console/assets/console-old.js")).status).toBe(404);
  });

  test("do not exist with CONSOLE=0", async () => {
    await using without = await startWorld({ database: "embedded", env: { CONSOLE: "0" } });
    for (const path of ["/console", "/console/", "/console/inboxes", "/console/assets/x.js"]) {
      expect((await without.fetch(path, { apiKey: null })).status).toBe(404);
    }
  });
});
