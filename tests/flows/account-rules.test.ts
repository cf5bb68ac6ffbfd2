import { afterAll, beforeAll, expect, test } from "bun:test";
import { accountRules } from "../../src/flows/account-rules.ts";
import { insertRows } from "../../src/store/rows.ts";
import { rules as rulesTable } from "../../src/store/schema.ts";
import { failureOf } from "../support/failure.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** Adds rules to an account, without a signal. */
async function addRules(accountId: string, count = 1): Promise<void> {
  const { db, newId, now } = world.service.deps;
  const rows = Array.from({ length: count }, () => {
    const id = newId("rul", now());
    const scope = { inboxId: "", externalId: "", note: null, createdAt: now() };
    return {
      id,
      accountId,
      ...scope,
      direction: "inbound" as const,
      action: "block" as const,
      pattern: `${id}.example`,
    };
  });
  await insertRows(db.api, rulesTable, rows);
}

test("rules are read once in 30 seconds, and again when they are forgotten", async () => {
  const { deps } = world.service;
  const known = accountRules(deps);
  const sizeOf = async (id: string) => (await known.find(deps.db.api, [id])).get(id)?.size;
  expect(known.recall("acc_1")).toBeUndefined();
  expect(await sizeOf("acc_1")).toBe(0);
  await addRules("acc_1");
  expect(await sizeOf("acc_1")).toBe(0);
  expect(known.recall("acc_1")?.size).toBe(0);
  known.forget("acc_1");
  expect(await sizeOf("acc_1")).toBe(1);
  await addRules("acc_1");
  world.clock.pass(29_999);
  expect(await sizeOf("acc_1")).toBe(1);
  world.clock.pass(1);
  expect(await sizeOf("acc_1")).toBe(2);
});

test("rules that change while they are read are read again by the next mail", async () => {
  const { deps } = world.service;
  const known = accountRules(deps);
  const reading = known.find(deps.db.api, ["acc_2"]);
  known.forget("acc_2");
  await addRules("acc_2");
  await reading;
  expect(known.recall("acc_2")).toBeUndefined();
  expect((await known.find(deps.db.api, ["acc_2"])).get("acc_2")?.size).toBe(1);
});

test("rules of several accounts are read at once, and each account has its own", async () => {
  const { deps } = world.service;
  await addRules("acc_3", 2);
  await addRules("acc_4", 3);
  const found = await accountRules(deps).find(deps.db.api, ["acc_3", "acc_4", "acc_5", "acc_3"]);
  expect([...found].map(([id, { size }]) => [id, size])).toEqual([
    ["acc_3", 2],
    ["acc_4", 3],
    ["acc_5", 0],
  ]);
});

test("a read that fails is not remembered", async () => {
  const { deps } = world.service;
  const known = accountRules(deps);
  const broken = { execute: () => Promise.reject(new Error("away")) } as never;
  expect(await failureOf(known.find(broken, ["acc_6"]))).toBeInstanceOf(Error);
  expect((await known.find(deps.db.api, ["acc_6"])).get("acc_6")?.size).toBe(0);
});

test("the memory is bounded by its accounts and by its rules", async () => {
  const { deps } = world.service;
  await addRules("acc_7", 4);
  const known = accountRules(deps, { mostAccounts: 2, mostRemembered: 5 });
  await known.find(deps.db.api, ["acc_7", "acc_8"]);
  await known.find(deps.db.api, ["acc_9"]);
  expect(["acc_7", "acc_8", "acc_9"].map((id) => known.recall(id)?.size)).toEqual([undefined, 0, 0]);
  await addRules("acc_8", 4);
  known.forget("acc_8");
  await known.find(deps.db.api, ["acc_7"]);
  await known.find(deps.db.api, ["acc_8"]);
  expect(["acc_7", "acc_8"].map((id) => known.recall(id)?.size)).toEqual([undefined, 4]);
});
