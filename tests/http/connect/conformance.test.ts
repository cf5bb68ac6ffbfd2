import { expect, test } from "bun:test";
import { connecting } from "../../support/connecting.ts";
import { startWorld, type World } from "../../support/world.ts";

/*
 * The conformance suite of the protocol, as an outside judge: its scenarios for servers that need no tools of their own. It sends no
 * credentials, so a proxy adds them.
 */

const scenarios = ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"];

function withCredential(world: World, credential: string) {
  const server = Bun.serve({
    port: 0,
    async fetch(request): Promise<Response> {
      const { pathname, search } = new URL(request.url);
      const headers = new Headers(request.headers);
      headers.set("authorization", `Bearer ${credential}`);
      // For the suite the proxy is the server.
      const origin = headers.get("origin");
      if (origin !== null) headers.set("origin", origin.replace(`:${server.port}`, `:${world.service.apiUrl.port}`));
      const body = request.method === "POST" ? await request.text() : undefined;
      const url = new URL(`${pathname}${search}`, world.service.apiUrl);
      return fetch(url, { method: request.method, headers, ...(body !== undefined && { body }) });
    },
  });
  return server;
}

async function judged(url: string, scenario: string) {
  const command = ["conformance", "server", "--url", url, "--scenario", scenario];
  const suite = Bun.spawn([process.execPath, "x", "--bun", ...command], { stdout: "pipe", stderr: "pipe" });
  const [output, errors, code] = await Promise.all([
    new Response(suite.stdout).text(),
    new Response(suite.stderr).text(),
    suite.exited,
  ]);
  return code === 0 ? "passed" : `${output}\n${errors}`;
}

test("the conformance suite passes at /mcp and, with the token of a grant, at /mcp/connect", async () => {
  await using world = await startWorld({ database: "embedded" });
  const by = await connecting(world);
  const { body } = await by.redeem(await by.code());
  const results: unknown[] = [];
  for (const [path, credential] of [
    ["/mcp", world.apiKey],
    ["/mcp/connect", body.access_token ?? ""],
  ] as const) {
    const proxy = withCredential(world, credential);
    for (const scenario of scenarios)
      results.push([path, scenario, await judged(`http://127.0.0.1:${proxy.port}${path}`, scenario)]);
    await proxy.stop(true);
  }
  expect(results).toEqual(
    ["/mcp", "/mcp/connect"].flatMap((path) => scenarios.map((scenario) => [path, scenario, "passed"])),
  );
}, 120_000);
