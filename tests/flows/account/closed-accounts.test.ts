import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../src/database/db.ts";
import { closedAccounts } from "../../../src/flows/account/closed-accounts.ts";
import { createAccount } from "../../../src/flows/account/manage-accounts.ts";
import { untilSo } from "../../support/until.ts";
import { startWorld } from "../../support/world.ts";

const never = 2 ** 31 - 1;

test.each([
  ["is lost is found when the accounts are read again", true, { heardMs: 10, deafMs: never }],
  ["cannot come is found as soon", false, { heardMs: never, deafMs: 10 }],
])(
  "a suspension whose signal %s",
  async (_, hears, periods) => {
    await using world = await startWorld();
    const { deps } = world.service;
    const { account } = await createAccount(deps, { name: "suspended", plan: "developer" });
    const closed = await closedAccounts(deps, periods);
    closed.setHearing(hears);
    const read = Promise.withResolvers<void>();
    closed.onChange(read.resolve);
    // Without a signal.
    await query(deps.db.api, sql`update accounts set suspended = 'all' where id = ${account.id}`);
    await read.promise;
    expect(closed.closureOf(account.id)).toBe("all");
    expect([...closed.suspended()]).toEqual([account.id]);
    closed.close();
  },
  30_000,
);

test("a suspension is found when signals come again", async () => {
  await using world = await startWorld();
  const { deps } = world.service;
  const { account } = await createAccount(deps, { name: "suspended", plan: "developer" });
  const closed = await closedAccounts(deps, { heardMs: never, deafMs: never });
  await query(deps.db.api, sql`update accounts set suspended = 'all' where id = ${account.id}`);
  closed.setHearing(true);
  await untilSo(() => closed.closureOf(account.id) === "all");
  closed.close();
}, 30_000);

test("a suspension is found soon after a reading that has failed", async () => {
  await using world = await startWorld();
  const { deps } = world.service;
  const { account } = await createAccount(deps, { name: "suspended", plan: "developer" });
  const table = (from: string, to: string) => sql`alter table ${sql.identifier(from)} rename to ${sql.identifier(to)}`;
  const failed = Promise.withResolvers<void>();
  const warn = () => failed.resolve();
  const closed = await closedAccounts({ ...deps, log: { ...deps.log, warn } as typeof deps.log });
  await query(deps.db.api, sql`update accounts set suspended = 'all' where id = ${account.id}`);
  await query(deps.db.api, table("accounts", "hidden"));
  closed.refresh();
  await failed.promise;
  await query(deps.db.api, table("hidden", "accounts"));
  await untilSo(() => closed.closureOf(account.id) === "all");
  closed.close();
}, 30_000);
