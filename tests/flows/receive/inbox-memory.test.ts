import { expect, test } from "bun:test";
import type { ReadInbox } from "../../../src/domain/receive/known-of-mails.ts";
import { inboxMemory } from "../../../src/flows/receive/inbox-memory.ts";

test("an inbox is cached for two seconds", () => {
  const { memory, pass } = memoryWithClock();
  memory.remember([inbox("a", 1), inbox("b", 1)]);
  pass(1_999);
  memory.remember([inbox("b", 2)]);
  expect(memory.recall(["b", "a"])?.map(({ revision }) => revision)).toEqual([2, 1]);
  pass(1);
  expect(memory.recall(["b", "a"])).toBeUndefined();
  expect(memory.recall(["b"])).toHaveLength(1);
});

test("if one of several is not cached, all are read", () => {
  const { memory } = memoryWithClock();
  memory.remember([inbox("a")]);
  expect(memory.recall(["a", "b"])).toBeUndefined();
});

test("an inbox that other processes write to is not cached for ten seconds", () => {
  const { memory, pass } = memoryWithClock();
  memory.remember([inbox("a"), inbox("b")]);
  memory.mistrust(["a"]);
  expect(memory.recall(["a"])).toBeUndefined();
  pass(9_999);
  memory.remember([inbox("a"), inbox("b")]);
  expect(memory.recall(["a"])).toBeUndefined();
  expect(memory.recall(["b"])).toHaveLength(1);
  pass(1);
  memory.remember([inbox("a")]);
  expect(memory.recall(["a"])).toHaveLength(1);
});

test("an inbox that another process has changed before a write is contested for a second", () => {
  const { memory, pass } = memoryWithClock();
  memory.contest(["a"]);
  expect([memory.isContested(["b", "a"]), memory.isContested(["b"])]).toEqual([true, false]);
  pass(999);
  expect(memory.isContested(["a"])).toBe(true);
  pass(1);
  expect(memory.isContested(["a"])).toBe(false);
});

test("the cache has a limit", () => {
  const { memory } = memoryWithClock();
  for (let number = 0; number < 10_001; number++) memory.remember([inbox(`inbox ${number}`)]);
  expect(memory.recall(["inbox 0"])).toBeUndefined();
  expect(memory.recall(["inbox 10000"])).toHaveLength(1);
});

function memoryWithClock() {
  let nowMs = Date.parse("2026-03-21T10:00:00Z");
  return {
    memory: inboxMemory(() => new Date(nowMs)),
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

function inbox(id: string, revision = 1): ReadInbox {
  return {
    id,
    revision,
    accountId: "acc",
    username: id,
    messageCount: 0,
    inboundCount: 0,
    threadCount: 0,
    unreadCount: 0,
    archiveCount: 0,
    trashCount: 0,
    storageBytes: 0,
    lastMessageAt: null,
    lastMessageId: null,
    sentOn: null,
    sentCount: 0,
    disabled: false,
  };
}
