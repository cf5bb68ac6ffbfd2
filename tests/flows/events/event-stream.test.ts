import { expect, test } from "bun:test";
import { startOfLog } from "../../../src/domain/events/log-position.ts";
import { type StreamingDeps, streamEvents } from "../../../src/flows/events/event-stream.ts";
import { feedRing } from "../../../src/flows/events/feed-ring.ts";
import { largeEvents } from "../../../src/flows/events/large-events.ts";
import { logTurns } from "../../../src/flows/events/log-turns.ts";
import { type WrittenEvent, writtenEvent, writtenMemories } from "../../../src/flows/events/written-events.ts";
import { until } from "../../support/until.ts";

/** A stream of an account of its own, which sends one event to a client that takes everything. */
async function streamOfOne(id: string) {
  let written: WeakRef<WrittenEvent> | undefined;
  const write = async () => {
    const event = writtenEvent({ event: "message.received", event_id: id });
    written = new WeakRef(event);
    return [event];
  };
  const memory = writtenMemories(write, { accountBytes: 0, processBytes: 0, freshMs: 60_000 }, () => 0)();
  const ring = feedRing(startOfLog, 10);
  ring.add([
    {
      id,
      writtenBy: "1",
      accountId: id,
      inboxId: "inb_1",
      type: "message.received" as const,
      externalId: null,
      isAutomated: false,
    },
  ]);
  const deps: StreamingDeps = {
    db: {} as StreamingDeps["db"],
    turns: logTurns(1),
    write,
    large: largeEvents({ mostBytes: 0 }),
    feeds: {
      follow: async () => ({ feed: { accountId: id, ring, written: memory }, leave: memory.forgetAll }),
      stop: () => undefined,
    },
  };
  let sent = 0;
  const wanted = {
    types: ["message.received" as const],
    inboxIds: undefined,
    externalIds: undefined,
    automated: undefined,
    include: [],
  };
  const stream = await streamEvents(
    deps,
    { accountId: id, after: startOfLog, wanted },
    {
      hasRoom: () => true,
      write: () => {
        sent += 1;
      },
      takenBytes: () => 0,
      copies: false,
      cutOff: () => undefined,
    },
  );
  stream.pump();
  await until(() => sent === 1);
  memory.forgetAll();
  return { stream, isHeld: () => written?.deref() !== undefined };
}

test("A stream that waits for the next event does not hold the last one", async () => {
  const streams = await Promise.all(Array.from({ length: 50 }, (_, index) => streamOfOne(`evt_${index}`)));
  // The target of a weak reference lives until the end of the turn in which it was made.
  await new Promise((resolve) => setImmediate(resolve));
  Bun.gc(true);
  await new Promise((resolve) => setImmediate(resolve));
  Bun.gc(true);
  // The collector takes some words of the stack for references.
  expect(streams.filter(({ isHeld }) => isHeld()).length).toBeLessThan(5);
  for (const { stream } of streams) stream.close();
});
