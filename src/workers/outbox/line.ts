import type { Claim, Claimed, ClaimedItem, Pace } from "../../store/outbox/claims.ts";
import type { Kind } from "../../store/outbox/kinds.ts";
import { knownLanes } from "./known-lanes.ts";
import type { FreedSlot, Lanes, Leave } from "./lanes.ts";

/** The parameters of the next claim. */
export type Question = Pick<
  Claim,
  "limit" | "lanes" | "strangers" | "accounts" | "othersSlots" | "newest" | "sweepAfter" | "claimNumber"
>;

/** Decides what this process claims next, by its knowledge of the rows of one kind. It uses no clock and no database. */
export interface Line<Item extends ClaimedItem> {
  /** Notes that there may be new work. */
  nudge(): void;
  /** The number of calls of `nudge`. */
  nudges(): number;
  /** Notes that there may be rows in unknown lanes. */
  sweep(): void;
  isSweeping(): boolean;
  /** The next claim. Undefined if nothing can start now. */
  ask(): Question | undefined;
  hear(question: Question, answer: Claimed<Item>): void;
  /** Notes that a claimed row has got no slot. */
  turnAway(item: Item): void;
  /** Gives a slot back. Returns whether a row may be waiting for it. */
  leave(item: Item, leave: () => void): boolean;
  /**
   * Notes that a slot has become free, perhaps by work of another kind that shares the slots. Returns whether a row may be waiting for it.
   */
  hearOfSlot(slot: FreedSlot): boolean;
  /**
   * Notes that a row is settled. `nudgesBefore`: the number of nudges when it was claimed. Returns whether its inbox may have more rows,
   * which waited for this one.
   */
  isFollowed(item: Item, nudgesBefore: number): boolean;
}

const rowsPerClaim = 100;
const newestEvery = 4;

export function lineOf<Item extends ClaimedItem>(kind: Kind, lanes: Lanes<Item>): Line<Item> {
  const known = knownLanes();
  let claimNumber = 0;
  let nudges = 0;
  let isNudged = false;
  /** Whether there may be more rows, because the last claim took as many as could start. */
  let isFull = false;
  /** Whether there may be more new lanes, because the last look at the newest rows found as many as could start. */
  let newestLeft = false;
  let sweepAfter: string | undefined;
  /** Whether the sweep has passed lanes while claims were full, so that rows of them may have been left out. */
  let hasLeftOut = false;

  const sweep = () => {
    sweepAfter ??= "";
  };
  const hearOfSlot = ({ lane, wasHeldBack }: FreedSlot) => {
    // Begins a sweep, because earlier ones have skipped lanes whose rows all belong to accounts that had used up their share.
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
      // Looking for the newest rows is expensive, so while claims follow each other only every fourth one does.
      const newest = isNudged || newestLeft || claimNumber % newestEvery === 0;
      isNudged = false;
      const shares = lanes.shares?.() ?? { accounts: [], othersSlots: { brisk: limit, slow: limit, doubtful: limit } };
      const whose = { lanes: ownLanes, strangers, ...shares };
      // If unknown lanes have no slot, the claim does not sweep: the sweep would pass the lanes that it finds without taking their rows.
      return { limit, ...whose, newest, sweepAfter: strangers ? sweepAfter : undefined, claimNumber };
    },
    hear(question, { items, contended, sweptTo }) {
      isFull = items.length >= question.limit;
      if (question.newest) newestLeft = isFull && isOneOfEach(items) && items.some(isStrangeTo(question));
      if (question.sweepAfter !== undefined && question.sweepAfter === sweepAfter && !contended) {
        // The sweep goes on even if the claim is full, because otherwise it might never reach later lanes. At the end it begins again, for
        // the lanes that were left out.
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

/**
 * Whether no lane has two of these rows. A claim takes one row of each lane before it takes a second one of any. So only a claim with at
 * most one row of each lane may have left lanes out.
 */
function isOneOfEach(items: readonly ClaimedItem[]): boolean {
  return new Set(items.map(({ lane }) => lane)).size === items.length;
}

function isStrangeTo({ lanes }: Question): (item: ClaimedItem) => boolean {
  const known = new Set(lanes.map(({ lane }) => lane));
  return ({ lane }) => !known.has(lane);
}

/** Whether an account got its whole share, so that lanes may have more of its rows. */
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

/** Takes a slot for each claimed row, if one is free. Returns the rows that got one, each with the function that gives it back. */
export function slotsFor<Item extends ClaimedItem>(items: readonly Item[], lanes: Lanes<Item>): Map<Item, Leave> {
  const slots = new Map<Item, Leave>();
  const heldBack = new Set<string>();
  for (const item of items) {
    // A row that gets no slot holds back the later rows of its inbox, even if there is a slot for them.
    const inbox = `${item.lane} ${item.inboxId}`;
    const leave = heldBack.has(inbox) ? undefined : lanes.enter(item);
    if (leave === undefined) heldBack.add(inbox);
    else slots.set(item, leave);
  }
  return slots;
}

/**
 * The pause before the next claim if another process was in the way: it locks a lane for a few milliseconds, or keeps an inbox until the
 * claimed rows of that inbox have started. Undefined if none was.
 */
export function pauseMs(
  { contended, behindAnother }: Pick<Claimed<ClaimedItem>, "contended" | "behindAnother">,
  random: () => number,
): number | undefined {
  if (contended) return 5 + 15 * random();
  return behindAnother ? 50 + 50 * random() : undefined;
}
