import { boundedMemory } from "../../primitives/memory.ts";
import { type DeliverySlots, deliverySlots, serverOf, type Where } from "./delivery-slots.ts";
import type { FreedSlot, LanesWithShares } from "./lanes.ts";

interface WebhookRow {
  lane: string;
  accountId: string;
  url: string | null;
}

const mostRemembered = 20_000;

/** Slots for deliveries. A lane is an endpoint. Its server is known once a row with its URL has come. */
export function webhookLanes(
  receivers: DeliverySlots = deliverySlots(),
  nowMs: () => number = performance.now.bind(performance),
): LanesWithShares<WebhookRow> {
  const whereOf = boundedMemory<string, Where>(mostRemembered);
  const listeners: ((slot: FreedSlot) => void)[] = [];

  return {
    // If unknown lanes have no slot, a known lane may still have one, for example a slow lane in the waiting pool.
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
      // A delivery without a URL takes no slot.
      if (url === null) return () => undefined;
      const where = { lane, accountId, server: serverOf(url) };
      whereOf.set(lane, where);
      const slot = receivers.tryEnter(where, nowMs());
      if (slot === undefined) return undefined;
      return (how) => {
        const wasHeldBack = receivers.isHeldBack(accountId, nowMs());
        slot.leave(how, nowMs());
        for (const notify of listeners) notify({ lane, wasHeldBack });
      };
    },
    slotInMs: () => receivers.slotInMs(nowMs()),
    onFreed: (freed) => void listeners.push(freed),
  };
}

const mostForKnown = 20;
