import type { Leaving } from "../webhook/destinations.ts";
import type { Lanes } from "./lanes.ts";

export interface RelayLanesOptions {
  /** Whom a lane burdens: lanes with the same destination share a cap and a fate. */
  destinationOf: (lane: string) => string;
  /** Told when a destination that was down answers again, with the lanes that failed there. */
  onRecovery: (lanes: string[]) => void;
  /** Mails in hand, in all and at one destination. */
  total?: number;
  each?: number;
}

interface Destination {
  inHand: number;
  /** How many at once: one while it is down, then twice as many with each answer, so that a relay that has just come back isn't run over. */
  width: number;
  /** Lanes that met no answer there since it last gave one. */
  failedLanes: Set<string>;
}

const mostRemembered = 10_000;

/** Places for mail on its way out: so many in all, so many at one destination, one at a destination that is down. */
export function relayLanes(options: RelayLanesOptions): Lanes<{ lane: string }> {
  const { destinationOf, onRecovery, total = 50, each = 20 } = options;
  const destinations = new Map<string, Destination>();
  let inHand = 0;

  function roomAt(destination: Destination | undefined): number {
    const own = destination === undefined ? each : destination.width - destination.inHand;
    return Math.max(0, Math.min(own, total - inHand));
  }

  /** Strangers' domains may all lead to one relay: then its room is all there is for them. */
  const roomOfStrangers = () => roomAt(destinations.get(destinationOf("stranger.example")));

  function learn(destination: Destination, lane: string, how: Leaving): void {
    const { failedLanes } = destination;
    if (how === "answered") {
      destination.width = Math.min(each, destination.width * 2);
      if (failedLanes.size > 0) onRecovery([...failedLanes]);
      failedLanes.clear();
    } else if (how !== "unknown") {
      destination.width = 1;
      if (failedLanes.size < mostRemembered) failedLanes.add(lane);
    }
  }

  return {
    free: () => roomOfStrangers() || total - inHand,
    strangers: () => roomOfStrangers() > 0,
    room: (lane) => roomAt(destinations.get(destinationOf(lane))),
    enter({ lane }) {
      const name = destinationOf(lane);
      const destination = destinations.get(name) ?? { inHand: 0, width: each, failedLanes: new Set() };
      if (roomAt(destination) === 0) return undefined;
      destinations.set(name, destination);
      destination.inHand += 1;
      inHand += 1;
      let left = false;
      return (how) => {
        if (left) return;
        left = true;
        destination.inHand -= 1;
        inHand -= 1;
        learn(destination, lane, how);
        const isOrdinary = destination.width === each && destination.failedLanes.size === 0;
        if (destination.inHand === 0 && (isOrdinary || destinations.size > mostRemembered)) destinations.delete(name);
      };
    },
    roomInMs: () => undefined,
  };
}
