import { afterAll, beforeAll, expect, test } from "bun:test";
import { sha256Hex } from "../../src/domain/digest.ts";
import { authenticator } from "../../src/flows/authenticate.ts";
import { createAccount, createKey } from "../../src/flows/manage-accounts.ts";
import { markKeyRevoked } from "../../src/store/accounts.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 30_000);
afterAll(() => world[Symbol.asyncDispose]());

test("a key is remembered while revocations are heard, but not when it was revoked while it was looked up", async () => {
  const { deps } = world.service;
  const keys = authenticator(deps);
  keys.setHearing(true);
  const { account } = await createAccount(deps, { name: "asked twice", plan: "developer" });
  const [kept, raced] = await Promise.all([1, 2].map(() => createKey(deps, deps.db.api, account.id)));
  if (kept === undefined || raced === undefined) throw new Error("No key was made");

  expect(await keys.authenticate(kept.key)).toMatchObject({ id: account.id });
  const lookedUp = keys.authenticate(raced.key);
  keys.forget(sha256Hex(raced.key));
  await lookedUp;

  // Silently, so that only what is remembered can still answer.
  for (const { id } of [kept, raced]) await markKeyRevoked(deps.db.api, id, deps.now());
  expect(await keys.authenticate(kept.key)).toMatchObject({ id: account.id });
  expect(await keys.authenticate(raced.key)).toBeUndefined();
});
