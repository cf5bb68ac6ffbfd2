import type { ClaimedItem, KnownLane } from "../../store/outbox/claims.ts";

interface KnownLaneState {
  inHand: number;
  lastInboxId: string;
  /** It had as many rows as it had slots for, so there may be more. */
  mayHaveMore: boolean;
}

/** The lanes that something is known of: those with rows in hand, and those with more in line than they had slots for. */
export function knownLanes() {
  const states = new Map<string, KnownLaneState>();

  return {
    /** A lane gets no more than its share of the claim, the first picks of all coming first. */
    list(slotsOf: (lane: string) => number | undefined, limit: number): KnownLane[] {
      const share = Math.max(1, Math.ceil((2 * limit) / Math.max(1, states.size)));
      return [...states].map(([lane, { lastInboxId }]) => ({
        lane,
        lastInboxId,
        slots: Math.min(share, slotsOf(lane) ?? 1),
      }));
    },
    note(known: readonly KnownLane[], items: readonly ClaimedItem[], wasLimited: boolean): void {
      const taken = Map.groupBy(items, ({ lane }) => lane);
      for (const { lane, slots } of known) {
        const state = states.get(lane);
        if (state !== undefined && slots > 0) state.mayHaveMore = wasLimited || (taken.get(lane)?.length ?? 0) >= slots;
      }
      for (const [lane, rows] of taken) {
        const state = states.get(lane) ?? { inHand: 0, lastInboxId: "", mayHaveMore: true };
        state.inHand += rows.length;
        state.lastInboxId = rows.findLast(({ inTurn }) => inTurn)?.inboxId ?? state.lastInboxId;
        states.set(lane, state);
      }
      for (const { lane } of known) forgetIfIdle(lane);
    },
    left(lane: string): void {
      const state = states.get(lane);
      if (state !== undefined) state.inHand -= 1;
      forgetIfIdle(lane);
    },
    /** Also a lane that is forgotten since it had nothing that could start. */
    expectMore(lane: string): void {
      const state = states.get(lane) ?? { inHand: 0, lastInboxId: "", mayHaveMore: true };
      state.mayHaveMore = true;
      states.set(lane, state);
    },
    mayHaveMore: (lane: string) => states.get(lane)?.mayHaveMore ?? false,
  };

  function forgetIfIdle(lane: string): void {
    const state = states.get(lane);
    if (state !== undefined && state.inHand <= 0 && !state.mayHaveMore) states.delete(lane);
  }
}
