import type { Caller as Whole } from "../../domain/access/access.ts";
import type { LogPosition } from "../../domain/events/log-position.ts";
import { itemKindsOf } from "../../domain/outbox-item.ts";
import { percentile } from "../../domain/percentile.ts";
import { boundedMemory } from "../../primitives/memory.ts";
import { type CountedEvents, countEvents, type MinuteCounts } from "../../store/events/event-counts.ts";
import { type DeliveryTime, listDeliveryTimes } from "../../store/outbox/deliveries.ts";
import { findItemsDepth, type ItemsDepth } from "../../store/outbox/listed-items.ts";
import type { Deps } from "../deps.ts";

type Caller = Pick<Whole, "id" | "access" | "reach">;

/** The most minutes that a caller may ask for. */
export const mostMinutes = 1_440;

export interface AccountStats {
  /** The last minutes, oldest first. Less than asked for if the account had too many events in them. */
  perMinute: MinuteCounts[];
  /** Undefined without a delivery in these minutes. */
  delivery: { p50Ms: number | undefined; p99Ms: number | undefined };
  outbox: { count: number; oldestSeconds: number | undefined };
}

/** The stats of an account are counted at most once in this time. */
const freshMs = 10_000;
/** Counts that are older are made anew, so that nobody waits until all events since then are counted. */
const staleMs = 3_600_000;
interface Bounds {
  /** The most events that one statement looks at. */
  eventsAtOnce: number;
  /** The most events that are looked at when an account asks for the first time. */
  mostEvents: number;
  /** The most accounts whose counts are kept. Those of a busy account take 0.2 MB. */
  mostAccounts: number;
}

const usualBounds: Bounds = { eventsAtOnce: 10_000, mostEvents: 200_000, mostAccounts: 200 };

/** A piece of an account's log that was counted: its end at the last count, and as far back as somebody asked. */
interface CountedLog {
  byMinute: Map<number, MinuteCounts>;
  /** The first and the last event of the piece; undefined while it is empty. */
  first: LogPosition | undefined;
  last: LogPosition | undefined;
  /** The first minute of which every event is counted. */
  completeFrom: number;
  /** The number of events that were looked at going backwards. */
  lookedBack: number;
}

interface Count {
  atMs: number;
  minutes: number;
  facts: Promise<Facts>;
}

interface Facts {
  atMs: number;
  /** Complete minutes up to the current one, oldest first. */
  perMinute: MinuteCounts[];
  times: DeliveryTime[];
  depth: ItemsDepth;
}

/**
 * Returns a function that counts the mail of an account by minute. It reads each event of the log once and keeps the counts: the first call
 * goes back through the log as far as the minutes reach, and later ones read what is new. Calls at the same time share one count.
 */
export function accountStats(
  deps: Pick<Deps, "db" | "now">,
  bounds = usualBounds,
): (caller: Caller, minutes: number) => Promise<AccountStats> {
  const logs = boundedMemory<string, CountedLog>(bounds.mostAccounts);
  const counts = boundedMemory<string, Count>(bounds.mostAccounts);

  async function count(caller: Caller, atMs: number, minutes: number, before: Count | undefined): Promise<Facts> {
    // Two counts of an account must not change its piece of the log at the same time.
    await before?.facts.catch(() => undefined);
    const db = deps.db.api;
    const since = minuteOf(atMs) - minutes + 1;
    const isStale = before === undefined || atMs - before.atMs > staleMs;
    const name = nameOf(caller);
    const log = (isStale ? undefined : logs.get(name)) ?? nothingCounted();
    const read = (from: Parameters<typeof countEvents>[1]["from"]) =>
      countEvents(db, { reach: caller.reach, limit: bounds.eventsAtOnce, from });
    await countForward(log, read, bounds);
    await countBack(log, since, read, bounds);
    for (const minute of log.byMinute.keys()) if (minute <= minuteOf(atMs) - mostMinutes) log.byMinute.delete(minute);
    logs.set(name, log);
    const kinds = itemKindsOf(caller);
    const [times, depth] = await Promise.all([
      kinds.includes("webhook") ? listDeliveryTimes(db, caller.id, new Date(since * minuteMs)) : [],
      findItemsDepth(db, { reach: caller.reach, kinds }),
    ]);
    return { atMs, perMinute: lastMinutes(log, since, minuteOf(atMs)), times, depth };
  }

  return async (caller, asked) => {
    const name = nameOf(caller);
    const atMs = deps.now().getTime();
    // Two sizes, so that a caller who asks for ever more minutes does not cause a count each time.
    const minutes = asked <= usualMinutes ? usualMinutes : mostMinutes;
    let last = counts.get(name);
    if (last === undefined || last.minutes < minutes || Math.abs(atMs - last.atMs) >= freshMs) {
      const next: Count = { atMs, minutes, facts: count(caller, atMs, minutes, last) };
      next.facts.catch(() => counts.get(name) === next && counts.delete(name));
      counts.set(name, next);
      last = next;
    }
    return shownStats(await last.facts, asked);
  };
}

