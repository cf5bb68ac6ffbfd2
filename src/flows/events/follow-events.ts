import type { Db } from "../../database/db.ts";
import { comparePositions, type LogPosition, laterPosition, positionOf } from "../../domain/events/log-position.ts";
import { type IncludeWord, type Subscription, wants } from "../../domain/events/subscription.ts";
import { type FeedEvent, listNewEvents } from "../../store/events/feeds.ts";
import type { Deps } from "../deps.ts";
import type { EventFeed } from "./event-feeds.ts";
import type { LogTurns } from "./log-turns.ts";
import type { WriteEvents, WrittenEvent } from "./written-events.ts";

export interface Wanted extends Subscription {
  include: readonly IncludeWord[];
}

/**
 * The progress of one client through the log. It is a position, not a queue, so a client that is far behind takes no more memory than
 * others.
 */
export interface LogReader {
  /** The position of the last event that the client has got, or that was skipped because the client does not want it. */
  position: LogPosition;
  readonly wanted: Wanted;
  /** Bytes read from the log since the reader fell behind the ring. */
  readBytes: number;
  /** Set when the client has left or wants other events: `followLog` then ends. */
  isOver: boolean;
}

/**
 * One step through the log: the position that it reaches, and the event to send. The event is undefined if there is nothing to send: the
 * client does not want the events up to that position, or their messages are deleted.
 */
export interface LogStep {
  position: LogPosition;
  event: WrittenEvent | undefined;
}

export interface FollowDeps extends Pick<Deps, "db"> {
  turns: LogTurns;
  write: WriteEvents;
}

/** The most events that are made into JSON together. Also the most events of one batch from the ring. */
const writtenTogether = 50;
/**
 * Rows in one page of the log. Pages are small, because objects that survive one collection of garbage are freed late: pages of a thousand
 * rows took 50 MB in a long replay. If few events of a page are wanted, the next page is larger.
 */
const rowsOfPage = { least: 200, most: 1_000 };
/** Bytes after which a reader gives its turn to a waiting one. */
const bytesOfTurn = 512 << 10;

/**
 * Yields the steps of a reader in batches, until `reader.isOver`. It begins at `reader.position`, which the consumer moves to the position
 * of each step. A consumer that stops inside a batch continues later with a new generator, and keeps nothing of the log in memory
 * meanwhile. Only the position decides which event is next, so no event is missed or repeated, also not at the cutover.
 */
export async function* followLog(
  deps: FollowDeps,
  feed: EventFeed,
  reader: LogReader,
  untilWoken: () => Promise<void>,
): AsyncGenerator<LogStep[]> {
  while (!reader.isOver) {
    yield* backfill(deps, feed, reader);
    // Cutover from the log to the ring, which now has every event after the position. If the reader is too slow, the ring drops its next
    // event, and backfill starts again.
    reader.readBytes = 0;
    yield* live(feed, reader, untilWoken);
  }
}

/** Reads the log page by page, until the ring has all events after the position. It keeps a turn only while it has a page in memory. */
async function* backfill(
  { db, turns, write }: FollowDeps,
  feed: EventFeed,
  reader: LogReader,
): AsyncGenerator<LogStep[]> {
  let rows = rowsOfPage.least;
  while (!reader.isOver && feed.ring.numberBehind(reader.position) === undefined) {
    await turns.take(reader.readBytes);
    try {
      if (reader.isOver) return;
      const page = await readLog(db.api, feed, reader.position, rows);
      const wanted = page.events.filter((event) => wants(reader.wanted, event));
      rows = wanted.length < page.events.length / 4 ? rowsOfPage.most : rowsOfPage.least;
      let turnBytes = 0;
      let passed = 0;
      while (passed < wanted.length && !(turnBytes >= bytesOfTurn && turns.areWanted())) {
        const next = wanted.slice(passed, passed + writtenTogether);
        const steps = await writeSteps(write, next, reader.wanted.include);
        const bytes = steps.reduce((sum, { event }) => sum + (event?.sizeBytes ?? 0), 0);
        turnBytes += bytes;
        reader.readBytes += bytes;
        passed += steps.length;
        yield steps;
      }
      if (passed === wanted.length) yield [{ position: page.end, event: undefined }];
    } finally {
      turns.giveBack();
    }
  }
}

/**
 * Yields the events of the ring, and waits for new ones. It ends if the ring has dropped the next event, because the reader is too slow.
 */
async function* live(feed: EventFeed, reader: LogReader, untilWoken: () => Promise<void>): AsyncGenerator<LogStep[]> {
  const { ring } = feed;
  let number = ring.numberBehind(reader.position);
  while (!reader.isOver && number !== undefined) {
    if (number === ring.end) {
      await untilWoken();
    } else if (ring.at(number) === undefined) {
      return;
    } else {
      const steps = await stepsOfRing(feed, reader, number);
      number += steps.length;
      if (steps.length > 0) yield steps;
    }
  }
}

/**
 * The next steps from this number on, up to the first event without JSON. Only for the event with this number it waits until its JSON is
 * made. Empty if the writer had no room for that.
 */
async function stepsOfRing(feed: EventFeed, { position, wanted }: LogReader, first: number): Promise<LogStep[]> {
  const { ring, written } = feed;
  const steps: LogStep[] = [];
  while (steps.length < writtenTogether) {
    const number = first + steps.length;
    const event = ring.at(number);
    if (event === undefined) break;
    // Skips events up to the position. It may be ahead of this ring, if the client got it from another process.
    if (comparePositions(event, position) <= 0 || !wants(wanted, event)) {
      steps.push({ position: laterPosition(event, position), event: undefined });
      continue;
    }
    let found = written.find(event.id, wanted.include);
    if (found === undefined && steps.length === 0) {
      const writing = written.underWay(event.id, wanted.include);
      found = await (writing ?? written.write(unwrittenFrom(feed, number, wanted), wanted.include));
    }
    if (found === undefined) break;
    steps.push({ position: positionOf(event), event: found === "gone" ? undefined : found });
  }
  return steps;
}

/** The ids of at most 50 wanted events of the ring, from this number on, that are neither written nor being written. */
function unwrittenFrom({ ring, written }: EventFeed, first: number, wanted: Wanted): string[] {
  const ids: string[] = [];
  for (let number = first; ids.length < writtenTogether; number += 1) {
    const event = ring.at(number);
    if (event === undefined) break;
    if (wants(wanted, event) && !written.has(event.id, wanted.include)) ids.push(event.id);
  }
  return ids;
}

async function writeSteps(
  write: WriteEvents,
  events: readonly FeedEvent[],
  include: readonly IncludeWord[],
): Promise<LogStep[]> {
  const ids = events.map(({ id }) => id);
  const written = await write(ids, include);
  return events
    .slice(0, written.length)
    .map((event, index) => ({ position: positionOf(event), event: written[index] }));
}

/** A page of the log, and the position up to which it was read. */
async function readLog(
  db: Db,
  { accountId, ring }: EventFeed,
  from: LogPosition,
  limit: number,
): Promise<{ events: FeedEvent[]; end: LogPosition }> {
  // All events up to the floor of the ring are known to be in the log. So a page that is not full has all events up to that position.
  const { floor } = ring;
  const { events } = await listNewEvents(db, [{ accountId, ...from }], limit);
  const last = laterPosition(events.at(-1) ?? from, from);
  return { events, end: events.length < limit ? laterPosition(last, floor) : last };
}
