import { boundedMemory } from "../../primitives/memory.ts";
import { type Destinations, destinationOf, destinations, type Where } from "./destinations.ts";
import type { Lanes } from "./lanes.ts";

interface WebhookRow {
  lane: string;
  accountId: string;
  url: string | null;
}

const mostRemembered = 20_000;

/** Places for deliveries. A lane is an account; where its webhook is, is learnt from its rows. */
export function webhookLanes(
  places: Destinations = destinations(),
  nowMs: () => number = performance.now.bind(performance),
): Lanes<WebhookRow> {
  const whereOf = boundedMemory<string, Where>(mostRemembered);

  return {
    // With no place left for strangers those who wait anyway may still get one: the rooms of their lanes say so.
    free: () => places.freePlaces(nowMs()) || mostForKnown,
    strangers: () => places.freePlaces(nowMs()) > 0,
    room(lane) {
      const where = whereOf.get(lane);
      return where && places.room(where, nowMs());
    },
    enter({ lane, accountId, url }) {
      // There is nowhere to go, which takes no place.
      if (url === null) return () => undefined;
      const where = { accountId, destination: destinationOf(url) };
      whereOf.set(lane, where);
      const place = places.tryEnter(where, nowMs());
      return place && ((how) => place.leave(how, nowMs()));
    },
    roomInMs: () => places.roomInMs(nowMs()),
  };
}

const mostForKnown = 20;
