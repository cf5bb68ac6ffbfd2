import { afterAll, beforeAll, expect, test } from "bun:test";
import { wholeKey } from "../../src/domain/access/key.ts";
import { createKey } from "../../src/flows/account/manage-accounts.ts";
import { openCalls } from "../../src/flows/open-calls.ts";
import { findFirstAccount } from "../../src/store/account/accounts.ts";
import { until } from "../support/until.ts";
import { watchedDb } from "../support/watched-db.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

/** Open requests whose seconds are milliseconds, and the number of times that keys were read. */
function calls() {
  const { deps } = world.service;
  let reads = 0;
  const api = watchedDb(
    deps.db.api,
    () => undefined,
    ({ text }) => {
      if (text.includes("operator_keys")) reads += 1;
    },
  );
  const open = openCalls({ ...deps, db: { ...deps.db, api }, secondMs: 2, isOwnKey: (id) => id === "own" });
  return { ...open, reads: () => reads, [Symbol.dispose]: open.stop };
}

async function newKey(expiresAt: Date | null = null): Promise<string> {
  const { deps } = world.service;
  const account = await findFirstAccount(deps.db.api);
  const asked = { accountId: account?.id ?? "", settings: { ...wholeKey, expiresAt } };
  return (await createKey(deps, deps.db.api, asked)).id;
}

test("an open request ends when its key does, also if the key got its end later", async () => {
  using open = calls();
  const at = (ms: number) => new Date(world.clock.now().getTime() + ms);
  const said: string[] = [];
  const add = (name: string, keyId: string, expiresAt?: Date) =>
    open.add({ caller: { keyId, expiresAt }, ip: null, forbid: (reason) => void said.push(`${name} ${reason}`) });
  add("token", await newKey(), at(60_000));
  add("changed", await newKey(at(60_000)));
  add("later", await newKey(at(120_000)));
  add("own", "own");
  const left = add("left", "key_that_there_is_not");
  left();
  await until(() => open.reads() > 1);
  world.clock.pass(60_000);
  await until(() => said.length === 2);
  expect(said).toEqual(["token expired", "changed expired"]);
  const seen = open.reads();
  await until(() => open.reads() > seen + 1);
  expect(said).toHaveLength(2);
});
