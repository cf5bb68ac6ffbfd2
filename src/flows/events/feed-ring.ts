import { comparePositions, type LogPosition } from "../../domain/events/log-position.ts";
import type { FeedEvent } from "../../store/events/feeds.ts";

/**
 * The end of a log: all events behind the floor up to the head, each with a permanent number. Events have no data here, so a ring is
 * small however large the mail is.
 */
export interface FeedRing {
  /** The position up to which the log has been read. */
  readonly head: LogPosition;
  readonly floor: LogPosition;
  /** The number of the next event to come. */
  readonly end: number;
  /** Undefined for a number before the floor or behind the head. */
  at(number: number): FeedEvent | undefined;
  /**
   * The number of the first event after this position. If there is no such event yet, it is the number of the next event to come.
   * Undefined if the position is before the floor.
   */
  numberBehind(position: LogPosition): number | undefined;
  add(events: readonly FeedEvent[]): void;
}

export function feedRing(start: LogPosition, most: number): FeedRing {
  let floor = start;
  let first = 0;
  let events: FeedEvent[] = [];

  return {
    get head() {
      return events.at(-1) ?? floor;
    },
    get floor() {
      return floor;
    },
    get end() {
      return first + events.length;
    },
    at: (number) => events[number - first],
    numberBehind(position) {
      if (comparePositions(position, floor) < 0) return undefined;
      let [from, to] = [0, events.length];
      while (from < to) {
        const middle = (from + to) >> 1;
        if (comparePositions(events[middle] ?? floor, position) > 0) to = middle;
        else from = middle + 1;
      }
      return first + from;
    },
    add(more) {
      events.push(...more);
      // Drops an eighth at a time: moving all others for each new event would be too slow.
      if (events.length <= most + (most >> 3)) return;
      const gone = events.length - most;
      floor = events[gone - 1] ?? floor;
      first += gone;
      events = events.slice(gone);
    },
  };
}
