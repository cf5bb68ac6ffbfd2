import type { Db } from "../../database/db.ts";
import { comparePositions, type LogPosition, laterPosition } from "../../domain/events/log-position.ts";
import { type IncludeWord, type Subscription, wants } from "../../domain/events/subscription.ts";
import { type FeedEvent, listNewEvents } from "../../store/events/feeds.ts";
import type { Deps } from "../deps.ts";
import type { EventFeed } from "./event-feeds.ts";
import type { LogTurns } from "./log-turns.ts";
import type { Told, WriteEvents, WrittenEvent } from "./written-events.ts";

export interface Wanted extends Subscription {
  include: readonly IncludeWord[];
}

/** One reader of an account's log. It has a position and no queue, so it costs the same however far behind it is. */
export interface Follower {
  /** Behind the last event that was passed: taken by the client, or not wanted. */
  readonly position: LogPosition;
  /** The next event that is wanted, which stays the next until `pass`; undefined if the log has none; a promise if it must be read first. */
  next(): WrittenEvent | Promise<unknown> | undefined;
  /** Goes behind the event that `next` has given. */
  pass(): void;
  /** Whether it holds a page of the log, which keeps another reader waiting. */
  holdsPage(): boolean;
  /** From here on other events are wanted. */
  change(wanted: Wanted): void;
  /** Lets go of all that it holds in memory, and of a read that is under way. It goes on from its position when `next` is called. */
  rest(): void;
}

export interface FollowDeps extends Pick<Deps, "db"> {
  turns: LogTurns;
  write: WriteEvents;
}

/** Events that are written together, where the writer has room for them. */
const writtenTogether = 50;
/**
 * Rows of the log in a page. Pages are small, since the collector counts what is in memory while it runs as old and frees it late:
 * pages of a thousand rows took 50 MB in a long replay. A page is larger where few of its events are wanted.
 */
const lookedAt = { least: 200, most: 1_000 };
/** After this much a reader lets others read. */
const bytesOfTurn = 512 << 10;

/**
 * Reads the ring of the feed if that has all that lies behind its position, and the log itself until then. Both go by positions alone, so
 * there is nothing between them and nothing twice.
 */
