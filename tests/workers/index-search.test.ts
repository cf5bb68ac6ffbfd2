import { afterEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import pino from "pino";
import { query } from "../../src/store/db.ts";
import { type SearchIndexer, startSearchIndexer } from "../../src/workers/index-search.ts";
import { takeIn } from "../support/arrivals.ts";
import { enginesHere } from "../support/engines.ts";
import { oneWorldOn } from "../support/world-on.ts";

for (const engine of enginesHere()) {
  describe(`The search indexer on ${engine}`, () => {
    const world = oneWorldOn(engine);
    const started: SearchIndexer[] = [];
    afterEach(async () => {
      for (const indexer of started.splice(0)) await indexer.stop();
    });

    const indexed = async (inboxId: string) =>
      query<{ seq: number; words: string }>(
        world().service.deps.db.work,
        sql`select seq, words::text as words from message_search where inbox_id = ${inboxId} order by seq`,
      );

    async function untilIndexed(inboxId: string, count: number) {
      for (;;) {
        const rows = await indexed(inboxId);
        if (rows.length >= count) return rows;
        await Bun.sleep(20);
      }
    }

    /** The turn as the table has it. */
    async function turn() {
      const [row] = await query<{ holder: string; leasedUntil: Date }>(
        world().service.deps.db.work,
        sql`select holder, leased_until as "leasedUntil" from search_indexing`,
      );
      return row;
    }

    test("indexes what comes, unasked, each message once and in order", async () => {
      const inboxes = [await world().inbox(), await world().inbox()];
      const mails = Array.from({ length: 70 }, (_, index) => ({ subject: `unasked${index}` }));
      for (const inbox of inboxes) await takeIn(world().service.deps, inbox, mails);
      for (const inbox of inboxes) {
        const rows = await untilIndexed(inbox.id, 70);
        expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 70 }, (_, index) => index + 1));
        expect(rows[69]?.words).toContain("'unasked");
      }
      const [first] = inboxes;
      await takeIn(world().service.deps, first ?? { id: "", address: "" }, mails.slice(0, 3));
      expect(await untilIndexed(first?.id ?? "", 73)).toHaveLength(73);
    }, 20_000);

    test("one process has the turn, until it gives it back or its lease is over", async () => {
      const { deps } = world().service;
      const inbox = await world().inbox();
      await takeIn(deps, inbox, [{}]);
      await untilIndexed(inbox.id, 1);
      const held = await turn();
      expect(held?.leasedUntil.getTime()).toBeGreaterThan(deps.now().getTime());

      const log = pino({ level: "silent" });
      const another = startSearchIndexer({ ...deps, log });
      started.push(another);
      await takeIn(deps, inbox, [{}]);
      await untilIndexed(inbox.id, 2);
      expect((await turn())?.holder).toBe(held?.holder ?? "");

      // The clock of the other one says that the lease is over.
      const late = new Date((held?.leasedUntil.getTime() ?? 0) + 1);
      started.push(startSearchIndexer({ ...deps, log, now: () => late }));
      while ((await turn())?.holder === held?.holder) await Bun.sleep(20);
      await started.pop()?.stop();
      expect((await turn())?.leasedUntil).toEqual(late);
    }, 20_000);
  });
}
