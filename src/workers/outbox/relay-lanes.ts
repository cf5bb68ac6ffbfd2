import type { PoolSize } from "../../primitives/shared-pool.ts";
import type { Pace } from "../../store/outbox/claims.ts";
import type { Leaving } from "./destinations.ts";
import type { Lanes } from "./lanes.ts";
import { slotPools } from "./slot-pools.ts";

export interface RelayLanesOptions {
  /** Whom a lane burdens: lanes with the same destination share a cap and a fate. */
  destinationOf: (lane: string) => string;
  /** Told when a destination that was down answers again, with the lanes that failed there. */
  onRecovery: (lanes: string[]) => void;
  /** Mails in hand that may still turn out quick. */
  brisk?: PoolSize;
  /** Mails in hand that have not: an attempt at a host that drips lasts for minutes. */
  waiting?: PoolSize;
  /** Mails in hand at one destination. */
  each?: number;
  slowAfterMs?: number;
  nowMs?: () => number;
}

interface RelayRow {
  lane: string;
  accountId: string;
}

interface Destination {
  inHand: number;
  /** How many at once: one while it is down, then twice as many with each answer, so that a relay that has just come back isn't run over. */
  width: number;
  slow: boolean;
  /** Lanes that met no answer there since it last gave one. */
  failedLanes: Set<string>;
}

interface Attempt {
  destination: Destination;
  accountId: string;
  enteredMs: number;
}

const mostRemembered = 10_000;

/** Two accounts fill the common slots of both pools; five leave more than half of the kept ones to others. */
const defaultBrisk: PoolSize = { common: 80, ofAccount: 50, kept: 40 };
const defaultWaiting: PoolSize = { common: 120, ofAccount: 80, kept: 60 };

/**
 * Slots for mail on its way out, in two pools that accounts share (slot-pools.ts): so many in all, so many at one destination, one
 * at a destination that is down. Destinations that are slow or down have the waiting pool to themselves.
 */
export function relayLanes(options: RelayLanesOptions): Lanes<RelayRow> {
  const { destinationOf, onRecovery, each = 20, slowAfterMs = 2000 } = options;
  const { brisk = defaultBrisk, waiting = defaultWaiting, nowMs = performance.now.bind(performance) } = options;
  const destinations = new Map<string, Destination>();
  const pools = slotPools<Attempt>({
    brisk,
    waiting,
    slowAfterMs,
    turnedSlow: ({ destination }) => {
      destination.slow = true;
    },
  });

  function slotsAt(destination: Destination | undefined): number {
    pools.moveTheSlow(nowMs());
    const own = destination === undefined ? each : destination.width - destination.inHand;
    return Math.max(0, Math.min(own, pools.left(paceOf(destination))));
  }

  /** Strangers' domains may all lead to one relay: then its slots are all there are for them. */
  const slotsOfStrangers = () => slotsAt(destinations.get(destinationOf("stranger.example")));

  function learn(destination: Destination, lane: string, how: Leaving, isSlow: boolean): void {
    const { failedLanes } = destination;
    if (how === "answered") {
      destination.slow = isSlow;
      destination.width = Math.min(each, destination.width * 2);
      if (failedLanes.size > 0) onRecovery([...failedLanes]);
      failedLanes.clear();
    } else if (how !== "unknown") {
      destination.width = 1;
      if (failedLanes.size < mostRemembered) failedLanes.add(lane);
    }
  }

  return {
    // With no slot left for strangers those who wait anyway may still get one: the slots of their lanes say so.
    free: () => slotsOfStrangers() || Math.max(pools.left("brisk"), pools.left("slow")),
    strangers: () => slotsOfStrangers() > 0,
    slots: (lane) => slotsAt(destinations.get(destinationOf(lane))),
    pace: (lane) => paceOf(destinations.get(destinationOf(lane))),
    shares() {
      pools.moveTheSlow(nowMs());
      return pools.shares();
    },
    isHeldBack: pools.isHeldBack,
    enter({ lane, accountId }) {
      const name = destinationOf(lane);
      const destination = destinations.get(name) ?? { inHand: 0, width: each, slow: false, failedLanes: new Set() };
      const attempt: Attempt = { destination, accountId, enteredMs: nowMs() };
      if (slotsAt(destination) === 0 || !pools.enter(paceOf(destination), attempt)) return undefined;
      destinations.set(name, destination);
      destination.inHand += 1;
      let left = false;
      return (how) => {
        if (left) return;
        left = true;
        pools.leave(attempt);
        destination.inHand -= 1;
        learn(destination, lane, how, nowMs() - attempt.enteredMs >= slowAfterMs);
        const isOrdinary = destination.width === each && !destination.slow && destination.failedLanes.size === 0;
        if (destination.inHand === 0 && (isOrdinary || destinations.size > mostRemembered)) destinations.delete(name);
      };
    },
    slotInMs() {
      pools.moveTheSlow(nowMs());
      return pools.briskInMs(nowMs());
    },
  };
}

function paceOf(destination: Destination | undefined): Pace {
  if (destination === undefined) return "brisk";
  if (destination.failedLanes.size > 0) return "doubtful";
  return destination.slow ? "slow" : "brisk";
}
