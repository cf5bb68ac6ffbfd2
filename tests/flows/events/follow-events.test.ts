import { afterEach, beforeEach, expect, test } from "bun:test";
import { type LogPosition, startOfLog } from "../../../src/domain/events/log-position.ts";
import type { EventFeed } from "../../../src/flows/events/event-feeds.ts";
import { feedRing } from "../../../src/flows/events/feed-ring.ts";
import { type FollowDeps, followLog, type LogReader, type LogStep } from "../../../src/flows/events/follow-events.ts";
import { logTurns } from "../../../src/flows/events/log-turns.ts";
import { type WriteEvents, writtenEvent, writtenMemories } from "../../../src/flows/events/written-events.ts";
import type { FeedEvent } from "../../../src/store/events/feeds.ts";
import { failureOf } from "../../support/failure.ts";

const unheard: unknown[] = [];
const hear = (error: unknown) => void unheard.push(error);
beforeEach(() => {
  unheard.length = 0;
  process.on("unhandledRejection", hear);
});
afterEach(() => process.off("unhandledRejection", hear));

const budget = { accountBytes: 100_000, processBytes: 100_000, freshMs: 60_000 };

/** A feed whose ring has these events, the first of them behind `floor`. */
function feedOf(types: readonly FeedEvent["type"][], write: WriteEvents, floor: LogPosition = startOfLog): EventFeed {
  const ring = feedRing(floor, 1_000);
  const isAutomated = false;
  ring.add(
    types.map((type, index) => ({
      id: `evt_${index + 1}`,
      writtenBy: String(10 + index),
      accountId: "acc_1",
      inboxId: "inb_1",
      type,
      isAutomated,
      externalId: null,
    })),
  );
  return { accountId: "acc_1", ring, written: writtenMemories(write, budget, () => 0)() };
}

function readerOf(types: readonly string[]): LogReader {
  const wanted = {
    types,
    inboxIds: undefined,
    externalIds: undefined,
    automated: undefined,
    include: [],
  } as LogReader["wanted"];
  return { position: startOfLog, wanted, readBytes: 0, isOver: false };
}

const noDatabase = { db: {} as FollowDeps["db"], turns: logTurns(1) };
const written: WriteEvents = async (ids) => ids.map((id) => writtenEvent({ event: "message.received", event_id: id }));
const idsOf = (steps: readonly LogStep[]) => steps.flatMap(({ event }) => event?.id ?? []);

test("A writing that fails is the failure of the readers that wait for it alone, and is heard by them", async () => {
  const asked: string[][] = [];
  const failing = Promise.withResolvers<never>();
  const write: WriteEvents = (ids, include) => {
    asked.push([...ids]);
    return ids.includes("evt_2") ? failing.promise : written(ids, include);
  };
  const feed = feedOf(["message.received", "message.sent"], write);
  const deps = { ...noDatabase, write };
  const untilWoken = () => Promise.resolve();
  const ofSent = followLog(deps, feed, readerOf(["message.sent"]), untilWoken);
  // Its first batch passes the event that it does not want.
  await ofSent.next();
  const sent = ofSent.next();
  const ofBoth = followLog(deps, feed, readerOf(["message.received", "message.sent"]), untilWoken);
  const { value = [] } = await ofBoth.next();
  expect(idsOf(value)).toEqual(["evt_1"]);
  expect(asked).toEqual([["evt_2"], ["evt_1"]]);

  failing.reject(new Error("away"));
  expect(String(await failureOf(sent))).toContain("away");
  await new Promise((resolve) => setImmediate(resolve));
  expect(unheard).toEqual([]);
});

test("A reader that stops in the midst of a batch goes on with the next event, whatever was written meanwhile", async () => {
  const feed = feedOf(Array(120).fill("message.received"), written);
  const reader = readerOf(["*"]);
  const seen: string[] = [];
  while (seen.length < 120) {
    for await (const steps of followLog({ ...noDatabase, write: written }, feed, reader, () => Promise.resolve())) {
      // It takes seven of each batch, as a client without room.
      for (const { position, event } of steps.slice(0, 7)) {
        seen.push(event?.id ?? "");
        reader.position = position;
      }
      break;
    }
  }
  expect(seen).toEqual(Array.from({ length: 120 }, (_, index) => `evt_${index + 1}`));
});

test("A reader that is over while it waits for its turn gives the turn back, and reads nothing", async () => {
  const turns = logTurns(1);
  await turns.take(0);
  const floor = { id: "evt_0", writtenBy: "9" };
  const feed = feedOf(["message.received"], written, floor);
  const reader = readerOf(["*"]);
  const batches = followLog({ ...noDatabase, turns, write: written }, feed, reader, () => Promise.resolve());
  const next = batches.next();
  expect(turns.areWanted()).toBe(true);
  reader.isOver = true;
  turns.giveBack();
  expect(await next).toEqual({ done: true, value: undefined });
  await turns.take(0);
});
