import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import pino from "pino";
import { query, transaction } from "../../../src/database/db.ts";
import { Refusal } from "../../../src/domain/errors.ts";
import { perPlan } from "../../../src/domain/limits.ts";
import type { SearchCondition } from "../../../src/domain/search-question.ts";
import { searchPage } from "../../../src/flows/read/search-messages.ts";
import { migrate } from "../../../src/store/migrate.ts";
import { enginesHere, openEngine } from "../../support/engines.ts";

// The embedded engine has no time-outs, because it runs one statement at a time.
test.skipIf(!enginesHere().includes("postgres"))(
  "A search that takes too long has its own error, different from a database failure",
  async () => {
    const under = await openEngine("postgres", { timeouts: { statementMs: 200 } });
    try {
      await migrate(under.db);
      const deps = { db: under.db.api, log: pino({ level: "silent" }), searchWords: perPlan(() => "all" as const) };
      const counts = {
        messageCount: 3,
        inboundCount: 3,
        threadCount: 1,
        unreadCount: 1,
        archiveCount: 0,
        trashCount: 0,
      };
      const removed = { removedCount: 0, removedInboundCount: 0, lastRemovedSeq: 0, lastRemovedInboundSeq: 0 };
      const totals = { id: "inb_a", ...counts, ...removed };
      const conditions: SearchCondition[] = [{ kind: "words", field: "any", question: "hello" }];
      const asked = { since: undefined, until: undefined, limit: 10, offset: 0, after: undefined };
      const refused = await transaction(under.db.work, async (tx) => {
        await query(tx, sql`lock table message_search in access exclusive mode`);
        return searchPage(deps, totals, conditions, asked).catch((error: unknown) => error);
      });
      expect(refused).toBeInstanceOf(Refusal);
      expect(refused).toMatchObject({
        reason: "service_unavailable",
        message: expect.stringContaining("it takes too long; use rarer words"),
      });
      expect(await searchPage(deps, totals, conditions, asked)).toMatchObject({ messages: [], total: 0 });
    } finally {
      await under.remove();
    }
  },
);
