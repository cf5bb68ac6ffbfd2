import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "../../src/database/db.ts";
import { watchDatabase } from "../../src/metrics/database.ts";
import { registry } from "../../src/metrics/registry.ts";
import { migrate } from "../../src/store/migrate.ts";
import { insertOutboxItems } from "../../src/store/outbox/outbox-rows.ts";
import { enginesHere, openEngine } from "../support/engines.ts";
import { parsedMetrics } from "../support/metrics.ts";

const at = new Date("2026-03-21T10:05:00.000Z");
const later = (seconds: number) => new Date(at.getTime() + seconds * 1000);

test.each(enginesHere())(
  "on %s the outbox is counted by kind and state, with the age of its oldest",
  async (engine) => {
    const { db, remove } = await openEngine(engine);
    try {
      await migrate(db);
      const item = { accountId: "acc", inboxId: "inb", lane: "example.com", dueAt: at };
      await insertOutboxItems(db.api, [
        { ...item, subjectId: "msg_1", kind: "relay", createdAt: at },
        { ...item, subjectId: "msg_2", kind: "relay", createdAt: later(30) },
        { ...item, subjectId: "evt_1", kind: "webhook", createdAt: later(60) },
        { ...item, subjectId: "src_1", kind: "parse", createdAt: later(80) },
      ]);
      await db.maintain((runner) => runner.script("update outbox set state = 'waiting' where subject_id = 'msg_1'"));

      const metrics = registry();
      watchDatabase(metrics, db, () => later(90));
      const seen = parsedMetrics(await metrics.text());
      const outbox = (kind: string, state: string) =>
        ["items", "oldest_seconds"].map((what) => seen.get(`inboxd_outbox_${what}{kind="${kind}",state="${state}"}`));
      expect(outbox("relay", "waiting")).toEqual([1, 90]);
      expect(outbox("relay", "ready")).toEqual([1, 60]);
      expect(outbox("webhook", "ready")).toEqual([1, 30]);
      expect(outbox("webhook", "running")).toEqual([0, 0]);
      expect(outbox("parse", "ready")).toEqual([1, 10]);
      expect(seen.get("inboxd_database_up")).toBe(1);

      // However often it is asked, it is counted once in a while.
      await db.maintain((runner) => runner.script("delete from outbox"));
      const again = parsedMetrics(await metrics.text());
      expect(again.get('inboxd_outbox_items{kind="relay",state="ready"}')).toBe(1);
    } finally {
      await remove();
    }
  },
  60_000,
);

test("a database that is away is said to be, and nothing is said of what it holds", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "ibx-metrics-"));
  const db = await openDatabase({ dataDir });
  await db.close();
  const metrics = registry();
  watchDatabase(metrics, db, () => at);
  const told = parsedMetrics(await metrics.text());
  expect(told.get("inboxd_database_up")).toBe(0);
  expect([...told.keys()].filter((name) => name.startsWith("inboxd_outbox"))).toEqual([]);
  rmSync(dataDir, { recursive: true });
}, 60_000);
