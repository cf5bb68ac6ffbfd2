import { expect, test } from "bun:test";
import { type Database, openDatabase } from "../../../src/database/db.ts";
import { insertRecentRequest } from "../../../src/store/account/recent-requests.ts";
import { migrate } from "../../../src/store/migrate.ts";
import { enginesHere, openEngine } from "../../support/engines.ts";

for (const engine of enginesHere()) {
  test(`Exactly the allowed number of simultaneous requests is counted, on ${engine}`, async () => {
    const under = await openEngine(engine);
    // The embedded database belongs to one process.
    const second = engine === "postgres" ? await openDatabase(under.options) : undefined;
    try {
      await migrate(under.db);
      const processes: Database[] = [under.db, second ?? under.db];
      const request = { accountId: "acc_1", action: "redeliver" as const, limit: 60, windowMs: 60_000 };
      const paces = await Promise.all(
        Array.from({ length: 40 }, () => processes.map(({ api }) => insertRecentRequest(api, request))).flat(),
      );
      expect(paces.filter(({ isWithin }) => isWithin).length).toBe(60);
    } finally {
      await second?.close();
      await under.remove();
    }
  });
}
