import type { PoolSize } from "../../primitives/shared-pool.ts";
import type { Pace } from "../../store/outbox/claims.ts";
import type { LanesWithShares, Leaving } from "./lanes.ts";
import { slotPools } from "./slot-pools.ts";

export interface RelayLanesOptions {
  /** The server of a lane. Lanes of the same server share its slots, and are down together. */
  serverOf: (lane: string) => string;
  /** Called when a server that was down answers again, with the lanes that failed there. */
  onRecovery: (lanes: string[]) => void;
  /** Slots for mails that are not slow yet. */
  brisk?: PoolSize;
  /** Slots for slow mails: an attempt takes minutes if the host sends its replies octet by octet. */
  waiting?: PoolSize;
  /** The most slots of one server. The default is 20. */
  each?: number;
  slowAfterMs?: number;
  nowMs?: () => number;
}

interface RelayRow {
  lane: string;
  accountId: string;
}

interface Server {
  inHand: number;
  /** The most mails at once: one while it is down, doubled with each answer, so that a relay that recovers is not overloaded. */
  width: number;
  slow: boolean;
  /** The lanes whose attempts got no answer since the server last answered. */
  failedLanes: Set<string>;
}

interface Attempt {
  server: Server;
  accountId: string;
  enteredMs: number;
}

const mostRemembered = 10_000;

/** Two accounts can fill the common slots of both pools. Five accounts still leave more than half of the kept slots to others. */
const defaultBrisk: PoolSize = { common: 80, ofAccount: 50, kept: 40 };
const defaultWaiting: PoolSize = { common: 120, ofAccount: 80, kept: 60 };

/**
 * Slots for outbound mail, in two pools that accounts share (slot-pools.ts). There is a limit for all mail and one for each server. A
 * server that is down has one slot. Servers that are slow or down use the waiting pool.
 */
export function relayLanes(options: RelayLanesOptions): LanesWithShares<RelayRow> {
  const { serverOf, onRecovery, each = 20, slowAfterMs = 2000 } = options;
  const { brisk = defaultBrisk, waiting = defaultWaiting, nowMs = performance.now.bind(performance) } = options;
  const servers = new Map<string, Server>();
  const pools = slotPools<Attempt>({
    brisk,
    waiting,
    slowAfterMs,
    turnedSlow: ({ server }) => {
      server.slow = true;
    },
  });

  function slotsAt(server: Server | undefined): number {
    pools.moveTheSlow(nowMs());
    const own = server === undefined ? each : server.width - server.inHand;
    return Math.max(0, Math.min(own, pools.left(paceOf(server))));
  }

  /** The slots for rows of unknown lanes. All lanes may lead to one relay, so the free slots of that relay are the limit. */
  const slotsOfStrangers = () => slotsAt(servers.get(serverOf("stranger.example")));

  function learn(server: Server, lane: string, how: Leaving, isSlow: boolean): void {
    const { failedLanes } = server;
    if (how === "answered") {
      server.slow = isSlow;
      server.width = Math.min(each, server.width * 2);
      if (failedLanes.size > 0) onRecovery([...failedLanes]);
      failedLanes.clear();
    } else if (how !== "unknown") {
      server.width = 1;
      if (failedLanes.size < mostRemembered) failedLanes.add(lane);
    }
  }

  return {
    // If unknown lanes have no slot, a known lane may still have one, for example a slow lane in the waiting pool.
    free: () => slotsOfStrangers() || Math.max(pools.left("brisk"), pools.left("slow")),
    strangers: () => slotsOfStrangers() > 0,
    slots: (lane) => slotsAt(servers.get(serverOf(lane))),
    pace: (lane) => paceOf(servers.get(serverOf(lane))),
    shares() {
      pools.moveTheSlow(nowMs());
      return pools.shares();
    },
    isHeldBack: pools.isHeldBack,
    enter({ lane, accountId }) {
      const name = serverOf(lane);
      const server = servers.get(name) ?? { inHand: 0, width: each, slow: false, failedLanes: new Set() };
      const attempt: Attempt = { server, accountId, enteredMs: nowMs() };
      if (slotsAt(server) === 0 || !pools.enter(paceOf(server), attempt)) return undefined;
      servers.set(name, server);
      server.inHand += 1;
      let left = false;
      return (how) => {
        if (left) return;
        left = true;
        pools.leave(attempt);
        server.inHand -= 1;
        learn(server, lane, how, nowMs() - attempt.enteredMs >= slowAfterMs);
        const isOrdinary = server.width === each && !server.slow && server.failedLanes.size === 0;
        if (server.inHand === 0 && (isOrdinary || servers.size > mostRemembered)) servers.delete(name);
      };
    },
    slotInMs() {
      pools.moveTheSlow(nowMs());
      return pools.briskInMs(nowMs());
    },
  };
}

function paceOf(server: Server | undefined): Pace {
  if (server === undefined) return "brisk";
  if (server.failedLanes.size > 0) return "doubtful";
  return server.slow ? "slow" : "brisk";
}
