import { expect, test } from "bun:test";
import { accountNamed, createAccount, revokeKey } from "../../../src/flows/account/manage-accounts.ts";
import { addKey, byCommandLine } from "../../../src/flows/account/manage-keys.ts";
import { listAuditEntries } from "../../../src/store/account/audit.ts";
import { startWorld } from "../../support/world.ts";

test("an account has as many keys as its quota allows, and the audit says who created and revoked them", async () => {
  await using world = await startWorld();
  const { deps } = world.service;
  await createAccount(deps, { name: "acme", plan: "developer", limits: { keys: 2 } });
  const account = await accountNamed(deps, "acme");
  const by = byCommandLine(account);
  const { info: second } = await addKey(deps, by, "second");
  await expect(addKey(deps, by, "third")).rejects.toThrow("Cannot create key: the limit of 2 keys is reached");
  expect(await revokeKey(deps, second.id)).toBeDefined();
  expect(await revokeKey(deps, second.id)).toBeUndefined();
  const { info: third } = await addKey(deps, by, "third");

  const all = { action: undefined, actor: undefined, targetId: undefined, since: undefined, until: undefined };
  const entries = await listAuditEntries(deps.db.api, { ...all, accountId: account.id, beforeId: undefined, limit: 9 });
  expect(entries.map(({ action, actorType, targetId }) => [action, actorType, targetId])).toEqual([
    ["key.created", "cli", third.id],
    ["key.revoked", "cli", second.id],
    ["key.created", "cli", second.id],
    ["account.created", "cli", account.id],
  ]);
});
