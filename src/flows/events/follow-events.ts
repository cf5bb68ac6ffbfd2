import type { Db } from "../../database/db.ts";
import { comparePlaces, type LogPlace } from "../../domain/events/log-place.ts";
import { type IncludeWord, type Subscription, wants } from "../../domain/events/subscription.ts";
import { type FeedEvent, listFeedNews } from "../../store/events/feeds.ts";
import type { Deps } from "../deps.ts";
import { type EventFeed, laterPlace } from "./event-feeds.ts";
import type { LogTurns } from "./log-turns.ts";
import type { Told, WriteEvents, WrittenEvent } from "./written-events.ts";

export interface Wanted extends Subscription {
  include: readonly IncludeWord[];
}

/** One reader of an account's log: it has a place and no queue, so it costs the same however far behind it is. */
export interface Follower {
  /** Behind the last event that was taken, or that was there and not wanted. */
  readonly place: LogPlace;
  /** The next event that is wanted; undefined where there is none yet; a promise where it must be fetched first: ask again then. */
  next(): WrittenEvent | Promise<unknown> | undefined;
  /** From here on other events are wanted. */
  change(wanted: Wanted): void;
  /** Holds nothing any more, until it is asked again: for who can't take what there is. */
  rest(): void;
}

export interface FollowDeps extends Pick<Deps, "db"> {
  turns: LogTurns;
  write: WriteEvents;
}

/** As many are written by one statement. */
const writtenTogether = 50;
/**
 * A page of the log is small, since what is in memory while rubbish is collected counts as old, and lies there until much of it has
 * gathered: pages of a thousand events are 50 MB in a long replay. Only where few of them are wanted a page is larger.
 */
const lookedAt = { least: 200, most: 1_000 };

/**
 * Reads the ring of the feed where it has all that lies behind its place, and the log itself until then. Both go by places alone, so there
 * is nothing between them and nothing twice.
 */
export function follower(deps: FollowDeps, feed: EventFeed, from: LogPlace, first: Wanted): Follower {
  let place = from;
  let wanted = first;
  /** Of the next event in the ring, where it stands there. */
  let number: number | undefined;
  let page: LogPage | undefined;
  let lookAt = lookedAt.least;
  const written = writtenOf(feed);

  function next(): WrittenEvent | Promise<unknown> | undefined {
    for (;;) {
      const step = page === undefined ? ofRing() : ofPage(page);
      if (step !== "go on") return step;
    }
  }

  function ofRing(): WrittenEvent | Promise<unknown> | undefined | "go on" {
    const { ring } = feed;
    if (number === ring.end) return undefined;
    if (number === undefined || ring.at(number) === undefined) number = ring.numberBehind(place);
    if (number === undefined) return readPage();
    const event = ring.at(number);
    if (event === undefined) return undefined;
    // Another process may have been ahead of this one.
    if (comparePlaces(event, place) > 0) {
      if (!wants(wanted, event)) {
        pass(event);
        return "go on";
      }
      const found = written.find(event.id, number, wanted);
      if (found instanceof Promise) return found;
      pass(event);
      if (found !== "gone") return found;
      return "go on";
    }
    number += 1;
    return "go on";
  }

  function pass({ id, writtenBy }: LogPlace): void {
    place = { id, writtenBy };
    written.letGo();
    if (number !== undefined) number += 1;
  }

  async function readPage(): Promise<void> {
    const asked = wanted;
    const from = place;
    const giveBack = await deps.turns.take();
    try {
      const { events, end } = await readLog(deps.db.api, feed, from, lookAt);
      if (asked !== wanted || from !== place) return giveBack();
      const found = events.filter((event) => wants(asked, event));
      page = { events: found, end, taken: 0, written: [], giveBack };
      lookAt = found.length < events.length / 4 ? lookedAt.most : lookedAt.least;
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  function ofPage(own: LogPage): WrittenEvent | Promise<unknown> | "go on" {
    const event = own.events[own.taken];
    if (event === undefined) {
      place = own.end;
      rest();
      return "go on";
    }
    if (own.written.length === 0) return writePage(own);
    const written = own.written.shift();
    own.taken += 1;
    place = { id: event.id, writtenBy: event.writtenBy };
    return written ?? "go on";
  }

  async function writePage(own: LogPage): Promise<void> {
    const ids = own.events.slice(own.taken, own.taken + writtenTogether).map(({ id }) => id);
    own.written = await deps.write(ids, wanted.include);
  }

  function rest(): void {
    page?.giveBack();
    page = undefined;
    number = undefined;
    written.letGo();
  }

  return {
    get place() {
      return place;
    },
    next,
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
    if (wants(wanted, event) && written.find(event.id, wanted.include) === undefined) ids.push(event.id);
  }
  return ids;
}

async function readLog(
  db: Db,
  { accountId, ring }: EventFeed,
  from: LogPlace,
  limit: number,
): Promise<Pick<LogPage, "events" | "end">> {
  // The log is complete up to where the ring begins, so where it has no more that is where the ring takes over.
  const { floor } = ring;
  const { events } = await listFeedNews(db, [{ accountId, ...from }], limit);
  const last = laterPlace(events.at(-1) ?? from, from);
  return { events, end: events.length < limit ? laterPlace(last, floor) : last };
}

/** Events of the log that are wanted, of which the next few are written. */
interface LogPage {
  events: FeedEvent[];
  taken: number;
  written: (WrittenEvent | undefined)[];
  /** Where it has been looked up to. */
  end: LogPlace;
  giveBack(): void;
}
