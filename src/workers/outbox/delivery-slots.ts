import { hostOf, portOf } from "../../domain/events/webhook-url.ts";
import type { PoolSize } from "../../primitives/shared-pool.ts";
import type { Pace } from "../../store/outbox/claims.ts";
import type { WebhookReply } from "../../webhook/client.ts";
import type { Leaving } from "./lanes.ts";
import { type AccountShares, slotPools } from "./slot-pools.ts";

/**
 * The slots for webhook deliveries. They are few, and a receiver that hangs holds one for fifteen seconds. They are given out so that
 * a receiver that answers never waits for one that does not (contract §10.5). This is bookkeeping without a clock or a socket.
 *
 * - There are two pools (slot-pools.ts). A receiver that was slow or silent the last time starts in the waiting pool.
 * - A receiver that has not answered yet, or not the last time, gets one delivery at a time. Any other gets at most `each`.
 * - A server (scheme, host and port) that accepted no connection is down: it gets one attempt at a time for all its endpoints.
 * - An account has its share of each pool, however many endpoints it has. The last slots are kept for accounts that have few
 *   (shared-pool.ts). The quick endpoints of an account share its slots evenly.
 */
export interface DeliverySlots {
  /** Takes a slot for one delivery. Undefined if there is none now. */
  tryEnter(where: Where, nowMs: number): Slot | undefined;
  /** The number of deliveries to this receiver that would get a slot from `tryEnter`. */
  slotsAt(where: Where, nowMs: number): number;
  /** The number of deliveries to unknown receivers that would get a slot, of all accounts together. */
  freeSlots(nowMs: number): number;
  paceAt(where: Where): Pace;
  shares(nowMs: number): AccountShares;
  /** Whether so few slots are free, for all or for this account, that claims may skip deliveries. */
  isHeldBack(accountId: string, nowMs: number): boolean;
  /** The milliseconds until a delivery leaves the brisk pool because it is slow; 0 if a slot is free, `undefined` if unknown. */
  slotInMs(nowMs: number): number | undefined;
  inHand(): number;
}

export interface Where {
  /** See `serverOf`. */
  server: string;
  /** The endpoint. A slow or silent one does not use up the slots of another on the same host. */
  lane: string;
  accountId: string;
}

export interface Slot {
  /** Gives the slot back, once; a second call does nothing. */
  leave(how: Leaving, nowMs: number): void;
}

export interface DeliverySlotLimits {
  brisk?: PoolSize;
  /** The most slots of one endpoint at one server. */
  each?: number;
  slowAfterMs?: number;
  waiting?: PoolSize;
  /** The most receivers, and the most servers, that are remembered. */
  remembered?: number;
}

interface Server {
  down: boolean;
  inHand: number;
}

interface Receiver {
  trust: "new" | "answers" | "silent";
  slow: boolean;
  inHand: number;
  /** The number of its deliveries in hand that count as quick. */
  quick: number;
}

interface Delivery {
  receiver: Receiver;
  accountId: string;
  enteredMs: number;
  isQuick: boolean;
}

const defaultBrisk: PoolSize = { common: 250, ofAccount: 63, kept: 50 };
/** The waiting pool has many slots, because a waiting delivery is only an open socket, which costs little. */
const defaultWaiting: PoolSize = { common: 1000, ofAccount: 200, kept: 200 };

export function deliverySlots(limits: DeliverySlotLimits = {}): DeliverySlots {
  const { brisk = defaultBrisk, each = 20, slowAfterMs = 250, waiting = defaultWaiting, remembered = 20_000 } = limits;
  const { ofAccount = brisk.common } = brisk;
  const known = new Map<string, Server>();
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
  /** For each account, the number of its endpoints with a quick delivery under way. */
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

  /** How many deliveries an endpoint that answers may have under way: its even share of the account's quick slots, but at most `each`. */
  function mostOf(receiver: Receiver, accountId: string): number {
    const others = (quickOf.get(accountId) ?? 0) - (receiver.quick > 0 ? 1 : 0);
    return Math.max(1, Math.min(each, Math.floor(ofAccount / (others + 1))));
  }

  function paceOf(server: Server, receiver: Receiver): Pace {
    if (server.down || receiver.trust === "silent") return "doubtful";
    return receiver.slow ? "slow" : "brisk";
  }

  return {
    tryEnter({ server: address, lane, accountId }, nowMs) {
      pools.moveTheSlow(nowMs);
      const server = remember<Server>(known, address, remembered, () => ({ down: false, inHand: 0 }));
      const receiver = remember<Receiver>(receivers, `${lane} ${address}`, remembered, stranger);
      if (server.down && server.inHand > 0) return undefined;
      if (receiver.inHand >= (receiver.trust === "answers" ? mostOf(receiver, accountId) : 1)) return undefined;
      const pace = paceOf(server, receiver);
      const delivery: Delivery = { receiver, accountId, enteredMs: nowMs, isQuick: pace === "brisk" };
      if (!pools.enter(pace, delivery)) return undefined;
      if (delivery.isQuick) nowQuick(delivery);
      server.inHand += 1;
      receiver.inHand += 1;
      let left = false;
      return {
        leave(how, leftMs) {
          if (left) return;
          left = true;
          pools.leave(delivery);
          noLongerQuick(delivery);
          server.inHand -= 1;
          receiver.inHand -= 1;
          if (how !== "unknown") learn(server, receiver, how, leftMs - delivery.enteredMs >= slowAfterMs);
        },
      };
    },
    slotsAt({ server: address, lane, accountId }, nowMs) {
      pools.moveTheSlow(nowMs);
      const server = known.get(address) ?? { down: false, inHand: 0 };
      const receiver = receivers.get(`${lane} ${address}`) ?? stranger();
      if (server.down && server.inHand > 0) return 0;
      const most = receiver.trust === "answers" && !server.down ? mostOf(receiver, accountId) : 1;
      return Math.max(0, Math.min(most - receiver.inHand, pools.left(paceOf(server, receiver), accountId)));
    },
    freeSlots(nowMs) {
      pools.moveTheSlow(nowMs);
      return pools.left("brisk");
    },
    paceAt({ server: address, lane }) {
      const server = known.get(address);
      const receiver = receivers.get(`${lane} ${address}`);
      return server === undefined || receiver === undefined ? "brisk" : paceOf(server, receiver);
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

/** The server of a webhook URL: scheme, host and port. All accounts share the knowledge that it is down. */
export function serverOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed ? `${parsed.protocol}//${hostOf(parsed)}:${portOf(parsed)}` : url;
}

export function leavingOf(reply: WebhookReply): Leaving {
  if (reply.kind === "answered") return "answered";
  if (reply.kind === "refused_address" || reply.stale) return "unknown";
  return reply.connected ? "silent" : "unreached";
}

function learn(server: Server, receiver: Receiver, how: Exclude<Leaving, "unknown">, slow: boolean): void {
  server.down = how === "unreached";
  if (how === "answered") receiver.slow = slow;
  receiver.trust = how === "answered" ? "answers" : "silent";
}

/** Finds or makes the record of a key. At the limit, forgets the oldest record without a delivery in hand. */
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
