import { beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { type Db, query } from "../../../src/database/db.ts";
import {
  countLivingKeys,
  findApiKey,
  findKeyHolder,
  listApiKeys,
  listLivingKeys,
} from "../../../src/store/account/keys.ts";
import { enginesHere } from "../../support/engines.ts";
import { setUpEngine } from "../../support/set-up-engine.ts";

const keys = 10_000;
const accountId = "acc_of_many_keys";

describe.each(enginesHere())("10,000 keys of an account on %s", (engine) => {
  const under = setUpEngine(engine);
  beforeAll(async () => {
    const { api } = under.db;
    await query(
      api,
      sql`insert into accounts (id, name, plan, created_at) values (${accountId}, 'many', 'developer', now())`,
    );
    await query(
      api,
      sql`insert into api_keys (id, account_id, hash, prefix, last_four, created_at)
          select 'key_' || lpad(n::text, 8, '0'), ${accountId}, 'hash ' || n, '', '', now()
          from generate_series(1, ${keys}::int) n`,
    );
    await api.script("analyze api_keys; analyze accounts");
  }, 60_000);

  const reads: [what: string, read: (db: Db) => Promise<unknown>][] = [
    ["found by their hashes", (db) => findKeyHolder(db, "hash 7")],
    ["found by their ids", (db) => findApiKey(db, { accountId }, "key_00000007")],
    ["checked for open streams", (db) => listLivingKeys(db, ["key_00000007"], new Date())],
    ["listed", (db) => listApiKeys(db, firstPage)],
  ];
  test.each(reads)("are %s by an index: few blocks are read, as of 10 keys", async (_what, read) => {
    expect(await blocksOf(under.db.api, read)).toBeLessThan(20);
  });

  test("are counted in one pass before another one is created", async () => {
    expect(await countLivingKeys(under.db.api, accountId)).toBe(keys);
    expect(await blocksOf(under.db.api, (db) => countLivingKeys(db, accountId))).toBeLessThan(600);
  });
});

const firstPage = {
  reach: { accountId },
  inboxId: undefined,
  externalId: undefined,
  isRevoked: undefined,
  limit: 50,
  offset: 0,
};

/** The number of blocks that a read has the database look at, which does not depend on how busy the machine is. */
async function blocksOf(db: Db, read: (db: Db) => Promise<unknown>): Promise<number> {
  let blocks = 0;
  await read({
    ...db,
    async run(text, values) {
      const [plan] = await db.run(`explain (analyze, buffers, format json) ${text}`, values);
      const [, hit = "", missed = ""] =
        /"Shared Hit Blocks": ?(\d+),\s*"Shared Read Blocks": ?(\d+)/.exec(JSON.stringify(plan).replaceAll("\\", "")) ??
        [];
      blocks += Number(hit) + Number(missed);
      return db.run(text, values);
    },
  });
  expect(blocks).toBeGreaterThan(0);
  return blocks;
}