export function follower(deps: FollowDeps, feed: EventFeed, from: LogPosition, first: Wanted): Follower {
  let position = from;
  let wanted = first;
  /** The number of the next event in the ring, if it stands there. */
  let number: number | undefined;
  let page: LogPage | undefined;
  let lookAt = lookedAt.least;
  /** Since it fell behind the ring. */
  let readBytes = 0;
  /** Counted up by each rest: a read that began before it is dropped. */
  let rests = 0;
  const written = writtenOf(feed);

  function next(): WrittenEvent | Promise<unknown> | undefined {
    for (;;) {
      const step = page === undefined ? nextOfRing() : nextOfPage(page);
      if (step !== "go on") return step;
    }
  }

  function nextOfRing(): WrittenEvent | Promise<unknown> | undefined | "go on" {
    const { ring } = feed;
    if (number === ring.end) return undefined;
    readBytes = 0;
    if (number === undefined || ring.at(number) === undefined) number = ring.numberBehind(position);
    if (number === undefined) return readPage();
    const event = ring.at(number);
    if (event === undefined) return undefined;
    // Another process may have been ahead of this one.
    if (comparePositions(event, position) <= 0) {
      number += 1;
      return "go on";
    }
    const found = wants(wanted, event) ? written.find(event.id, number, wanted) : "gone";
    if (found !== "gone") return found;
    passInRing(number, event);
    return "go on";
  }

  function passInRing(at: number, { id, writtenBy }: LogPosition): void {
    position = { id, writtenBy };
    written.letGo();
    number = at + 1;
  }

  async function readPage(): Promise<void> {
    const begun = rests;
    const giveBack = await deps.turns.take(readBytes);
    try {
      const read = begun === rests ? await readLog(deps.db.api, feed, position, lookAt) : undefined;
      if (read === undefined || begun !== rests) return giveBack();
      const { events, end } = read;
      const found = events.filter((event) => wants(wanted, event));
      page = { events: found, end, passed: 0, written: [], writtenBytes: 0, giveBack };
      lookAt = found.length < events.length / 4 ? lookedAt.most : lookedAt.least;
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  function nextOfPage(own: LogPage): WrittenEvent | Promise<unknown> | "go on" {
    const isRead = own.passed === own.events.length;
    if (isRead) position = own.end;
    if (isRead || (own.written.length === 0 && own.writtenBytes >= bytesOfTurn && deps.turns.areWanted())) {
      letGoOfPage();
      return "go on";
    }
    if (own.written.length === 0) return writePage(own);
    const [event] = own.written;
    if (event !== undefined) return event;
    passInPage(own);
    return "go on";
  }

  function passInPage(own: LogPage): void {
    const event = own.events[own.passed];
    if (event === undefined) return;
    own.written.shift();
    own.passed += 1;
    position = { id: event.id, writtenBy: event.writtenBy };
  }

  async function writePage(own: LogPage): Promise<void> {
    const ids = own.events.slice(own.passed, own.passed + writtenTogether).map(({ id }) => id);
    own.written = await deps.write(ids, wanted.include);
    const bytes = own.written.reduce((sum, event) => sum + (event?.sizeBytes ?? 0), 0);
    own.writtenBytes += bytes;
    readBytes += bytes;
  }

  function letGoOfPage(): void {
    page?.giveBack();
    page = undefined;
    number = undefined;
  }

  function rest(): void {
    rests += 1;
    letGoOfPage();
    written.letGo();
  }

  return {
    get position() {
      return position;
    },
    next,
    pass() {
      if (page !== undefined) return passInPage(page);
      const event = number === undefined ? undefined : feed.ring.at(number);
      if (number !== undefined && event !== undefined) passInRing(number, event);
    },
    holdsPage: () => page !== undefined,
    change(now) {
      wanted = now;
      rest();
    },
    rest,
  };
}

/** Events of the ring, written. One that was waited for is kept at hand until it is let go: the feed may have forgotten it by then. */
function writtenOf(feed: EventFeed) {
  let atHand: { id: string; wanted: Wanted; told: Told } | undefined;

  async function take(id: string, wanted: Wanted, writing: Promise<Told | undefined>): Promise<void> {
    const told = await writing;
    if (told !== undefined) atHand = { id, wanted, told };
  }

  return {
    /** A promise where it is not written yet: ask again then. */
    find(id: string, number: number, wanted: Wanted): Told | Promise<void> {
      if (atHand?.id === id && atHand.wanted === wanted) return atHand.told;
      const { written } = feed;
      const found =
        written.find(id, wanted.include) ?? written.write(unwrittenFrom(feed, number, wanted), wanted.include);
      return found instanceof Promise ? take(id, wanted, found) : found;
    },
    letGo() {
      atHand = undefined;
    },
  };
}

/** Of this event of the ring, and of those behind it that are wanted and not written yet. */
function unwrittenFrom({ ring, written }: EventFeed, start: number, wanted: Wanted): string[] {
  const ids: string[] = [];
  for (let at = start; ids.length < writtenTogether; at += 1) {
    const event = ring.at(at);
    if (event === undefined) break;
    if (wants(wanted, event) && !written.has(event.id, wanted.include)) ids.push(event.id);
  }
  return ids;
}

async function readLog(
  db: Db,
  { accountId, ring }: EventFeed,
  from: LogPosition,
  limit: number,
): Promise<Pick<LogPage, "events" | "end">> {
  // The log is complete up to where the ring begins, so where it has no more that is where the ring takes over.
  const { floor } = ring;
  const { events } = await listNewEvents(db, [{ accountId, ...from }], limit);
  const last = laterPosition(events.at(-1) ?? from, from);
  return { events, end: events.length < limit ? laterPosition(last, floor) : last };
}

/** Events of the log that are wanted, of which the next few are written. */
interface LogPage {
  events: FeedEvent[];
  passed: number;
  written: (WrittenEvent | undefined)[];
  writtenBytes: number;
  /** Where it has been looked up to. */
  end: LogPosition;
  giveBack(): void;
}
