import { beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { type Db, query } from "../../../src/database/db.ts";
import {
  pruneStep,
  removeColdSendsBefore,
  removeInboxRows,
  removeKeysUsedBefore,
  removeOldRequests,
} from "../../../src/store/upkeep/pruning.ts";
import { enginesHere } from "../../support/engines.ts";
import { setUpEngine } from "../../support/set-up-engine.ts";

for (const engine of enginesHere()) {
  describe(`A step of tidying up, with the ${engine} database`, () => {
    const under = setUpEngine(engine);
    beforeAll(async () => {
      // Two accounts or inboxes that differ in nothing but their name, so that a key that is not whole takes too much.
      await query(
        under.db.api,
        sql`insert into idempotency_keys (account_id, operation, key, fingerprint, subject_id, created_at)
          select account, operation, 'key ' || n, '', '', timestamptz '2026-03-01' + n * interval '1 day'
          from unnest(array['acc_1', 'acc_2']) account, unnest(array['send', 'create_inbox']) operation, generate_series(1, 5) n`,
      );
      await query(
        under.db.api,
        sql`insert into cold_sends (inbox_id, recipient, sent_on, count)
          select inbox, 'r' || r, date '2026-03-01' + n, 1
          from unnest(array['ibx_1', 'ibx_2']) inbox, generate_series(1, 3) r, generate_series(1, 5) n`,
      );
      await query(
        under.db.api,
        sql`insert into recent_requests (account_id, action, asked_at) values
          ('acc_1', 'redeliver', array[now() - interval '2 days']), ('acc_1', 'test_webhook', array[now()])`,
      );
    });

    async function stepsOf(step: (tx: Db) => Promise<number>): Promise<number[]> {
      const counts: number[] = [];
      while (counts.at(-1) !== 0) counts.push((await pruneStep(under.db.work, step)) ?? Number.NaN);
      return counts;
    }

    async function left(table: string): Promise<number> {
      return (await query(under.db.api, sql`select from ${sql.identifier(table)}`)).length;
    }

    test("takes so many rows, the oldest first, and what is not old never", async () => {
      const thirdDay = new Date("2026-03-04T00:00:00Z");
      expect(await stepsOf((tx) => removeKeysUsedBefore(tx, thirdDay, 5))).toEqual([5, 5, 2, 0]);
      expect(await left("idempotency_keys")).toBe(8);
      expect(await stepsOf((tx) => removeColdSendsBefore(tx, "2026-03-04", 5))).toEqual([5, 5, 2, 0]);
      expect(await left("cold_sends")).toBe(18);
      expect(await stepsOf((tx) => removeOldRequests(tx, 5))).toEqual([1, 0]);
      expect(await left("recent_requests")).toBe(1);
    });

    test("takes the rows of one inbox", async () => {
      expect((await stepsOf((tx) => removeInboxRows(tx, "ibx_1", 500))).at(0)).toBe(9);
      expect(await left("cold_sends")).toBe(9);
    });

    test("is planned anew each time, and nothing else is", async () => {
      const mode = sql`select current_setting('plan_cache_mode') as mode`;
      const before = await query(under.db.work, mode);
      const seen: unknown[] = [];
      await pruneStep(under.db.work, async (tx) => seen.push(...(await query(tx, mode))));
      expect(seen).toEqual([{ mode: "force_custom_plan" }]);
      expect(before).not.toEqual(seen);
      expect(await query(under.db.work, mode)).toEqual(before);
    });
  });
}
