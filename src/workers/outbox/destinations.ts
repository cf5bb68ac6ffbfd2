import { hostOf, portOf } from "../../domain/events/webhook-url.ts";
import type { PoolSize } from "../../primitives/shared-pool.ts";
import type { Pace } from "../../store/outbox/claims.ts";
import type { WebhookReply } from "../../webhook/client.ts";
import { type AccountShares, slotPools } from "./slot-pools.ts";

/**
 * Who may be delivered to now. Slots are few and hanging receivers hold theirs for fifteen seconds, so slots are given
 * such that a receiver that answers never waits for those that don't (contract §10.5). Bookkeeping only:
 * no clock, no socket.
 *
 * - There are two pools (slot-pools.ts). Who was slow or silent the last time starts in the waiting pool.
 * - Who has not answered yet, or not the last time, gets one delivery at a time; who has, gets `each`.
 * - A destination (scheme, host and port) that took no connection is down: one attempt at a time, whoever's endpoint it is.
 * - However many endpoints an account has, it has its share of either pool, and the last slots of each are kept for accounts
 *   that have few (shared-pool.ts). The endpoints of an account that are quick share its slots evenly.
 */
export interface Destinations {
  /** A slot for one delivery, or `undefined`: not now. */
  tryEnter(where: Where, nowMs: number): Slot | undefined;
  /** How many deliveries there `tryEnter` would give a slot to. */
  slotsAt(where: Where, nowMs: number): number;
  /** How many deliveries to strangers it would give a slot to, whosever they are. */
  freeSlots(nowMs: number): number;
  paceAt(where: Where): Pace;
  shares(nowMs: number): AccountShares;
  /** Whether claims may pass by deliveries of this account, or of others, until it gives a slot back. */
  isHeldBack(accountId: string, nowMs: number): boolean;
  /** In how many milliseconds a slot in the brisk pool comes free by itself; 0 when there is one, `undefined` when that can't be told. */
  slotInMs(nowMs: number): number | undefined;
  inHand(): number;
}

export interface Where {
  /** As `destinationOf` gives it. */
  destination: string;
  /** The endpoint: one that is slow or silent doesn't use up the slots of another on the same host. */
  lane: string;
  accountId: string;
}

export interface Slot {
  /** Gives the slot back, once; a second call does nothing. */
  leave(how: Leaving, nowMs: number): void;
}

/**
 * How a delivery ended for its receiver: it answered (whatever the status), it took the connection and was silent, it took
 * no connection, or nothing was learnt (the address was refused, a kept connection was at its end, or we stopped).
 */
export type Leaving = "answered" | "silent" | "unreached" | "unknown";

export interface DestinationLimits {
  brisk?: PoolSize;
  /** Slots of one endpoint at one destination. */
  each?: number;
  slowAfterMs?: number;
  waiting?: PoolSize;
  /** How many receivers are remembered. */
  remembered?: number;
}

interface Destination {
  down: boolean;
  inHand: number;
}

interface Receiver {
  trust: "new" | "answers" | "silent";
  slow: boolean;
  inHand: number;
  /** Of them, those that have not turned out slow. */
  quick: number;
}

interface Delivery {
  receiver: Receiver;
  accountId: string;
  enteredMs: number;
  isQuick: boolean;
}

const defaultBrisk: PoolSize = { common: 250, ofAccount: 63, kept: 50 };
/** Mere sockets, which cost little. */
const defaultWaiting: PoolSize = { common: 1000, ofAccount: 200, kept: 200 };

