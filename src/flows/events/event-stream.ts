import { notFound } from "../../domain/errors.ts";
import { type LogPlace, startName, startOfLog } from "../../domain/events/log-place.ts";
import { isId } from "../../domain/ids.ts";
import { findEventPosition } from "../../store/events/events.ts";
import { findEndOfLog } from "../../store/events/feeds.ts";
import type { EventFeeds } from "./event-feeds.ts";
import { type FollowDeps, follower, type Wanted } from "./follow-events.ts";
import type { WrittenEvent } from "./written-events.ts";

/** Where events go out: to one client. */
export interface Outlet {
  /** Whether the client has taken what it was sent, but for a little. */
  hasRoom(): boolean;
  write(event: WrittenEvent): void;
}

/** One client that is told of events, one after the other, as fast as it takes them and no faster. */
export interface EventStream {
  readonly place: LogPlace;
  /** Goes on: there may be room again. */
  pump(): void;
  change(wanted: Wanted): void;
  /** Holds nothing while its client takes nothing. */
  rest(): void;
  close(): void;
}

export interface StreamingDeps extends FollowDeps {
  feeds: EventFeeds;
  observe?: { told?(): void };
}

/** The database may be back by then. */
const retryMs = 1_000;

/** Begins behind `after`. Nothing goes out before `pump`. */
export async function streamEvents(
  deps: StreamingDeps,
  { accountId, after, wanted }: { accountId: string; after: LogPlace; wanted: Wanted },
  outlet: Outlet,
): Promise<EventStream> {
  let isOpen = true;
  let isPumping = false;
  let isFetching = false;
  let retry: ReturnType<typeof setTimeout> | undefined;

  const following = await deps.feeds.follow(accountId, pump);
  const reader = follower(deps, following.feed, after, wanted);

  function pump(): void {
    if (isPumping || isFetching || !isOpen) return;
    isPumping = true;
    try {
      while (isOpen && outlet.hasRoom()) {
        const next = reader.next();
        if (next instanceof Promise) fetched(next);
        if (next === undefined || next instanceof Promise) return;
        outlet.write(next);
        deps.observe?.told?.();
      }
    } finally {
      isPumping = false;
    }
  }

  function fetched(next: Promise<unknown>): void {
    isFetching = true;
    next.then(goOn, () => {
      retry = setTimeout(goOn, retryMs);
    });
  }

  function goOn(): void {
    isFetching = false;
    if (isOpen) pump();
    else reader.rest();
  }

  return {
    get place() {
      return reader.place;
    },
    pump,
    change: reader.change,
    rest: reader.rest,
    close() {
      isOpen = false;
      clearTimeout(retry);
      reader.rest();
      following.leave();
    },
  };
}

/** Where a client stands by the name that it was told, or where the log ends now where it names none. */
export async function placeNamed(
  { db }: Pick<StreamingDeps, "db">,
  accountId: string,
  name: string | undefined,
): Promise<LogPlace> {
  if (name === undefined) return findEndOfLog(db.api, accountId);
  if (name === startName) return startOfLog;
  const place = isId("evt", name) ? await findEventPosition(db.api, accountId, name) : undefined;
  if (place === undefined) throw notFound("event");
  return place;
}
