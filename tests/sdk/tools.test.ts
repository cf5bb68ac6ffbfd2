import { afterAll, beforeAll, expect, test } from "bun:test";
import { Inboxd } from "../../sdk/typescript/src/inboxd.ts";
import { answerChatCalls, chatTools, inboxTools } from "../../sdk/typescript/src/tools.ts";
import { type Permitted, permitted, tools } from "../../src/mcp/tools.ts";
import { failureOf } from "../support/failure.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
let inboxd: Inboxd;
beforeAll(async () => {
  world = await startWorld();
  inboxd = new Inboxd({ baseUrl: world.service.apiUrl, apiKey: world.apiKey, retries: 0 });
  await inboxd.inboxes.create({ username: "ada" });
});
afterAll(() => world[Symbol.asyncDispose]());

const call = (name: string, input: string) => ({
  id: `call-${name}`,
  type: "function",
  function: { name, arguments: input },
});

test("the tools are those of MCP, with their names, descriptions and arguments", async () => {
  const made = await inboxTools(inboxd);
  expect(made.map(({ name, description }) => [name, description])).toEqual(
    tools.map(({ name, description }) => [name, description]),
  );
  for (const { name, inputSchema } of made) {
    const input = tools.find((tool) => tool.name === name)?.input;
    expect(Object.keys(inputSchema.properties)).toEqual(Object.keys(input?.properties ?? {}));
    expect(inputSchema).toMatchObject({ type: "object", required: input?.required ?? [], additionalProperties: false });
  }
  expect(chatTools(made).map(({ function: { name } }) => name)).toEqual(made.map(({ name }) => name));
});

test("they are limited to one inbox, to reading, or to some tools", async () => {
  const names = async (reach: Parameters<typeof inboxTools>[1]) =>
    (await inboxTools(inboxd, reach)).map(({ name }) => name);
  const { tools: reading } = permitted("read", "ada") as Permitted;
  expect(await names({ inbox: "ada", tools: "read" })).toEqual(reading.map(({ name }) => name));
  expect(await names({ tools: ["send_email", "list_threads"] })).toEqual(["list_threads", "send_email"]);
  expect(await failureOf(names({ tools: ["delete_inbox"] }))).toMatchObject({ status: 400 });

  const [list] = await inboxTools(inboxd, { inbox: "ada", tools: ["list_threads"] });
  expect(JSON.parse((await list?.execute({})) ?? "")).toMatchObject({ threads: [], total: 0 });
  expect(await list?.execute({ inbox: "another" })).toStartWith("not_found: Cannot find inbox");
});

test("what a model asks for is answered call by call, also what is no tool, or no JSON", async () => {
  const all = await inboxTools(inboxd);
  const messages = await answerChatCalls(all, [
    call("list_inboxes", ""),
    call("list_threads", '{"inbox": "ada"}'),
    call("drop_database", "{}"),
    call("send_email", "{"),
    { id: "custom", type: "custom" },
  ]);
  expect(messages.map(({ role, tool_call_id }) => [role, tool_call_id])).toEqual(
    ["call-list_inboxes", "call-list_threads", "call-drop_database", "call-send_email", "custom"].map((id) => [
      "tool",
      id,
    ]),
  );
  const contents = messages.map(({ content }) => content);
  expect(JSON.parse(contents[0] ?? "")).toMatchObject({ total: 1 });
  expect(contents[2]).toStartWith("not_found: ");
  expect(contents[3]).toStartWith("validation_error: ");
  expect(contents[4]).toStartWith("not_found: ");
  expect(await answerChatCalls(all)).toEqual([]);
});

test("a wait of a tool ends with the signal of its caller", async () => {
  const [wait] = await inboxTools(inboxd, { inbox: "ada", tools: ["wait_for_message"] });
  const controller = new AbortController();
  const waiting = wait?.execute({ timeout: 50 }, { signal: controller.signal });
  controller.abort(new Error("enough"));
  expect(String(await failureOf(waiting))).toContain("enough");
});

test("a wrong key throws, since no model can mend it", async () => {
  const stranger = new Inboxd({ baseUrl: world.service.apiUrl, apiKey: "ibx_wrong", retries: 0 });
  expect(await failureOf(inboxTools(stranger))).toMatchObject({ status: 401, code: "unauthorized" });
});
