import { setTimeout as pause } from "node:timers/promises";
import type { LogPosition } from "../../domain/events/log-position.ts";
import { findEndOfLog } from "../../store/events/feeds.ts";
import type { EventFeeds } from "./event-feeds.ts";
import { findPosition } from "./find-position.ts";
import { type FollowDeps, followLog, type LogReader, type LogStep, type Wanted } from "./follow-events.ts";
import type { LargeEventClient, LargeEvents } from "./large-events.ts";
import type { WrittenEvent } from "./written-events.ts";

/**
 * The largest event that a stream writes without asking for memory. A larger one needs memory from `LargeEvents`, until its client has
 * taken it.
 */
export const mostUnsentBytes = 64 << 10;

/** The connection of one client. */
export interface Outlet {
  /** Whether another event may be written; false while a part of a large event is unsent. */
  hasRoom(): boolean;
  write(event: WrittenEvent): void;
  /** Bytes that the client has taken since it connected. */
  takenBytes(): number;
  /** Whether the connection makes its own copy of an event, as a WebSocket does. */
  copies: boolean;
  /** Ends the connection as slow, even in the middle of an event. */
  cutOff(): void;
}

/** Sends one client its events in order, as fast as it takes them. */
export interface EventStream {
  readonly position: LogPosition;
  /** Starts the stream, or resumes it when there may be room again. */
  pump(): void;
  change(wanted: Wanted): void;
  close(): void;
}

export interface StreamingDeps extends FollowDeps {
  feeds: EventFeeds;
  large: LargeEvents;
  observe?: { sent?(): void };
}

/** Pause after a failed read of the log. */
const retryMs = 1_000;
/**
 * How long a client without room keeps its page of the log: 100 ms, or 5 ms if other readers wait for a turn. Fast clients have room again
 * sooner.
 */
const patienceMs = { alone: 100, beside: 5 };

/** Makes a stream of the events after the position `after`. It sends nothing before the first `pump`. */
export async function streamEvents(
  deps: StreamingDeps,
  { accountId, after, wanted }: { accountId: string; after: LogPosition; wanted: Wanted },
  outlet: Outlet,
): Promise<EventStream> {
  const { sleep, wake } = sleeper();
  let isRunning = false;
  let isOpen = true;
  /** The state of a large event: it waits for memory, has been granted memory and is read again, or is written and partly unsent. */
  let large: "none" | "waiting" | "granted" | "unsent" = "none";
  let reader: LogReader = { position: after, wanted, readBytes: 0, isOver: false };
  const following = await deps.feeds.follow(accountId, wake);
  const client: LargeEventClient = {
    accountId,
    takenBytes: outlet.takenBytes,
    cutOff: outlet.cutOff,
    goOn() {
      large = "granted";
      wake();
    },
  };

  /**
   * While the stream is open: waits until the client has room, reads the log from the position, and sends events until the client has no
   * room for too long (`patienceMs`).
   */
  async function run(): Promise<void> {
    while (isOpen) {
      // A client that waits here has only its position in memory, and no page of the log.
      if (large === "waiting" || !hasRoom()) {
        await sleep();
        continue;
      }
      try {
        const own = reader;
        for await (const steps of followLog(deps, following.feed, own, sleep)) {
          if (!(await send(steps, own))) break;
        }
      } catch {
        await pause(retryMs, undefined, { ref: false });
      }
    }
  }

  /** Sends the events of these steps. Returns false if the client has no room, its reader is over, or a large event gets no memory. */
  async function send(steps: LogStep[], own: LogReader): Promise<boolean> {
    // `splice` empties the batch, because a generator that waits keeps its last batch in memory.
    for (const { position, event } of steps.splice(0)) {
      if (own.isOver) return false;
      if (event !== undefined) {
        if (!hasRoom() && !(await hasRoomSoon(own))) return false;
        if (!mayWrite(event)) return false;
        outlet.write(event);
        deps.observe?.sent?.();
      }
      own.position = position;
    }
    return large !== "unsent" || hasRoomSoon(own);
  }

  function hasRoom(): boolean {
    if (!outlet.hasRoom()) return false;
    if (large === "unsent") letGoOfLarge();
    return true;
  }

  async function hasRoomSoon(own: LogReader): Promise<boolean> {
    let isLate = false;
    const timer = setTimeout(
      () => {
        isLate = true;
        wake();
      },
      deps.turns.areWanted() ? patienceMs.beside : patienceMs.alone,
    );
    while (!own.isOver && !isLate && !outlet.hasRoom()) await sleep();
    clearTimeout(timer);
    return !own.isOver && hasRoom();
  }

  function mayWrite(event: WrittenEvent): boolean {
    if (event.sizeBytes <= mostUnsentBytes) {
      letGoOfLarge();
      return true;
    }
    const isHeld = deps.large.mayHold(client, outlet.copies ? client : event, event.sizeBytes);
    large = isHeld ? "unsent" : "waiting";
    return isHeld;
  }

  function letGoOfLarge(): void {
    if (large === "none") return;
    large = "none";
    deps.large.letGo(client);
  }

  return {
    get position() {
      return reader.position;
    },
    pump() {
      if (isRunning) return wake();
      isRunning = true;
      void run();
    },
    change(now) {
      reader.isOver = true;
      reader = { ...reader, wanted: now, isOver: false };
      wake();
    },
    close() {
      isOpen = false;
      reader.isOver = true;
      letGoOfLarge();
      following.leave();
      wake();
    },
  };
}

/** Lets one task sleep until `wake` is called. A call while the task is awake is lost, so the task checks its condition before it sleeps. */
function sleeper() {
  let wakeUp: (() => void) | undefined;
  return {
    sleep: () =>
      new Promise<void>((resolve) => {
        wakeUp = resolve;
      }),
    wake: () => wakeUp?.(),
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
