import { expect, test } from "bun:test";
import { alarm } from "../../../src/workers/outbox/alarm.ts";

test("an alarm rings once, at the earliest of its times, and can be set again", async () => {
  let rings = 0;
  let rung = Promise.withResolvers<void>();
  const clock = alarm(() => {
    rings += 1;
    rung.resolve();
  });
  for (const ms of [60_000, 1, 60_000]) clock.setIn(ms);
  await rung.promise;
  rung = Promise.withResolvers();
  clock.setIn(60_000);
  clock.clear();
  clock.setIn(1);
  await rung.promise;
  expect(rings).toBe(2);
});
