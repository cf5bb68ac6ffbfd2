import type { Db } from "../../database/db.ts";
import { positionOf, startOfLog } from "../../domain/events/log-position.ts";
import { paced } from "../../primitives/paced.ts";
import { listLastOfLog, listNewEvents } from "../../store/events/feeds.ts";
import type { Deps } from "../deps.ts";
import { type FeedRing, feedRing } from "./feed-ring.ts";
import { type WriteEvents, type WrittenMemory, writtenMemories } from "./written-events.ts";

/** The newest events of one account's log. This process reads them once for all streams of the account. */
export interface EventFeed {
  readonly accountId: string;
  readonly ring: FeedRing;
  readonly written: WrittenMemory;
}

export interface Following {
  feed: EventFeed;
  leave(): void;
}

/**
 * The feeds of all accounts that have a stream at this process. When events are notified, and also each second, one statement reads the new
 * events of all these accounts.
 */
export interface EventFeeds {
  /** Opens the feed of an account for one stream. Calls `onEvents` when the ring has new events, until `leave` is called. */
  follow(accountId: string, onEvents: () => void): Promise<Following>;
  stop(): void;
}

export interface FeedDeps extends Pick<Deps, "db" | "changes" | "log"> {
  write: WriteEvents;
  /** Observes each statement that reads logs. */
  observe?: { feedRead?(): void };
  nowMs?: () => number;
}

/** The number of events of an account that stay in memory. */
const mostInRing = 1_000;
/** The number of events that are read when an account's first stream opens. Most clients that reconnect after a restart need only these. */
const rowsAtFirst = 200;
const rowsAtOnce = 500;
const everyMs = 1_000;
/** Pause between two statements, so that many commits are read together. */
const pauseMs = 3;

const budget = { accountBytes: 8 << 20, processBytes: 32 << 20, freshMs: 60_000 };

export function eventFeeds(deps: FeedDeps): EventFeeds {
  const { db, changes, nowMs = () => performance.now() } = deps;
  const feeds = new Map<string, { begun: Promise<Fed>; followers: number }>();
  const newMemory = writtenMemories(deps.write, budget, nowMs);
  const reader = logReader(deps);

  async function begin(accountId: string): Promise<Fed> {
    let feed: Fed | undefined;
    let hasChanged = false;
    const stopListening = changes.listen(accountId, () => {
      if (feed === undefined) hasChanged = true;
      else reader.wake(feed);
    });
    try {
      const ring = await ringOf(db.api, accountId);
      feed = { accountId, ring, written: newMemory(), followers: new Set(), stopListening };
    } catch (error) {
      stopListening();
      throw error;
    }
    reader.open.add(feed);
    if (hasChanged) reader.wake(feed);
    return feed;
  }

  function end(feed: Fed): void {
    feed.stopListening();
    feed.written.forgetAll();
    reader.open.delete(feed);
    feeds.delete(feed.accountId);
  }

  return {
    async follow(accountId, onEvents) {
      const known = feeds.get(accountId) ?? { begun: begin(accountId), followers: 0 };
      feeds.set(accountId, known);
      known.followers += 1;
      const feed = await known.begun.catch((error) => {
        if (feeds.get(accountId) === known) feeds.delete(accountId);
        throw error;
      });
      // A new function, because the same one may be passed twice.
      const own = () => onEvents();
      feed.followers.add(own);
      let isFollowing = true;
      return {
        feed,
        leave() {
          if (!isFollowing) return;
          isFollowing = false;
          feed.followers.delete(own);
          known.followers -= 1;
          if (known.followers === 0) end(feed);
        },
      };
    },
    stop: reader.stop,
  };
}

