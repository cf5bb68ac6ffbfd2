import type { ClaimedItem, KnownLane } from "../../store/outbox/claims.ts";
import type { Lanes } from "./lanes.ts";

interface KnownLaneState {
  inHand: number;
  /** The last account of the lane that had a turn, and the last inbox of each account, so that the next claim continues after them. */
  lastAccountId: string;
  lastInboxes: Map<string, string>;
  /** Whether the lane may have more ready rows, because the last claim filled its slots. */
  mayHaveMore: boolean;
}

/** The most accounts of a lane whose last inbox is remembered. A forgotten account starts at its first inbox again. */
const mostAccounts = 1000;

/** The known lanes: those with rows in hand, and those with more ready rows than slots. */
export function knownLanes() {
  const states = new Map<string, KnownLaneState>();

  return {
    /** Lists the known lanes for a claim of at most `limit` rows. Each lane gets at most twice its even share of them. */
    list(lanes: Pick<Lanes<never>, "slots" | "pace">, limit: number): KnownLane[] {
      const share = Math.max(1, Math.ceil((2 * limit) / Math.max(1, states.size)));
      return [...states].map(([lane, state]) => {
        const slots = Math.min(share, lanes.slots(lane) ?? 1);
        const { lastAccountId } = state;
        return { lane, slots, pace: lanes.pace?.(lane) ?? "brisk", lastAccountId, lastInboxes: cursors(state, slots) };
      });
    },
    note(known: readonly KnownLane[], items: readonly ClaimedItem[], wasLimited: boolean): void {
      const taken = Map.groupBy(items, ({ lane }) => lane);
      for (const { lane, slots } of known) {
        const state = states.get(lane);
        if (state !== undefined && slots > 0) state.mayHaveMore = wasLimited || (taken.get(lane)?.length ?? 0) >= slots;
      }
      for (const [lane, rows] of taken) {
        const state = states.get(lane) ?? unknownLane();
        state.inHand += rows.length;
        rememberTurns(state, rows);
        states.set(lane, state);
      }
      for (const { lane } of known) forgetIfIdle(lane);
    },
    left(lane: string): void {
      const state = states.get(lane);
      if (state !== undefined) state.inHand -= 1;
      forgetIfIdle(lane);
    },
    /** Notes that a lane may have more rows. The lane may have been forgotten, because none of its rows could start. */
    expectMore(lane: string): void {
      const state = states.get(lane) ?? unknownLane();
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

function unknownLane(): KnownLaneState {
  return { inHand: 0, lastAccountId: "", lastInboxes: new Map(), mayHaveMore: true };
}

function rememberTurns(state: KnownLaneState, rows: readonly ClaimedItem[]): void {
  const inTurn = rows.filter(({ turn }) => turn !== null).toSorted((one, other) => (one.turn ?? 0) - (other.turn ?? 0));
  for (const { accountId, inboxId } of inTurn) {
    state.lastAccountId = accountId;
    state.lastInboxes.set(accountId, inboxId);
  }
  for (const accountId of state.lastInboxes.keys()) {
    if (state.lastInboxes.size <= mostAccounts) break;
    state.lastInboxes.delete(accountId);
  }
}

/**
 * The last inbox of each account that a claim of at most `slots` rows may reach. These are the accounts after the last one, in order; after
 * the end the order begins again.
 */
function cursors({ lastAccountId, lastInboxes }: KnownLaneState, slots: number): Record<string, string> {
  if (slots <= 0) return {};
  const enough = 2 * slots + 8;
  if (lastInboxes.size <= enough) return Object.fromEntries(lastInboxes);
  const accounts = [...lastInboxes].sort(([one], [other]) => (one < other ? -1 : 1));
  const behind = accounts.findIndex(([accountId]) => accountId > lastAccountId);
  const from = Math.max(0, behind);
  return Object.fromEntries([...accounts.slice(from), ...accounts.slice(0, from)].slice(0, enough));
}
