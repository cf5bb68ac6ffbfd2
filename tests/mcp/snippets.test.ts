import { expect, test } from "bun:test";
import { join } from "node:path";
import { blocksOf } from "../support/documentation.ts";
import { startWorld } from "../support/world.ts";

const page = await Bun.file(join(import.meta.dir, "../../docs/mcp.md")).text();
const snippets = blocksOf(page)
  .filter(({ language }) => language === "json")
  .map(({ text, line }) => [line, JSON.parse(text)] as const);

test("there is a snippet for each of the usual clients", () => {
  expect(snippets).toHaveLength(4);
  expect(blocksOf(page).find(({ language }) => language === "sh")?.text).toMatch(
    /^claude mcp add --transport http inboxd https:\S+\/mcp --header "Authorization: Bearer ibx_…"\ncodex mcp add inboxd --url https:\S+\/mcp --bearer-token-env-var INBOXD_API_KEY$/m,
  );
});

test.each(snippets)("the snippet of line %i is valid for its client", (_, { mcpServers, servers, inputs }) => {
  for (const server of Object.values<Record<string, unknown>>(mcpServers ?? servers)) {
    if (server.type === "http") {
      expect(server).toEqual({
        type: "http",
        url: "https://mail.example.com/mcp",
        headers: { Authorization: expect.stringMatching(/^Bearer (?:ibx_…|\$\{input:inboxd-key\})$/) },
      });
    } else
      expect(server).toEqual({ command: "inboxd", args: expect.arrayContaining(["mcp"]), env: expect.any(Object) });
  }
  if (inputs !== undefined) expect(inputs[0]).toMatchObject({ id: "inboxd-key", type: "promptString", password: true });
});

test("the path of the snippets is that of the server", async () => {
  await using world = await startWorld();
  expect((await world.api("/mcp", { method: "POST", apiKey: null })).status).toBe(401);
});

test("the page lists each tool with its arguments", async () => {
  const { tools } = await import("../../src/mcp/tools.ts");
  for (const { name, input } of tools) {
    const row = page.split("\n").find((line) => line.startsWith(`| \`${name}\` |`)) ?? "";
    const taken = Array.from(row.matchAll(/`([a-z_]+)(\??)`/g), ([, argument, question]) => [
      argument,
      question === "?",
    ]);
    const takes = Object.keys(input.properties).map((argument) => [argument, !input.required?.includes(argument)]);
    expect([name, taken.slice(1)]).toEqual([name, takes]);
  }
});