/** Reads the new events of all open feeds. */
function logReader({ db, log, observe = {} }: FeedDeps) {
  const open = new Set<Fed>();
  const woken = new Set<Fed>();
  const rounds = paced(pauseMs, () => void readWoken());
  const held = heldFeeds<Fed>((feeds) => feeds.forEach(wake));
  let isReading = false;

  const everySecond = setInterval(() => {
    for (const feed of open) woken.add(feed);
    rounds.ask();
  }, everyMs);

  function wake(feed: Fed): void {
    woken.add(feed);
    rounds.ask();
  }

  async function readWoken(): Promise<void> {
    if (isReading || woken.size === 0) return;
    isReading = true;
    const stillOpen = [...woken].filter((feed) => open.has(feed));
    const reading = new Map(stillOpen.map((feed) => [feed.accountId, feed]));
    woken.clear();
    try {
      if (reading.size > 0) await read(reading);
    } catch (error) {
      // A failed read does no harm: the log is read again within a second.
      log.debug({ error: error instanceof Error ? error.name : typeof error }, "the log was not read");
    } finally {
      isReading = false;
      if (woken.size > 0) rounds.ask();
    }
  }

  async function read(reading: ReadonlyMap<string, Fed>): Promise<void> {
    const heads = Array.from(reading.values(), ({ accountId, ring: { head } }) => ({ accountId, ...positionOf(head) }));
    const { events, heldBack } = await listNewEvents(db.api, heads, rowsAtOnce);
    observe.feedRead?.();
    const byAccount = Map.groupBy(events, ({ accountId }) => accountId);
    for (const [accountId, found] of byAccount) {
      const feed = reading.get(accountId);
      if (feed === undefined || !open.has(feed)) continue;
      feed.ring.add(found);
      if (found.length === rowsAtOnce) woken.add(feed);
      for (const onEvents of feed.followers) onEvents();
    }
    held.haveRead(
      reading.values(),
      heldBack.flatMap((accountId) => reading.get(accountId) ?? []),
      byAccount.size > 0,
    );
  }

  return {
    open,
    wake,
    stop() {
      clearInterval(everySecond);
      held.stop();
      rounds.stop();
      open.clear();
    },
  };
}

/**
 * Pauses between reads of feeds with held-back events: these are committed, but the log does not show them while an older transaction still
 * runs.
 */
const heldBackMs = { least: 5, most: 500 };

/** The feeds with events that the log does not show yet, because an older transaction still runs. */
export interface HeldFeeds<Feed> {
  /** Notes which feeds were read, which of them are held back, and whether there was a new event. */
  haveRead(read: Iterable<Feed>, heldBack: readonly Feed[], hasMoved: boolean): void;
  stop(): void;
}

/**
 * No notification comes when the older transaction ends. So these feeds are read again, after 5 ms at first, and then after longer pauses
 * up to 500 ms.
 */
export function heldFeeds<Feed>(look: (feeds: readonly Feed[]) => void): HeldFeeds<Feed> {
  const held = new Set<Feed>();
  let waitMs = heldBackMs.least;
  let next: { timer: ReturnType<typeof setTimeout>; afterMs: number } | undefined;

  function lookAgain(): void {
    next = undefined;
    const again = [...held];
    // The next read adds the feeds that are still held back. Closed feeds are not read again.
    held.clear();
    look(again);
  }

  return {
    haveRead(read, heldBack, hasMoved) {
      for (const feed of read) held.delete(feed);
      for (const feed of heldBack) held.add(feed);
      if (held.size === 0 || hasMoved) waitMs = heldBackMs.least;
      // Keeps a timer that fires sooner, so that reads of other feeds do not delay it.
      if (held.size === 0 || (next !== undefined && next.afterMs <= waitMs)) return;
      clearTimeout(next?.timer);
      next = { timer: setTimeout(lookAgain, waitMs), afterMs: waitMs };
      waitMs = Math.min(waitMs * 2, heldBackMs.most);
    },
    stop: () => clearTimeout(next?.timer),
  };
}

/** Makes a ring with the last 200 events of an account's log. Reads one event more, whose position is the floor of the ring. */
async function ringOf(db: Db, accountId: string): Promise<FeedRing> {
  const last = await listLastOfLog(db, accountId, rowsAtFirst + 1);
  const floor = last.length > rowsAtFirst ? last.shift() : undefined;
  const ring = feedRing(positionOf(floor ?? startOfLog), mostInRing);
  ring.add(last);
  return ring;
}

interface Fed extends EventFeed {
  followers: Set<() => void>;
  stopListening(): void;
}
