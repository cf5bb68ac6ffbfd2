import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { blocksOf } from "../support/documentation.ts";
import { haveForeignTools, howToInstall } from "../support/foreign-tools.ts";
import { type SdkProject, sdkProject } from "../support/sdk-project.ts";
import { startWorld, type World } from "../support/world.ts";

const blocks = blocksOf(readFileSync(join(import.meta.dir, "../../docs/frameworks.md"), "utf8"));
const blockWith = (text: string) => blocks.find((block) => block.text.includes(text))?.text ?? expect.unreachable();

const areInstalled = haveForeignTools();
if (!areInstalled) console.log(`Skipped: the agents' frameworks of the guide, which are not here; ${howToInstall}`);

let world: World;
let project: SdkProject;
beforeAll(async () => {
  if (areInstalled)
    project = sdkProject([
      "ai",
      "@ai-sdk/mcp",
      "@ai-sdk/provider",
      "@langchain/mcp-adapters",
      "@langchain/core",
      "@openai/agents",
      "langchain",
      "openai",
    ]);
  world = await startWorld();
  for (const [file, text] of [
    ["ai-sdk.ts", blockWith("@ai-sdk/mcp")],
    ["langchain.ts", blockWith("@langchain/mcp-adapters")],
    ["on-mail.ts", blockWith("onMail")],
    ["with-ai-sdk.ts", blockWith("withAiSdk")],
    ["with-agents.ts", blockWith("withAgents")],
    ["with-chat.ts", blockWith("withChat")],
    ["with-langchain.ts", blockWith("withLangChain")],
  ] as const)
    project?.write(file, text);
}, 60_000);
afterAll(async () => {
  project?.[Symbol.dispose]();
  await world?.[Symbol.asyncDispose]();
});

test.skipIf(!areInstalled)(
  "Their lines are what a strict compiler takes",
  async () => {
    expect(await project.compiled()).toBe("");
  },
  120_000,
);

