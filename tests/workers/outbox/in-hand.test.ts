import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import pino from "pino";
import { query } from "../../../src/database/db.ts";
import type { ClaimedItem } from "../../../src/store/outbox/claims.ts";
import { kinds } from "../../../src/store/outbox/kinds.ts";
import { insertOutboxItems } from "../../../src/store/outbox/outbox-rows.ts";
import { rowsInHand } from "../../../src/workers/outbox/in-hand.ts";
import { enginesHere } from "../../support/engines.ts";
import { setUpEngine } from "../../support/set-up-engine.ts";
import { untilAnswered, untilSo } from "../../support/until.ts";

const at = new Date("2026-03-21T10:05:00.000Z");

describe.each(enginesHere())("A row in hand (%s)", (engine) => {
  const under = setUpEngine(engine);

  test("whose lease could not be renewed has it renewed at the next look", async () => {
    const db = under.db.work;
    const row = { subjectId: "evt_1", eventId: "evt_1", accountId: "A", inboxId: "1", lane: "A" };
    await insertOutboxItems(db, [{ ...row, kind: "webhook", dueAt: at, createdAt: at }]);
    await query(db, sql`update outbox set state = 'running', attempt = 1`);
    const dueAt = async () => (await query<{ dueAt: Date }>(db, sql`select due_at as "dueAt" from outbox`))[0]?.dueAt;

    const warnings: string[] = [];
    const log = pino({}, { write: (line: string) => void warnings.push(JSON.parse(line).msg) });
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const settlement = { subjectId: "evt_1", attempt: 1, dueAt: null };
    const inHand = rowsInHand(
      { db, now: () => at, log },
      {
        kind: kinds.webhook,
        leaseMs: 3000,
        attempt: async () => {
          await over;
          return { settlement, leaving: "answered" };
        },
        failed: () => settlement,
      },
    );
    const item: ClaimedItem = { ...row, attempt: 1, forgivenAttempts: 0, createdAt: at, turn: null, hasMore: false };
    const concluded = inHand.attempt(item, async () => undefined);
    await query(db, sql`alter table outbox rename to outbox_away`);
    await untilSo(() => {
      if (warnings.length === 0) inHand.renewIfTime();
      return warnings.length > 0;
    });
    await query(db, sql`alter table outbox_away rename to outbox`);
    inHand.renewIfTime();
    await untilAnswered(async () => ((await dueAt())?.getTime() === at.getTime() + 3000 ? true : undefined));
    expect(warnings).toEqual(["cannot renew leases"]);
    end();
    await concluded;
  });
});
