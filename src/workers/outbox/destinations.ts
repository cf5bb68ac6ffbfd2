import { hostOf, portOf } from "../../domain/events/webhook-url.ts";
import type { WebhookReply } from "../../webhook/client.ts";
import { type Pace, slotPools } from "./slot-pools.ts";

/**
 * Who may be delivered to now. Slots are few and hanging receivers hold theirs for fifteen seconds, so slots are given
 * such that a receiver that answers never waits for those that don't (contract §10.5). Bookkeeping only:
 * no clock, no socket.
 *
 * - There are two pools (slot-pools.ts). Who was slow or silent the last time starts in the waiting pool.
 * - Who has not answered yet, or not the last time, gets one delivery at a time; who has, gets `each`.
 * - A destination (scheme, host and port) that took no connection is down: one attempt at a time, whoever's webhook it is.
 */
export interface Destinations {
  /** A slot for one delivery, or `undefined`: not now. */
  tryEnter(where: Where, nowMs: number): Slot | undefined;
  /** How many deliveries there `tryEnter` would give a slot to. */
  slotsAt(where: Where, nowMs: number): number;
  /** How many deliveries to strangers it would give a slot to. */
  freeSlots(nowMs: number): number;
  /** In how many milliseconds a slot in the brisk pool comes free by itself; 0 when there is one, `undefined` when that can't be told. */
  slotInMs(nowMs: number): number | undefined;
  inHand(): number;
}

export interface Where {
  /** As `destinationOf` gives it. */
  destination: string;
  /** Whose webhook it is: a slow path of one account doesn't use up the slots of another on the same host. */
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
  /** Slots in the brisk pool. */
  total?: number;
  /** Slots of one account at one destination. */
  each?: number;
  slowAfterMs?: number;
  /** Slots in the waiting pool: mere sockets, which cost little. */
  waiting?: number;
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
}

interface Delivery {
  receiver: Receiver;
  accountId: string;
  enteredMs: number;
}

export function destinations(limits: DestinationLimits = {}): Destinations {
  const { total = 250, each = 20, slowAfterMs = 250, waiting = 1000, remembered = 20_000 } = limits;
  const known = new Map<string, Destination>();
  const receivers = new Map<string, Receiver>();
  const pools = slotPools<Delivery>({
    ...{ brisk: total, waiting, slowAfterMs },
    turnedSlow: ({ receiver }) => {
      receiver.slow = true;
    },
  });

  function paceOf(destination: Destination, receiver: Receiver): Pace {
    if (destination.down || receiver.trust === "silent") return "doubtful";
    return receiver.slow ? "slow" : "brisk";
  }

  return {
    tryEnter({ destination: address, accountId }, nowMs) {
      pools.moveTheSlow(nowMs);
      const destination = remember<Destination>(known, address, remembered, () => ({ down: false, inHand: 0 }));
      const receiver = remember<Receiver>(receivers, `${accountId} ${address}`, remembered, () => ({
        trust: "new",
        slow: false,
        inHand: 0,
      }));
      if (destination.down && destination.inHand > 0) return undefined;
      if (receiver.inHand >= (receiver.trust === "answers" ? each : 1)) return undefined;
      const delivery: Delivery = { receiver, accountId, enteredMs: nowMs };
      if (!pools.enter(paceOf(destination, receiver), delivery)) return undefined;
      destination.inHand += 1;
      receiver.inHand += 1;
      let left = false;
      return {
        leave(how, leftMs) {
          if (left) return;
          left = true;
          pools.leave(delivery);
          destination.inHand -= 1;
          receiver.inHand -= 1;
          if (how !== "unknown") learn(destination, receiver, how, leftMs - delivery.enteredMs >= slowAfterMs);
        },
      };
    },
    slotsAt({ destination: address, accountId }, nowMs) {
      pools.moveTheSlow(nowMs);
      const destination = known.get(address) ?? { down: false, inHand: 0 };
      const receiver = receivers.get(`${accountId} ${address}`) ?? stranger();
      if (destination.down && destination.inHand > 0) return 0;
      const most = receiver.trust === "answers" && !destination.down ? each : 1;
      return Math.max(0, Math.min(most - receiver.inHand, pools.left(paceOf(destination, receiver))));
    },
    freeSlots(nowMs) {
      pools.moveTheSlow(nowMs);
      return Math.max(0, pools.left("brisk"));
    },
    slotInMs(nowMs) {
      pools.moveTheSlow(nowMs);
      return pools.briskInMs(nowMs);
    },
    inHand: pools.size,
  };
}

function stranger(): Receiver {
  return { trust: "new", slow: false, inHand: 0 };
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
