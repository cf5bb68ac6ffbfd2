import { hostOf, portOf } from "../domain/webhook-url.ts";
import type { WebhookReply } from "./client.ts";

/**
 * Who may be delivered to now. Slots are few and hanging receivers hold theirs for fifteen seconds, so slots are given
 * such that a receiver that answers never waits for those that don't (service contract §10.5). Bookkeeping only:
 * no clock, no socket.
 *
 * - There are two rooms. Every delivery starts in the *brisk* room and, if it lasts longer than `slowAfterMs`, moves on to
 *   the *waiting* room. Who was slow or silent the last time starts in the waiting room. So the brisk room empties
 *   within `slowAfterMs` even while a thousand receivers hang, for as long as the waiting room has places.
 * - The last quarter of the waiting room is for receivers that do answer, if slowly.
 * - Who has not answered yet, or not the last time, gets one delivery at a time; who has, gets `each`.
 * - A destination (scheme, host and port) that took no connection is down: one attempt at a time, whoever's webhook it is.
 */
export interface Destinations {
  /** A place for one delivery, or `undefined`: not now. */
  tryEnter(where: Where, nowMs: number): Place | undefined;
  /** How many deliveries there `tryEnter` would give a place to. */
  room(where: Where, nowMs: number): number;
  /** How many deliveries to strangers it would give a place to. */
  freePlaces(nowMs: number): number;
  /** In how many milliseconds a place in the brisk room comes free by itself; 0 when there is one, `undefined` when that can't be told. */
  roomInMs(nowMs: number): number | undefined;
  inHand(): number;
}

export interface Where {
  /** As `destinationOf` gives it. */
  destination: string;
  /** Whose webhook it is: a slow path of one account doesn't use up the places of another on the same host. */
  accountId: string;
}

export interface Place {
  /** Gives the place back, once; a second call does nothing. */
  leave(how: Leaving, nowMs: number): void;
}

/**
 * How a delivery ended for its receiver: it answered (whatever the status), it took the connection and was silent, it took
 * no connection, or nothing was learnt (the address was refused, or we stopped).
 */
export type Leaving = "answered" | "silent" | "unreached" | "unknown";

export interface DestinationLimits {
  /** Places in the brisk room. */
  total?: number;
  /** Places of one account at one destination. */
  each?: number;
  slowAfterMs?: number;
  /** Places in the waiting room: mere sockets, which cost little. */
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
  enteredMs: number;
}

export function destinations(limits: DestinationLimits = {}): Destinations {
  const { total = 250, each = 20, slowAfterMs = 250, waiting = 1000, remembered = 20_000 } = limits;
  const known = new Map<string, Destination>();
  const receivers = new Map<string, Receiver>();
  /** In order of entry: the first is the oldest. */
  const briskRoom = new Set<Delivery>();
  const waitingRoom = new Set<Delivery>();

  function moveTheSlow(nowMs: number): void {
    for (const delivery of briskRoom) {
      if (nowMs - delivery.enteredMs < slowAfterMs) return;
      delivery.receiver.slow = true;
      if (waitingRoom.size >= waiting) return;
      briskRoom.delete(delivery);
      waitingRoom.add(delivery);
    }
  }

  const isDoubtful = (destination: Destination, receiver: Receiver) => destination.down || receiver.trust === "silent";

  /** How many places are left in the room where this receiver's deliveries start. */
  function placesFor(destination: Destination, receiver: Receiver): number {
    if (isDoubtful(destination, receiver)) return Math.floor(waiting * 0.75) - waitingRoom.size;
    return receiver.slow ? waiting - waitingRoom.size : total - briskRoom.size;
  }

  function roomFor(destination: Destination, receiver: Receiver): Set<Delivery> | undefined {
    if (placesFor(destination, receiver) <= 0) return undefined;
    return isDoubtful(destination, receiver) || receiver.slow ? waitingRoom : briskRoom;
  }

  return {
    tryEnter({ destination: address, accountId }, nowMs) {
      moveTheSlow(nowMs);
      const destination = remember<Destination>(known, address, remembered, () => ({ down: false, inHand: 0 }));
      const receiver = remember<Receiver>(receivers, `${accountId} ${address}`, remembered, () => ({
        trust: "new",
        slow: false,
        inHand: 0,
      }));
      if (destination.down && destination.inHand > 0) return undefined;
      if (receiver.inHand >= (receiver.trust === "answers" ? each : 1)) return undefined;
      const room = roomFor(destination, receiver);
      if (!room) return undefined;
      const delivery: Delivery = { receiver, enteredMs: nowMs };
      room.add(delivery);
      destination.inHand += 1;
      receiver.inHand += 1;
      let left = false;
      return {
        leave(how, leftMs) {
          if (left) return;
          left = true;
          briskRoom.delete(delivery);
          waitingRoom.delete(delivery);
          destination.inHand -= 1;
          receiver.inHand -= 1;
          if (how !== "unknown") learn(destination, receiver, how, leftMs - delivery.enteredMs >= slowAfterMs);
        },
      };
    },
    room({ destination: address, accountId }, nowMs) {
      moveTheSlow(nowMs);
      const destination = known.get(address) ?? { down: false, inHand: 0 };
      const receiver = receivers.get(`${accountId} ${address}`) ?? stranger();
      if (destination.down && destination.inHand > 0) return 0;
      const most = receiver.trust === "answers" && !destination.down ? each : 1;
      return Math.max(0, Math.min(most - receiver.inHand, placesFor(destination, receiver)));
    },
    freePlaces(nowMs) {
      moveTheSlow(nowMs);
      return Math.max(0, total - briskRoom.size);
    },
    roomInMs(nowMs) {
      moveTheSlow(nowMs);
      if (briskRoom.size < total) return 0;
      if (waitingRoom.size >= waiting) return undefined;
      const [oldest] = briskRoom;
      return oldest ? Math.max(0, oldest.enteredMs + slowAfterMs - nowMs) : undefined;
    },
    inHand: () => briskRoom.size + waitingRoom.size,
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
  if (reply.kind === "refused_address") return "unknown";
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
