import { expect, test } from "bun:test";
import { accountNamed, createAccount, revokeKey } from "../../../src/flows/account/manage-accounts.ts";
import { addKey, byCommandLine } from "../../../src/flows/account/manage-keys.ts";
import { listAuditEntries } from "../../../src/store/account/audit.ts";
import { failureOf } from "../../support/failure.ts";
import { startWorld } from "../../support/world.ts";

test("an account has as many keys as its quota allows, they name the cell, and the audit says who created and revoked them", async () => {
  await using world = await startWorld({ env: { CELL: "Z9" } });
  const { deps } = world.service;
  await createAccount(deps, { name: "acme", plan: "developer", limits: { keys: 2 } });
  const account = await accountNamed(deps, "acme");
  const by = byCommandLine(account);
  const made = await addKey(deps, by, "second");
  const { info: second } = made;
  expect(String(await failureOf(addKey(deps, by, "third")))).toContain(
    "Cannot create key: the limit of 2 keys is reached",
  );
  const { body: token } = await world.api("/v1/tokens", { method: "POST" });
  expect(token.token).toStartWith("ibt_Z9");
  expect(made.key).toMatch(/^ibx_Z9[0-9A-Za-z]{41}$/);
  expect(await revokeKey(deps, second.id)).toBeTrue();
  expect(await revokeKey(deps, second.id)).toBeFalse();
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
