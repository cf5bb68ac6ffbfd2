import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import pino from "pino";
import { findDatabaseTime } from "../../src/database/clock.ts";
import { type DatabaseClock, startDatabaseClock } from "../../src/workers/database-clock.ts";
import { type EngineUnderTest, enginesHere, openEngine } from "../support/engines.ts";
import { until } from "../support/until.ts";
import { watchesClock } from "../support/watches-clock.ts";

describe.each(enginesHere())("the clock of the database (%s)", (engine) => {
  let under: EngineUnderTest;
  const clocks: DatabaseClock[] = [];
  const log: Record<string, unknown>[] = [];
  beforeAll(async () => {
    under = await openEngine(engine);
  });
  afterAll(() => under.remove());
  afterEach(async () => {
    for (const clock of clocks.splice(0)) await clock.stop();
  });

  /** With a count of our own that is as far ahead as told. */
  async function start() {
    const count = { aheadMs: 0 };
    const clock = await startDatabaseClock({
      db: under.db.work,
      log: pino({}, { write: (line: string) => void log.push(JSON.parse(line)) }),
      elapsedMs: () => performance.now() + count.aheadMs,
      lookEveryMs: 20,
    });
    clocks.push(clock);
    const aheadMs = async () => {
      const before = clock.now().getTime();
      const said = (await findDatabaseTime(under.db.work)).getTime();
      const after = clock.now().getTime();
      return Math.max(before - said, said - after, 0);
    };
    return { clock, count, aheadMs };
  }

  test("is told to a few milliseconds", watchesClock, async () => {
    const { aheadMs } = await start();
    expect(await aheadMs()).toBeLessThan(20);
  });

  test("is followed when it is set, forwards and back, and the log says so", async () => {
    const { count, clock } = await start();
    for (const aheadMs of [3_600_000, 0]) {
      const movedAfter = log.length;
      count.aheadMs = aheadMs;
      await until(() => log.length > movedAfter);
      expect(log.at(-1)).toMatchObject({ msg: "the database's clock was set" });
      expect(Math.abs(clock.now().getTime() - Date.now())).toBeLessThan(1000);
    }
  });
});