/** Runs a program in the project, and returns what it prints. */
async function ran(file: string, program: string): Promise<string> {
  project.write(file, program);
  const child = Bun.spawn([process.execPath, join(project.directory, file)], {
    env: { PATH: process.env.PATH, INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [said, faults] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([await child.exited, faults]).toEqual([0, ""]);
  return said;
}

async function question(username: string): Promise<string> {
  const { address } = await world.inbox(username);
  await world.deliver(
    `From: Jane <jane@example.com>\r\nTo: ${address}\r\nSubject: Where is it?\r\n\r\nMy order?\r\n`,
    address,
  );
  return address;
}

test.skipIf(!areInstalled)(
  "In the AI SDK a model that calls tools answers a mail",
  async () => {
    await question("ada");
    const said = await ran(
      "run-ai-sdk.ts",
      `import { MockLanguageModelV4 } from "ai/test";
import { workThroughMail } from "./ai-sdk.ts";
const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
const call = (toolName, input) => ({ content: [{ type: "tool-call", toolCallId: toolName, toolName, input: JSON.stringify(input) }], finishReason: { unified: "tool-calls", raw: undefined }, usage, warnings: [] });
let step = 0;
const model = new MockLanguageModelV4({
  async doGenerate({ prompt }) {
    step += 1;
    const thread_id = /thr_[0-9a-z]{26}/.exec(JSON.stringify(prompt))?.[0];
    if (step === 1) return call("list_threads", {});
    if (step === 2) return call("read_thread", { thread_id });
    if (step === 3) return call("reply_to_thread", { thread_id, body: "On its way." });
    return { content: [{ type: "text", text: "Answered one mail." }], finishReason: { unified: "stop", raw: undefined }, usage, warnings: [] };
  },
});
console.log(await workThroughMail(model, "ada"));`,
    );
    expect(said).toBe("Answered one mail.\n");
    const { body } = await world.api(`/v1/inboxes?address=ada`);
    const messages = await world.api(`/v1/inboxes/${body.data[0].id}/messages?direction=outbound`);
    expect(messages.body.data).toMatchObject([
      { subject: "Re: Where is it?", status: "sent", toAddr: "jane@example.com" },
    ]);
  },
  60_000,
);

test.skipIf(!areInstalled)(
  "In LangChain the tools of one inbox list its mail",
  async () => {
    await question("bob");
    const said = await ran(
      "run-langchain.ts",
      `import { mailOf } from "./langchain.ts";
const client = mailOf("bob");
const tools = await client.getTools();
console.log(tools.map(({ name }) => name).join(" "));
console.log(await tools.find(({ name }) => name === "list_threads").invoke({}));
await client.close();`,
    );
    expect(said).toContain("list_threads");
    expect(said.split("\n")[0]).not.toContain("create_inbox");
    expect(said).toContain("Where is it?");
  },
  60_000,
);

/** The turns of the scripted model: it lists, reads, answers, and ends. `thread` is the text that it has seen so far. */
const script = `import { Inboxd } from "inboxd";
const inboxd = new Inboxd({ baseUrl: process.env.INBOXD_URL, apiKey: process.env.INBOXD_API_KEY });
let turn = 0;
function next(seen) {
  turn += 1;
  const text = JSON.stringify(seen);
  const thread_id = /thr_[0-9a-z]{26}/.exec(text)?.[0];
  if (turn === 1) return { name: "list_threads", input: {} };
  if (turn === 2) return { name: "read_thread", input: { thread_id } };
  if (turn === 3 && !text.includes("[[untrusted email")) throw new Error("The words of strangers are not marked");
  if (turn === 3) return { name: "reply_to_thread", input: { thread_id, body: "On its way." } };
  if (turn === 4) return { name: "read_thread", input: { thread_id: "thr_none" } };
  if (!text.includes("not_found: ")) throw new Error("The model does not see a failure");
  return "Answered one mail.";
}
`;

const models: readonly [framework: string, file: string, program: string][] = [
  [
    "the AI SDK",
    "with-ai-sdk.ts",
    `import { MockLanguageModelV4 } from "ai/test";
import { withAiSdk } from "./with-ai-sdk.ts";
const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
const model = new MockLanguageModelV4({
  async doGenerate({ prompt }) {
    const said = next(prompt);
    if (typeof said === "string") return { content: [{ type: "text", text: said }], finishReason: { unified: "stop", raw: undefined }, usage, warnings: [] };
    const call = { type: "tool-call", toolCallId: "call" + turn, toolName: said.name, input: JSON.stringify(said.input) };
    return { content: [call], finishReason: { unified: "tool-calls", raw: undefined }, usage, warnings: [] };
  },
});
console.log(await withAiSdk(model, inboxd, inbox));`,
  ],
  [
    "OpenAI's Agents",
    "with-agents.ts",
    `import { setTracingDisabled, Usage } from "@openai/agents";
import { withAgents } from "./with-agents.ts";
setTracingDisabled(true);
const model = {
  async getResponse({ input }) {
    const said = next(input);
    const output = typeof said === "string"
      ? { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: said }] }
      : { type: "function_call", callId: "call" + turn, name: said.name, status: "completed", arguments: JSON.stringify(said.input) };
    return { usage: new Usage(), output: [output] };
  },
  async *getStreamedResponse() {},
};
console.log(await withAgents(model, inboxd, inbox));`,
  ],
  [
    "chat completions",
    "with-chat.ts",
    `import OpenAI from "openai";
import { withChat } from "./with-chat.ts";
const openai = new OpenAI({
  apiKey: "none",
  baseURL: "http://model.invalid/v1",
  async fetch(_, { body }) {
    const { messages, tools } = JSON.parse(body);
    if (tools.length !== 13 || tools[0].function.parameters.type !== "object") throw new Error("The tools are not there");
    const said = next(messages);
    const message = typeof said === "string"
      ? { role: "assistant", content: said }
      : { role: "assistant", content: null, tool_calls: [{ id: "call" + turn, type: "function", function: { name: said.name, arguments: JSON.stringify(said.input) } }] };
    return Response.json({ id: "1", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, message, finish_reason: "stop" }] });
  },
});
console.log(await withChat(openai, "m", inboxd, inbox));`,
  ],
  [
    "LangChain",
    "with-langchain.ts",
    `import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage } from "@langchain/core/messages";
import { withLangChain } from "./with-langchain.ts";
class Scripted extends BaseChatModel {
  _llmType() { return "scripted"; }
  bindTools() { return this; }
  async _generate(messages) {
    const said = next(messages.map(({ content }) => content));
    const message = typeof said === "string"
      ? new AIMessage(said)
      : new AIMessage({ content: "", tool_calls: [{ id: "call" + turn, name: said.name, args: said.input }] });
    return { generations: [{ message, text: "" }] };
  }
}
console.log(await withLangChain(new Scripted({}), inboxd, inbox));`,
  ],
];

test.skipIf(!areInstalled).each(models)(
  "With the tools as functions, a model of %s answers a mail, and sees a failure",
  async (_, file, program) => {
    const username = file.replace(".ts", "");
    await question(username);
    const said = await ran(`run-${file}`, `${script}const inbox = "${username}";\n${program}`);
    expect(said).toBe("Answered one mail.\n");
    const { body } = await world.api(`/v1/inboxes?address=${username}`);
    const messages = await world.api(`/v1/inboxes/${body.data[0].id}/messages?direction=outbound`);
    expect(messages.body.data).toMatchObject([{ subject: "Re: Where is it?", toAddr: "jane@example.com" }]);
  },
  60_000,
);

test.skipIf(!areInstalled)(
  "The program that starts an agent hears of mail that came before, and not of a newsletter",
  async () => {
    const { id, address } = await world.inbox("carl");
    const newsletter = "From: shop@shop.example\r\nSubject: Sale\r\nPrecedence: bulk\r\n\r\nBuy.\r\n";
    await world.deliver(newsletter, address);
    await world.deliver("From: jane@example.com\r\nSubject: Where is it?\r\n\r\nMy order?\r\n", address);
    const threads = (await world.api(`/v1/inboxes/${id}/threads`)).body.data;
    expect(threads.map(({ subject }: { subject: string }) => subject)).toEqual(["Where is it?", "Sale"]);
    const said = await ran(
      "run-on-mail.ts",
      `import { onMail } from "./on-mail.ts";
await onMail("start", async (inbox, thread) => {
  if (inbox !== "${id}") return;
  console.log(thread);
  process.exit();
});`,
    );
    expect(said).toBe(`${threads[0].id}\n`);
  },
  60_000,
);
