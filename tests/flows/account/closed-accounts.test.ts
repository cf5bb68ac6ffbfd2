import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../src/database/db.ts";
import { closedAccounts } from "../../../src/flows/account/closed-accounts.ts";
import { createAccount } from "../../../src/flows/account/manage-accounts.ts";
import { startWorld } from "../../support/world.ts";

test("a suspension whose signal is lost is found when the accounts are read again", async () => {
  await using world = await startWorld();
  const { deps } = world.service;
  const { account } = await createAccount(deps, { name: "suspended", plan: "developer" });
  const closed = await closedAccounts(deps, 10);
  const read = Promise.withResolvers<void>();
  // Without a signal.
  await query(deps.db.api, sql`update accounts set suspended = 'all' where id = ${account.id}`);
  closed.onRead(() => {
    if (closed.closureOf(account.id) !== undefined) read.resolve();
  });
  await read.promise;
  expect(closed.closureOf(account.id)).toBe("all");
  expect([...closed.suspended()]).toEqual([account.id]);
  closed.close();
}, 30_000);
