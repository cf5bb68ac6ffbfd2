import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Model, overHttp } from "../support/mcp.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
let model: Model;
beforeAll(async () => {
  world = await startWorld({ env: { MAIL_DOMAIN: "mail.acme.example" } });
  model = await overHttp(world, { query: "?tools=read&inbox=ada" });
});
afterAll(async () => {
  await model?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

test.each([
  ["history of a message", "What became of a message"],
  ["several agents on one inbox", "Several agents on one inbox"],
  ["suppressed addresses", "Suppressions"],
])("a model finds the section of the guides about %s", async (query, title) => {
  const { sections } = await model.call("search_docs", { query });
  expect(sections.map((section: { title: string }) => section.title)).toContainEqual(expect.stringContaining(title));
  expect(sections.length).toBeLessThanOrEqual(5);
});

test("a result is within its bounds, names this server, and is empty for words that no guide has", async () => {
  const { sections } = await model.call("search_docs", { query: "mail message webhook", limit: 10 });
  expect(sections).toHaveLength(10);
  for (const { text } of sections) expect(text.length).toBeLessThanOrEqual(3_000);
  const { sections: ofDomain } = await model.call("search_docs", { query: "mail.acme.example" });
  expect(ofDomain.length).toBeGreaterThan(0);
  expect(await model.call("search_docs", { query: "zyxwvut" })).toEqual({ sections: [] });
  expect(await model.call("search_docs", { query: "(((" })).toEqual({ sections: [] });
  expect(await model.failure("search_docs", { query: "x".repeat(201) })).toStartWith("validation_error");
});
