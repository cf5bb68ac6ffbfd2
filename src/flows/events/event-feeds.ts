import type { Db } from "../../database/db.ts";
import { positionOf, startOfLog } from "../../domain/events/log-position.ts";
import { paced } from "../../primitives/paced.ts";
import { listNewEvents, listLastOfLog } from "../../store/events/feeds.ts";
import type { Deps } from "../deps.ts";
import { type FeedRing, feedRing } from "./feed-ring.ts";
import { heldFeeds } from "./held-feeds.ts";
import { type WriteEvents, type WrittenMemory, writtenMemories } from "./written-events.ts";

/** The end of one account's log, as this process reads it for all who follow it. */
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
 * A process has one reader of logs, whoever follows them: woken by commits, and each second anyway, it reads all accounts that have
 * something new in one statement.
 */
export interface EventFeeds {
  /** Calls back when there is more in the ring, until who follows leaves. */
  follow(accountId: string, onEvents: () => void): Promise<Following>;
  stop(): void;
}

export interface FeedDeps extends Pick<Deps, "db" | "changes" | "log"> {
  write: WriteEvents;
  /** Told of each statement that reads logs. */
  observe?: { feedRead?(): void };
  nowMs?: () => number;
}

/** So many of an account's last events are at hand. */
const mostInRing = 1_000;
/** Of them so many are read when somebody begins to listen: who was here before the process was restarted goes on from these. */
const atFirst = 200;
const atOnce = 500;
const everyMs = 1_000;
/** A flood of commits is one statement for each of these. */
const pauseMs = 3;

const budget = { accountBytes: 8 << 20, processBytes: 32 << 20, freshMs: 60_000 };

export function eventFeeds(deps: FeedDeps): EventFeeds {
  const { db, changes, nowMs = () => performance.now() } = deps;
  const feeds = new Map<string, { begun: Promise<Fed>; followers: number }>();
  const newMemory = writtenMemories(deps.write, budget, nowMs);
  const reader = logReader(deps);

  async function begin(accountId: string): Promise<Fed> {
    let feed: Fed | undefined;
    let isToBeWoken = false;
    const stopListening = changes.listen(accountId, () => {
      if (feed === undefined) isToBeWoken = true;
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
    if (isToBeWoken) reader.wake(feed);
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
      // The same function may follow twice.
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

/** Reads what is new in the logs of all feeds that are open. */
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
      // It is looked again each second.
      log.debug({ error: error instanceof Error ? error.name : typeof error }, "the log was not read");
    } finally {
      isReading = false;
      if (woken.size > 0) rounds.ask();
    }
  }

  async function read(reading: ReadonlyMap<string, Fed>): Promise<void> {
    const heads = Array.from(reading.values(), ({ accountId, ring: { head } }) => ({ accountId, ...positionOf(head) }));
    const { events, heldBack } = await listNewEvents(db.api, heads, atOnce);
    observe.feedRead?.();
    const byAccount = Map.groupBy(events, ({ accountId }) => accountId);
    for (const [accountId, found] of byAccount) {
      const feed = reading.get(accountId);
      if (feed === undefined || !open.has(feed)) continue;
      feed.ring.add(found);
      if (found.length === atOnce) woken.add(feed);
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

/** One event more than is kept tells what the others stand behind. */
async function ringOf(db: Db, accountId: string): Promise<FeedRing> {
  const last = await listLastOfLog(db, accountId, atFirst + 1);
  const floor = last.length > atFirst ? last.shift() : undefined;
  const ring = feedRing(positionOf(floor ?? startOfLog), mostInRing);
  ring.add(last);
  return ring;
}

interface Fed extends EventFeed {
  followers: Set<() => void>;
  stopListening(): void;
}
