import { expect, test } from "bun:test";
import { statusOf } from "../../src/domain/errors.ts";
import { whileTelling } from "../../src/mcp/message-tools.ts";
import { instructionsWithin, remedies } from "../../src/mcp/texts.ts";
import type { Progress } from "../../src/mcp/tool.ts";
import { permitted, tools } from "../../src/mcp/tools.ts";

const namesOf = (words?: string, inbox?: string) => {
  const offered = permitted(words, inbox);
  return typeof offered === "string" ? offered : offered.tools.map(({ name }) => name);
};

test("there are fifteen tools, of which nine change nothing", () => {
  expect(namesOf()).toEqual([
    "list_inboxes",
    "create_inbox",
    "list_threads",
    "read_thread",
    "search_messages",
    "read_message",
    "read_attachment",
    "wait_for_message",
    "send_email",
    "reply_to_thread",
    "list_drafts",
    "cancel_message",
    "mark_thread",
    "mark_threads",
    "search_docs",
  ]);
  expect(namesOf("read")).toEqual([
    "list_inboxes",
    "list_threads",
    "read_thread",
    "search_messages",
    "read_message",
    "read_attachment",
    "wait_for_message",
    "list_drafts",
    "search_docs",
  ]);
});

test("a list of names selects tools in their own order, and a limit to one inbox removes the tools for the account", () => {
  expect(namesOf("send_email, list_inboxes")).toEqual(["list_inboxes", "send_email"]);
  expect(namesOf(undefined, "ada")).toHaveLength(13);
  expect(namesOf("list_inboxes,create_inbox,send_email", "ada")).toEqual(["send_email"]);
  for (const words of ["delete_inbox", "", "read,send_email", "constructor"]) {
    expect(namesOf(words)).toStartWith("must be read, or some of list_inboxes,");
  }
});

test("no tool deletes, and none touches webhooks, keys or settings", () => {
  for (const { name } of tools) expect(name).not.toMatch(/delete|remove|webhook|key|setting/);
});

test("the instructions have at most 1,200 characters, also with those for one inbox", () => {
  expect(instructionsWithin("a".repeat(500)).length).toBeLessThanOrEqual(1_200);
});

test("each argument of a tool that takes others is refused, and each is described or plain", () => {
  for (const { input, output } of tools) {
    expect(input.additionalProperties).toBe(false);
    expect(output.type).toBe("object");
  }
});

test("no schema has a list of types, which clients with another notation of schemas refuse", () => {
  for (const { input, output } of tools) {
    expect(JSON.stringify([input, output])).not.toMatch(/"type":\[/);
  }
});

test("a wait tells its seconds until it ends", async () => {
  const told: number[] = [];
  const third = Promise.withResolvers<string>();
  const progress: Progress = ({ progress: seconds }) => {
    told.push(seconds);
    if (told.length === 3) third.resolve("mail");
  };
  expect(await whileTelling(progress, 25, () => third.promise, 1)).toBe("mail");
  expect(told).toEqual([0, 0.001, 0.002]);
});

test("the advice at a limit that ends within a minute names the tool that lets the time pass", () => {
  expect(remedies.rate_limit_exceeded).toContain("wait_for_message");
});

test("the advice is for existing failures", () => {
  for (const code of Object.keys(remedies)) expect(Object.keys(statusOf)).toContain(code);
});