/** Callers with this name have the same stats. */
function nameOf(caller: Caller): string {
  const { accountId, inboxId, externalId } = caller.reach;
  return JSON.stringify([accountId, inboxId, externalId, itemKindsOf(caller)]);
}

const usualMinutes = 60;
const minuteMs = 60_000;
const minuteOf = (ms: number) => Math.floor(ms / minuteMs);

function nothingCounted(): CountedLog {
  return {
    byMinute: new Map(),
    first: undefined,
    last: undefined,
    completeFrom: Number.POSITIVE_INFINITY,
    lookedBack: 0,
  };
}

type ReadPiece = (from: { after: LogPosition } | { before: LogPosition } | undefined) => Promise<CountedEvents>;

/** Counts the events after the piece. */
async function countForward(log: CountedLog, read: ReadPiece, { eventsAtOnce }: Bounds): Promise<void> {
  let isEnd = log.last === undefined;
  while (!isEnd && log.last !== undefined) {
    const piece = await read({ after: log.last });
    add(log, piece);
    log.last = piece.last ?? log.last;
    isEnd = piece.looked < eventsAtOnce;
  }
}

/** Counts the events before the piece until all events of the minutes since `since` are counted, or `mostEvents` were looked at. */
async function countBack(
  log: CountedLog,
  since: number,
  read: ReadPiece,
  { eventsAtOnce, mostEvents }: Bounds,
): Promise<void> {
  while (log.completeFrom > since && log.lookedBack < mostEvents) {
    const piece = await read(log.first && { before: log.first });
    add(log, piece);
    log.first = piece.first ?? log.first;
    log.last ??= piece.last ?? undefined;
    log.lookedBack += piece.looked;
    if (piece.looked < eventsAtOnce) log.completeFrom = Number.NEGATIVE_INFINITY;
    // Events are only nearly in the order of their times, so the newest of the piece decides.
    else log.completeFrom = Math.min(log.completeFrom, minuteOf(piece.newestMs ?? 0) + 1);
  }
}

function add({ byMinute }: CountedLog, { minutes }: CountedEvents): void {
  for (const { minute, received, sent, failed, bounced } of minutes) {
    const sum = byMinute.get(minute) ?? emptyMinute(minute);
    byMinute.set(minute, {
      minute,
      received: sum.received + received,
      sent: sum.sent + sent,
      failed: sum.failed + failed,
      bounced: sum.bounced + bounced,
    });
  }
}

function emptyMinute(minute: number): MinuteCounts {
  return { minute, received: 0, sent: 0, failed: 0, bounced: 0 };
}

/** The complete minutes from `since` to `until`. */
function lastMinutes({ byMinute, completeFrom }: CountedLog, since: number, until: number): MinuteCounts[] {
  const first = Math.max(since, completeFrom);
  return Array.from({ length: Math.max(0, until - first + 1) }, (_, index) => {
    const minute = first + index;
    return byMinute.get(minute) ?? emptyMinute(minute);
  });
}

function shownStats({ atMs, perMinute, times, depth }: Facts, minutes: number): AccountStats {
  const sinceMs = (minuteOf(atMs) - minutes + 1) * minuteMs;
  const took = times.filter((time) => time.atMs >= sinceMs).map(({ tookMs }) => tookMs);
  return {
    perMinute: perMinute.slice(-minutes),
    delivery: { p50Ms: percentile(took, 0.5), p99Ms: percentile(took, 0.99) },
    outbox: {
      count: depth.count,
      oldestSeconds: depth.oldestAt === null ? undefined : Math.max(0, (atMs - depth.oldestAt.getTime()) / 1000),
    },
  };
}
