import { expect, test } from "bun:test";
import { silence } from "../../src/primitives/silence.ts";

test("a call does not wait until the probe of a silent server has timed out", async () => {
  let at = new Date("2026-03-21T10:05:00.000Z");
  const probes: PromiseWithResolvers<boolean>[] = [];
  const { isSilent, timedOut } = silence({
    now: () => at,
    probe() {
      const probe = Promise.withResolvers<boolean>();
      probes.push(probe);
      return probe.promise;
    },
  });
  for (let timeouts = 0; timeouts < 5; timeouts += 1) timedOut();
  probes[0]?.resolve(false);
  await probes[0]?.promise;
  at = new Date(at.getTime() + 5_000);
  expect(await isSilent()).toBe(true);
  // The second probe goes on, and its answer ends the silence.
  expect(probes).toHaveLength(2);
  probes[1]?.resolve(true);
  await probes[1]?.promise;
  expect(await isSilent()).toBe(false);
});
