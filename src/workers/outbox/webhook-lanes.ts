import { boundedMemory } from "../../primitives/memory.ts";
import { type Destinations, destinationOf, destinations, type Where } from "./destinations.ts";
import type { FreedSlot, Lanes } from "./lanes.ts";

interface WebhookRow {
  lane: string;
  accountId: string;
  url: string | null;
}

const mostRemembered = 20_000;

/** Slots for deliveries. A lane is an endpoint; where it is, is learnt from its rows. */
export function webhookLanes(
  receivers: Destinations = destinations(),
  nowMs: () => number = performance.now.bind(performance),
): Lanes<WebhookRow> {
  const whereOf = boundedMemory<string, Where>(mostRemembered);
  const listeners: ((slot: FreedSlot) => void)[] = [];

  return {
    // With no slot left for strangers those who wait anyway may still get one: the slots of their lanes say so.
    free: () => receivers.freeSlots(nowMs()) || mostForKnown,
    strangers: () => receivers.freeSlots(nowMs()) > 0,
    slots(lane) {
      const where = whereOf.get(lane);
      return where && receivers.slotsAt(where, nowMs());
    },
    pace(lane) {
      const where = whereOf.get(lane);
      return where === undefined ? "brisk" : receivers.paceAt(where);
    },
    shares: () => receivers.shares(nowMs()),
    isHeldBack: (accountId) => receivers.isHeldBack(accountId, nowMs()),
    enter({ lane, accountId, url }) {
      // There is nowhere to go, which takes no slot.
      if (url === null) return () => undefined;
      const where = { lane, accountId, destination: destinationOf(url) };
      whereOf.set(lane, where);
      const slot = receivers.tryEnter(where, nowMs());
      if (slot === undefined) return undefined;
      return (how) => {
        const wasHeldBack = receivers.isHeldBack(accountId, nowMs());
        slot.leave(how, nowMs());
        for (const tell of listeners) tell({ lane, wasHeldBack });
      };
    },
    slotInMs: () => receivers.slotInMs(nowMs()),
    onFreed: (told) => void listeners.push(told),
  };
}

const mostForKnown = 20;
