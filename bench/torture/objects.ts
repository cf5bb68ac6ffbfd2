import { sql } from "drizzle-orm";
import { type Database, query } from "../../src/database/db.ts";
import type { Chance } from "../../tests/support/chance.ts";
import {
  away,
  haveObjectStore,
  type ObjectStore,
  passing,
  startObjectStore,
  type Treatment,
} from "../../tests/support/object-store.ts";
import type { Ledger } from "./ledger.ts";

/** An object store that refuses, delays, hides its answers and is away for seconds, until it behaves. */
export interface TortureObjects {
  store: ObjectStore;
  behave(): void;
}

/** Undefined if no server of objects is installed. */
export async function startObjects(ledger: Ledger, chance: Chance): Promise<TortureObjects | undefined> {
  if (!haveObjectStore()) {
    ledger.count("no object store: s3rver is not installed");
    return undefined;
  }
  const store = await startObjectStore();
  let awayUntilMs = 0;
  const moody: Treatment = async (request, pass) => {
    ledger.count(`object store: ${request.method}`);
    if (Date.now() < awayUntilMs) return away(request, pass);
    if (chance.is(0.005)) awayUntilMs = Date.now() + chance.whole(500, 8000);
    if (chance.is(0.03)) return away(request, pass);
    if (chance.is(0.03)) await Bun.sleep(chance.whole(10, 1500));
    const answer = await pass();
    // It has done what was asked, and the answer is lost.
    return chance.is(0.03) ? away(request, pass) : answer;
  };
  store.treat(moody);
  return { store, behave: () => store.treat(passing) };
}

/**
 * Each segment with pieces has its object. An object without a row may be left by a process that stood still for a day of the hurried clock
 * and was killed then.
 */
export async function checkObjects(ledger: Ledger, db: Database, { store }: TortureObjects): Promise<void> {
  const there = new Set(await store.names());
  const named = await query<{ id: string; pieces: number }>(
    db.api,
    sql`select segment_id as id, count(*)::int as pieces from source_chunks where segment_id is not null group by segment_id`,
  );
  for (const { id, pieces } of named) {
    ledger.count("pieces in segments", pieces);
    if (!there.has(id)) ledger.violation("I1", `segment ${id} with ${pieces} pieces has no object`);
  }
  if (named.length === 0) ledger.violation("I1", "no raw mail was packed");
}