export function destinations(limits: DestinationLimits = {}): Destinations {
  const { brisk = defaultBrisk, each = 20, slowAfterMs = 250, waiting = defaultWaiting, remembered = 20_000 } = limits;
  const { ofAccount = brisk.common } = brisk;
  const known = new Map<string, Destination>();
  const receivers = new Map<string, Receiver>();
  const pools = slotPools<Delivery>({
    brisk,
    waiting,
    slowAfterMs,
    turnedSlow(delivery) {
      delivery.receiver.slow = true;
      noLongerQuick(delivery);
    },
  });
  /** Of each account, the endpoints that have something quick in hand. */
  const quickOf = new Map<string, number>();

  function nowQuick({ receiver, accountId }: Delivery): void {
    if (receiver.quick === 0) quickOf.set(accountId, (quickOf.get(accountId) ?? 0) + 1);
    receiver.quick += 1;
  }

  function noLongerQuick(delivery: Delivery): void {
    const { receiver, accountId, isQuick } = delivery;
    if (!isQuick) return;
    delivery.isQuick = false;
    receiver.quick -= 1;
    if (receiver.quick > 0) return;
    const others = (quickOf.get(accountId) ?? 0) - 1;
    if (others > 0) quickOf.set(accountId, others);
    else quickOf.delete(accountId);
  }

  /** How many deliveries an endpoint that answers may have in hand. */
  function mostOf(receiver: Receiver, accountId: string): number {
    const others = (quickOf.get(accountId) ?? 0) - (receiver.quick > 0 ? 1 : 0);
    return Math.max(1, Math.min(each, Math.floor(ofAccount / (others + 1))));
  }

  function paceOf(destination: Destination, receiver: Receiver): Pace {
    if (destination.down || receiver.trust === "silent") return "doubtful";
    return receiver.slow ? "slow" : "brisk";
  }

  return {
    tryEnter({ destination: address, lane, accountId }, nowMs) {
      pools.moveTheSlow(nowMs);
      const destination = remember<Destination>(known, address, remembered, () => ({ down: false, inHand: 0 }));
      const receiver = remember<Receiver>(receivers, `${lane} ${address}`, remembered, stranger);
      if (destination.down && destination.inHand > 0) return undefined;
      if (receiver.inHand >= (receiver.trust === "answers" ? mostOf(receiver, accountId) : 1)) return undefined;
      const pace = paceOf(destination, receiver);
      const delivery: Delivery = { receiver, accountId, enteredMs: nowMs, isQuick: pace === "brisk" };
      if (!pools.enter(pace, delivery)) return undefined;
      if (delivery.isQuick) nowQuick(delivery);
      destination.inHand += 1;
      receiver.inHand += 1;
      let left = false;
      return {
        leave(how, leftMs) {
          if (left) return;
          left = true;
          pools.leave(delivery);
          noLongerQuick(delivery);
          destination.inHand -= 1;
          receiver.inHand -= 1;
          if (how !== "unknown") learn(destination, receiver, how, leftMs - delivery.enteredMs >= slowAfterMs);
        },
      };
    },
    slotsAt({ destination: address, lane, accountId }, nowMs) {
      pools.moveTheSlow(nowMs);
      const destination = known.get(address) ?? { down: false, inHand: 0 };
      const receiver = receivers.get(`${lane} ${address}`) ?? stranger();
      if (destination.down && destination.inHand > 0) return 0;
      const most = receiver.trust === "answers" && !destination.down ? mostOf(receiver, accountId) : 1;
      return Math.max(0, Math.min(most - receiver.inHand, pools.left(paceOf(destination, receiver), accountId)));
    },
    freeSlots(nowMs) {
      pools.moveTheSlow(nowMs);
      return pools.left("brisk");
    },
    paceAt({ destination: address, lane }) {
      const destination = known.get(address);
      const receiver = receivers.get(`${lane} ${address}`);
      return destination === undefined || receiver === undefined ? "brisk" : paceOf(destination, receiver);
    },
    shares(nowMs) {
      pools.moveTheSlow(nowMs);
      return pools.shares();
    },
    isHeldBack(accountId, nowMs) {
      pools.moveTheSlow(nowMs);
      return pools.isHeldBack(accountId);
    },
    slotInMs(nowMs) {
      pools.moveTheSlow(nowMs);
      return pools.briskInMs(nowMs);
    },
    inHand: pools.size,
  };
}

function stranger(): Receiver {
  return { trust: "new", slow: false, inHand: 0, quick: 0 };
}

/** The destination of a webhook URL: scheme, host and port, of which all accounts share the knowledge that it is down. */
export function destinationOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed ? `${parsed.protocol}//${hostOf(parsed)}:${portOf(parsed)}` : url;
}

export function leavingOf(reply: WebhookReply): Leaving {
  if (reply.kind === "answered") return "answered";
  if (reply.kind === "refused_address" || reply.stale) return "unknown";
  return reply.connected ? "silent" : "unreached";
}

function learn(destination: Destination, receiver: Receiver, how: Exclude<Leaving, "unknown">, slow: boolean): void {
  destination.down = how === "unreached";
  if (how === "answered") receiver.slow = slow;
  receiver.trust = how === "answered" ? "answers" : "silent";
}

/** The record of a key. Over the limit the oldest that is not in use is forgotten: it starts as a stranger again. */
function remember<T extends { inHand: number }>(records: Map<string, T>, key: string, limit: number, make: () => T): T {
  const known = records.get(key);
  if (known) return known;
  if (records.size >= limit) {
    for (const [other, record] of records) {
      if (record.inHand > 0) continue;
      records.delete(other);
      break;
    }
  }
  const made = make();
  records.set(key, made);
  return made;
}
