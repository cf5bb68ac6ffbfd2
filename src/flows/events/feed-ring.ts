import { comparePositions, type LogPosition } from "../../domain/events/log-position.ts";
import type { FeedEvent } from "../../store/events/feeds.ts";

/**
 * The newest events of a log: all after the position `floor`, up to the position `head`. Each has a number that never changes. Events have
 * no data here, so a ring is small however large the mail is.
 */
export interface FeedRing {
  /** The position up to which the log has been read. */
  readonly head: LogPosition;
  readonly floor: LogPosition;
  /** The number that the next new event will get. */
  readonly end: number;
  /** The event with this number. Undefined if it was dropped from the ring, or is not read yet. */
  at(number: number): FeedEvent | undefined;
  /**
   * The number of the first event after this position. If there is no such event yet, the number that the next new event will get.
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
      // Drops old events only once there are an eighth too many, because each time all others are moved.
      if (events.length <= most + (most >> 3)) return;
      const gone = events.length - most;
      floor = events[gone - 1] ?? floor;
      first += gone;
      events = events.slice(gone);
    },
  };
}
