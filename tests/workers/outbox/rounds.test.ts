import { expect, test } from "bun:test";
import { roundsOf } from "../../../src/workers/outbox/rounds.ts";

/** Rounds that end when they are told to. */
function heldRounds() {
  const under: PromiseWithResolvers<void>[] = [];
  const failures: unknown[] = [];
  const rounds = roundsOf(
    () => {
      const held = Promise.withResolvers<void>();
      under.push(held);
      return held.promise;
    },
    (error) => void failures.push(error),
  );
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { rounds, under, failures, settled };
}

test("requests for a round during a round get one more after it, however many they are", async () => {
  const { rounds, under, settled } = heldRounds();
  for (const _ of "three") rounds.goOn();
  expect(under.length).toBe(1);
  under[0]?.resolve();
  await settled();
  expect(under.length).toBe(2);
  under[1]?.resolve();
  await settled();
  expect(under.length).toBe(2);
});

test("a round that fails is told of, and the next one is when somebody asks again", async () => {
  const { rounds, under, failures, settled } = heldRounds();
  rounds.goOn();
  rounds.goOn();
  under[0]?.reject("away");
  await settled();
  expect([failures, under.length]).toEqual([["away"], 1]);
  rounds.goOn();
  expect(under.length).toBe(2);
});

test("stopping ends with the round under way, and there is none after it", async () => {
  const { rounds, under } = heldRounds();
  rounds.goOn();
  rounds.goOn();
  const stopped = rounds.stop();
  expect(rounds.isStopping()).toBe(true);
  under[0]?.resolve();
  await stopped;
  rounds.goOn();
  expect(under.length).toBe(1);
});
