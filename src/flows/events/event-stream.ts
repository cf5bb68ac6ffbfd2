import type { LogPosition } from "../../domain/events/log-position.ts";
import { findEndOfLog } from "../../store/events/feeds.ts";
import type { EventFeeds } from "./event-feeds.ts";
import { findPosition } from "./find-position.ts";
import { type FollowDeps, follower, type Wanted } from "./follow-events.ts";
import type { LargeEventClient, LargeEvents } from "./large-events.ts";
import type { WrittenEvent } from "./written-events.ts";

/** This much may lie here unsent for one client, beside what the kernel has taken. */
export const mostUnsentBytes = 64 << 10;

/** Where events go out: to one client. */
export interface Outlet {
  /** Whether another event may be written. Never while a part of a large one lies here. */
  hasRoom(): boolean;
  write(event: WrittenEvent): void;
  /** Bytes that the client has taken since it connected. */
  takenBytes(): number;
  /** Whether each client has a copy of an event of its own, as at a socket. */
  copies: boolean;
  /** Ends the connection as slow, in the midst of an event. */
  cutOff(): void;
}

/** Sends one client its events, one after the other, as fast as it takes them and no faster. */
export interface EventStream {
  readonly position: LogPosition;
  /** Goes on: there may be room again. */
  pump(): void;
  change(wanted: Wanted): void;
  close(): void;
}

export interface StreamingDeps extends FollowDeps {
  feeds: EventFeeds;
  large: LargeEvents;
  observe?: { told?(): void };
}

/** The database may be back by then. */
const retryMs = 1_000;
/** A client without room keeps its page of the log for this long: shorter if others wait to read. Fast clients have room again in less. */
const patienceMs = { alone: 100, beside: 5 };

/** Begins behind `after`. Nothing goes out before `pump`. */
export async function streamEvents(
  deps: StreamingDeps,
  { accountId, after, wanted }: { accountId: string; after: LogPosition; wanted: Wanted },
  outlet: Outlet,
): Promise<EventStream> {
  let isOpen = true;
  let isPumping = false;
  let isFetching = false;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let patience: ReturnType<typeof setTimeout> | undefined;
  /** `waits` until there is memory for a large event, is `let` read it again, and has one lying here that is `held`. */
  let large: "none" | "waits" | "let" | "held" = "none";

  const following = await deps.feeds.follow(accountId, pump);
  const reader = follower(deps, following.feed, after, wanted);
  const client: LargeEventClient = {
    accountId,
    takenBytes: outlet.takenBytes,
    cutOff: outlet.cutOff,
    goOn() {
      large = "let";
      pump();
    },
  };

  function pump(): void {
    if (isPumping || isFetching || !isOpen || large === "waits") return;
    isPumping = true;
    clearTimeout(patience);
    try {
      while (isOpen && outlet.hasRoom()) {
        if (large === "held") letGoOfLarge();
        const next = reader.next();
        if (next instanceof Promise) fetched(next);
        if (next === undefined || next instanceof Promise || !mayWrite(next)) return;
        reader.pass();
        outlet.write(next);
        deps.observe?.told?.();
      }
      rest();
    } finally {
      isPumping = false;
    }
  }

  function mayWrite(event: WrittenEvent): boolean {
    if (event.sizeBytes <= mostUnsentBytes) {
      letGoOfLarge();
      return true;
    }
    if (deps.large.mayHold(client, outlet.copies ? client : event, event.sizeBytes)) {
      large = "held";
      return true;
    }
    large = "waits";
    reader.rest();
    return false;
  }

  function letGoOfLarge(): void {
    if (large === "none") return;
    large = "none";
    deps.large.letGo(client);
  }

  /** The client has no room: what was read for it is read again when it has. */
  function rest(): void {
    if (!reader.holdsPage()) reader.rest();
    else patience = setTimeout(reader.rest, deps.turns.areWanted() ? patienceMs.beside : patienceMs.alone);
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
    get position() {
      return reader.position;
    },
    pump,
    change: reader.change,
    close() {
      isOpen = false;
      clearTimeout(retry);
      clearTimeout(patience);
      letGoOfLarge();
      reader.rest();
      following.leave();
    },
  };
}

/** The position at which a stream begins: the one that the client names, or the current end of the log. */
export async function startPosition(
  deps: Pick<StreamingDeps, "db">,
  accountId: string,
  name: string | undefined,
): Promise<LogPosition> {
  return name === undefined ? findEndOfLog(deps.db.api, accountId) : findPosition(deps, accountId, name);
}
