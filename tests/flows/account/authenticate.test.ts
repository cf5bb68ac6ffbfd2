import { afterAll, beforeAll, expect, test } from "bun:test";
import { wholeKey } from "../../../src/domain/access/key.ts";
import { authenticator } from "../../../src/flows/account/authenticate.ts";
import { createAccount, createKey } from "../../../src/flows/account/manage-accounts.ts";
import { sha256Hex } from "../../../src/standards/digest.ts";
import { insertApiKey, listApiKeys, markKeyRevoked } from "../../../src/store/account/keys.ts";
import { untilAnswered } from "../../support/until.ts";
import { startWorld, type World } from "../../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

test("a key is cached while revocations are received, but not if it is revoked during its look-up", async () => {
  const { deps } = world.service;
  const keys = authenticator(deps);
  keys.setHearing(true);
  const { account } = await createAccount(deps, { name: "asked twice", plan: "developer" });
  const [kept, raced] = await Promise.all([1, 2].map(() => createKey(deps, deps.db.api, { accountId: account.id })));
  if (kept === undefined || raced === undefined) throw new Error("No key was made");

  expect(await keys.authenticate(kept.key)).toMatchObject({ id: account.id });
  const lookedUp = keys.authenticate(raced.key);
  keys.forget(sha256Hex(raced.key));
  await lookedUp;

  // Revoked without a notification, so that only the cache can still answer. It does for 30 seconds.
  for (const { id } of [kept, raced]) await markKeyRevoked(deps.db.api, id, deps.now());
  expect(await keys.authenticate(kept.key)).toMatchObject({ id: account.id });
  expect(await keys.authenticate(raced.key)).toBeUndefined();
  world.clock.pass(30_000);
  expect(await keys.authenticate(kept.key)).toBeUndefined();
});

test("an unknown key is looked up once in five seconds, and works at once when it is created", async () => {
  const { deps } = world.service;
  const { account } = await createAccount(deps, { name: "guessed", plan: "developer" });
  const keys = authenticator(deps);
  keys.setHearing(true);
  const silent = "a key that is made silently, as if its notification were lost";
  expect(await keys.authenticate(silent)).toBeUndefined();
  const row = { id: "key_1", accountId: account.id, name: null, prefix: "", lastFour: "", createdAt: deps.now() };
  const rights = { ...wholeKey, allowedIps: [], createdBy: null, grantedBy: null, sendPolicy: null };
  await insertApiKey(deps.db.api, { ...row, ...rights, hash: sha256Hex(silent) });
  expect(await keys.authenticate(silent)).toBeUndefined();
  world.clock.pass(5_000);
  expect(await keys.authenticate(silent)).toMatchObject({ id: account.id });

  // The clock does not move: only a notification can cause another look-up.
  const told = "a-key-that-is-made-and-told-of";
  expect((await world.api("/v1/inboxes", { apiKey: told })).status).toBe(401);
  await createKey(deps, deps.db.api, { accountId: account.id, key: told });
  let status = 401;
  for (const until = performance.now() + 5_000; status === 401 && performance.now() < until; ) {
    ({ status } = await world.api("/v1/inboxes", { apiKey: told }));
  }
  expect(status).toBe(200);
});

test("the last use of a key is stored: the first use at once, later ones at intervals", async () => {
  const { deps } = world.service;
  const { account } = await createAccount(deps, { name: "used", plan: "developer" });
  const [first, second] = await Promise.all([1, 2].map(() => createKey(deps, deps.db.api, { accountId: account.id })));
  if (first === undefined || second === undefined) throw new Error("No key was made");
  const keys = authenticator(deps, undefined, 50);
  const uses = async () => {
    const listed = await listApiKeys(deps.db.api, {
      reach: { accountId: account.id },
      inboxId: undefined,
      externalId: undefined,
      isRevoked: undefined,
      limit: 10,
      offset: 0,
    });
    return [first, second].map(({ id }) => listed.find((key) => key.id === id)?.lastUsedAt?.getTime());
  };

  const firstUsedAt = deps.now().getTime();
  await keys.authenticate(first.key);
  await untilAnswered(async () => ((await uses())[0] === firstUsedAt ? true : undefined));
  world.clock.pass(1_000);
  const usedAt = deps.now().getTime();
  await keys.authenticate(first.key);
  await keys.authenticate(second.key);
  await untilAnswered(async () => ((await uses()).every((at) => at === usedAt) ? true : undefined));
  await keys.close();
});
