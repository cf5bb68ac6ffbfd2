import type { Claim, Claimed, ClaimedItem, Pace } from "../../store/outbox/claims.ts";
import type { Kind } from "../../store/outbox/kinds.ts";
import { knownLanes } from "./known-lanes.ts";
import type { FreedSlot, Lanes, Leave } from "./lanes.ts";

/** What a claim asks for. */
export type Question = Pick<
  Claim,
  "limit" | "lanes" | "strangers" | "accounts" | "othersSlots" | "newest" | "sweepAfter" | "claimNumber"
>;

/** What this process knows of the line of one kind, and so what it asks for next. No clock, no database. */
export interface Line<Item extends ClaimedItem> {
  /** Somebody said that there is new work. */
  nudge(): void;
  /** How often somebody did. */
  nudges(): number;
  /** There may be rows in lanes of which nothing is known. */
  sweep(): void;
  isSweeping(): boolean;
  /** Undefined when nothing can start now. */
  ask(): Question | undefined;
  hear(question: Question, answer: Claimed<Item>): void;
  /** It was claimed and has found no slot. */
  turnAway(item: Item): void;
  /** Gives a slot back. Answers whether there may be somebody who waits for it. */
  leave(item: Item, leave: () => void): boolean;
  /** A slot came free that it may be waiting for, whoever had it. Answers whether it is. */
  hearOfSlot(slot: FreedSlot): boolean;
  /** A row is settled that was claimed after so many nudges. Answers whether its inbox may have more, held back behind it. */
  isFollowed(item: Item, nudgesBefore: number): boolean;
}

const rowsPerClaim = 100;
const newestEvery = 4;

export function lineOf<Item extends ClaimedItem>(kind: Kind, lanes: Lanes<Item>): Line<Item> {
  const known = knownLanes();
  let claimNumber = 0;
  let nudges = 0;
  let isNudged = false;
  /** The last claim took all that could start: there may be more. */
  let isFull = false;
  /** The last look at the newest rows found lanes that are new here, and perhaps more of them than could start. */
  let newestLeft = false;
  let sweepAfter: string | undefined;
  /** The sweep has passed lanes of which a full claim may have left rows out. */
  let hasLeftOut = false;

  const sweep = () => {
    sweepAfter ??= "";
  };
  const hearOfSlot = ({ lane, wasHeldBack }: FreedSlot) => {
    // Sweeps have passed by the lanes in which there is nothing but rows of accounts that had their share.
    if (wasHeldBack) sweep();
    return isFull || wasHeldBack || sweepAfter !== undefined || known.mayHaveMore(lane);
  };

  return {
    nudge() {
      isNudged = true;
      nudges += 1;
    },
    nudges: () => nudges,
    sweep,
    isSweeping: () => sweepAfter !== undefined,
    ask() {
      const limit = Math.min(rowsPerClaim, lanes.free());
      const strangers = lanes.strangers();
      const ownLanes = limit > 0 ? known.list(lanes, limit) : [];
      isFull = limit <= 0 || !(strangers || ownLanes.some(({ slots }) => slots > 0));
      if (isFull) return undefined;
      claimNumber += 1;
      // Looking for them costs; while a claim follows on the other they are looked for often enough now and then.
      const newest = isNudged || newestLeft || claimNumber % newestEvery === 0;
      isNudged = false;
      const shares = lanes.shares?.() ?? { accounts: [], othersSlots: { brisk: limit, slow: limit, doubtful: limit } };
      const whose = { lanes: ownLanes, strangers, ...shares };
      // A sweep without a slot for the lanes that it finds would pass them by.
      return { limit, ...whose, newest, sweepAfter: strangers ? sweepAfter : undefined, claimNumber };
    },
    hear(question, { items, contended, sweptTo }) {
      isFull = items.length >= question.limit;
      if (question.newest) newestLeft = isFull && isOneOfEach(items) && items.some(isStrangeTo(question));
      if (question.sweepAfter !== undefined && question.sweepAfter === sweepAfter && !contended) {
        // While each claim is full, lanes further on would never be looked at: those left out are come back to.
        hasLeftOut ||= isFull;
        sweepAfter = sweptTo ?? (hasLeftOut ? "" : undefined);
        if (sweptTo === undefined) hasLeftOut = false;
      }
      known.note(question.lanes, items, isFull || contended || isCutByShares(question, items));
    },
    turnAway: ({ lane }) => known.left(lane),
    leave({ accountId, lane }, leave) {
      const wasHeldBack = lanes.isHeldBack?.(accountId) ?? false;
      leave();
      known.left(lane);
      return hearOfSlot({ lane, wasHeldBack });
    },
    hearOfSlot,
    isFollowed({ lane, hasMore }, nudgesBefore) {
      if (kind.inboxOrder !== "settled" || (!hasMore && nudges === nudgesBefore)) return false;
      known.expectMore(lane);
      return true;
    },
  };
}

/** A claim takes a row of each lane before it takes a second of any, so only such an answer may have left lanes out. */
function isOneOfEach(items: readonly ClaimedItem[]): boolean {
  return new Set(items.map(({ lane }) => lane)).size === items.length;
}

function isStrangeTo({ lanes }: Question): (item: ClaimedItem) => boolean {
  const known = new Set(lanes.map(({ lane }) => lane));
  return ({ lane }) => !known.has(lane);
}

/** Whether an account got all that it may start, so that lanes may have more of its rows than were taken. */
function isCutByShares({ lanes, accounts, othersSlots }: Question, items: readonly ClaimedItem[]): boolean {
  const paces = new Map(lanes.map(({ lane, pace }) => [lane, pace]));
  const keyOf = (accountId: string, pace: Pace) => `${pace} ${accountId}`;
  const shares = new Map(accounts.map(({ accountId, pace, slots }) => [keyOf(accountId, pace), slots]));
  const taken = Map.groupBy(items, ({ accountId, lane }) => keyOf(accountId, paces.get(lane) ?? "brisk"));
  return [...taken].some(([key, { length }]) => {
    const share = shares.get(key) ?? othersSlots[key.slice(0, key.indexOf(" ")) as Pace];
    return length >= share;
  });
}

/** Those of the claimed rows that find a slot. */
export function slotsFor<Item extends ClaimedItem>(items: readonly Item[], lanes: Lanes<Item>): Map<Item, Leave> {
  const slots = new Map<Item, Leave>();
  const heldBack = new Set<string>();
  for (const item of items) {
    // Who is turned away holds back what came later in the inbox, also if there should be a slot for that.
    const inbox = `${item.lane} ${item.inboxId}`;
    const leave = heldBack.has(inbox) ? undefined : lanes.enter(item);
    if (leave === undefined) heldBack.add(inbox);
    else slots.set(item, leave);
  }
  return slots;
}

/** When to ask again where another was in the way: it has the lane for a few milliseconds, or an inbox until it has started what it took. */
export function pauseMs(
  { contended, behindAnother }: Pick<Claimed<ClaimedItem>, "contended" | "behindAnother">,
  random: () => number,
): number | undefined {
  if (contended) return 5 + 15 * random();
  return behindAnother ? 50 + 50 * random() : undefined;
}
