import type { Logger } from "pino";
import { type Database, DatabaseUnavailable, type Db } from "../../database/db.ts";
import { notFound } from "../../domain/errors.ts";
import { listChangedInboxes, listMailInRange, type NumberedMail } from "../../store/mail/waits.ts";
import type { Changes } from "../changes.ts";

/** A request that waits for mail of an inbox. */
export interface Watcher {
  readonly inboxId: string;
  /** The number of the last mail that it has seen; undefined until it has begun. */
  seen: number | undefined;
  isBeginning: boolean;
}

/** The functions for all watchers. They are shared, because thousands of watchers with their own functions would take much memory. */
export interface WatchHandlers<One extends Watcher> {
  /** Looks through the stored mail, and returns the number of the last one. */
  begin(one: One): Promise<number>;
  /** Looks through mail that the watcher has not seen, in order. After an error the watcher gets it again. */
  take(one: One, mails: readonly NumberedMail[]): Promise<void>;
  /** Ends a watcher that can't be served: its inbox is gone, or there was an error other than an outage. */
  fail(one: One, error: unknown): void;
}

/** The inboxes for whose mail requests of this process wait. */
export interface WatchedInboxes<One extends Watcher> {
  /** Starts watching. From now on the watcher gets all mail of its inbox. */
  watch(one: One): void;
  /** Stops watching. A second call does nothing. */
  unwatch(one: One): void;
}

export interface WatchDeps {
  db: Database;
  log: Logger;
  changes: Pick<Changes, "listen">;
}

const lookEveryMs = 1_000;
/** Mails that are read and looked through together. */
export const mailsAtOnce = 100;

/**
 * Reads an inbox when a notification about it comes. Notifications may be lost, so one statement a second also checks all watched inboxes
 * for new mail: a lost notification delays a mail by at most a second.
 */
export function watchedInboxes<One extends Watcher>(
  { db, log, changes }: WatchDeps,
  handlers: WatchHandlers<One>,
): WatchedInboxes<One> {
  const inboxes = new Map<string, InboxState<One>>();
  const reader = inboxReader(db.api, changes, handlers);
  let timer: ReturnType<typeof setInterval> | undefined;
  let isLooking = false;

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    try {
      for (const inbox of inboxes.values()) reader.beginAgain(inbox);
      await readChanged();
    } catch (err) {
      const level = err instanceof DatabaseUnavailable ? "warn" : "error";
      log[level]({ err }, "cannot read mail for requests that wait: trying again");
    } finally {
      isLooking = false;
    }
  }

  async function readChanged(): Promise<void> {
    const seen = new Map<string, number>();
    for (const [id, inbox] of inboxes) {
      const least = inbox.isReading ? undefined : leastSeen(inbox);
      if (least !== undefined) seen.set(id, least);
    }
    if (seen.size === 0) return;
    for (const { id, lives } of await listChangedInboxes(db.work, seen)) {
      const inbox = inboxes.get(id);
      if (inbox === undefined) continue;
      if (lives) void reader.read(inbox);
      else reader.failAll(inbox);
    }
  }

  return {
    watch(one) {
      const { inboxId } = one;
      const inbox = inboxes.get(inboxId) ?? reader.open(inboxId);
      inboxes.set(inboxId, inbox);
      timer ??= setInterval(() => void look(), lookEveryMs);
      reader.add(inbox, one);
    },
    unwatch(one) {
      const inbox = inboxes.get(one.inboxId);
      if (inbox === undefined) return;
      reader.remove(inbox, one);
      if (inbox.watchers.length > 0) return;
      inbox.close();
      inboxes.delete(inbox.id);
      if (inboxes.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    },
  };
}

interface InboxState<One extends Watcher> {
  readonly id: string;
  /** The array is replaced and never changed, because watchers may be removed during a loop over it. */
  watchers: readonly One[];
  /** The number of notifications so far. A read compares it, to find out whether another one came meanwhile. */
  changeCount: number;
  isReading: boolean;
  close: () => void;
}

/** Reads the mail of one inbox for its watchers. */
interface InboxReader<One extends Watcher> {
  open(id: string): InboxState<One>;
  add(inbox: InboxState<One>, one: One): void;
  remove(inbox: InboxState<One>, one: One): void;
  read(inbox: InboxState<One>): Promise<void>;
  /** Tries again to begin the watchers that could not begin because of an outage. */
  beginAgain(inbox: InboxState<One>): void;
  /** Ends all watchers of an inbox that is deleted. */
  failAll(inbox: InboxState<One>): void;
}

export function inboxReader<One extends Watcher>(
  db: Db,
  changes: Pick<Changes, "listen">,
  handlers: WatchHandlers<One>,
): InboxReader<One> {
  type Inbox = InboxState<One>;

  async function begin(inbox: Inbox, one: One): Promise<void> {
    const before = inbox.changeCount;
    one.isBeginning = true;
    try {
      one.seen = await handlers.begin(one);
    } catch (error) {
      failUnlessAway(error, [one]);
    } finally {
      one.isBeginning = false;
    }
    // Mail that came while this watcher was beginning was given only to the others, so it is read again.
    if (inbox.changeCount !== before) await read(inbox);
  }

  async function read(inbox: Inbox): Promise<void> {
    if (inbox.isReading) return;
    inbox.isReading = true;
    try {
      while ((await readOnce(inbox)) && inbox.watchers.length > 0);
    } catch (error) {
      failUnlessAway(error, inbox.watchers);
    } finally {
      inbox.isReading = false;
    }
  }

  /**
   * Reads the next mails after the least number that a watcher has seen, and gives them to the watchers. Returns whether there may be more.
   */
  async function readOnce(inbox: Inbox): Promise<boolean> {
    const before = inbox.changeCount;
    const behind = leastSeen(inbox);
    if (behind === undefined) return false;
    const found = await listMailInRange(db, { inboxId: inbox.id, behind, order: "oldest first", limit: mailsAtOnce });
    if (found === undefined) {
      failAll(inbox);
      return false;
    }
    const given = await Promise.allSettled(inbox.watchers.map((one) => give(one, found.mails)));
    const failed = given.find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
    return found.mails.length === mailsAtOnce || inbox.changeCount !== before;
  }

  async function give(one: One, mails: readonly NumberedMail[]): Promise<void> {
    const { seen } = one;
    const last = mails.at(-1)?.number;
    if (seen === undefined || last === undefined || seen >= last) return;
    await handlers.take(
      one,
      mails.filter(({ number }) => number > seen),
    );
    one.seen = last;
  }

  function failAll({ watchers }: Inbox): void {
    for (const one of watchers) handlers.fail(one, notFound("inbox"));
  }

  /**
   * Ends the watchers, except during an outage of the database. Then they continue to wait, and the next read starts after the last mail
   * that they have seen.
   */
  function failUnlessAway(error: unknown, watchers: readonly One[]): void {
    if (error instanceof DatabaseUnavailable) return;
    for (const one of watchers) handlers.fail(one, error);
  }

  return {
    open(id) {
      const inbox: Inbox = { id, watchers: [], changeCount: 0, isReading: false, close: () => undefined };
      inbox.close = changes.listen(id, () => {
        inbox.changeCount += 1;
        void read(inbox);
      });
      return inbox;
    },
    add(inbox, one) {
      inbox.watchers = [...inbox.watchers, one];
      void begin(inbox, one);
    },
    remove(inbox, one) {
      inbox.watchers = inbox.watchers.filter((other) => other !== one);
    },
    read,
    beginAgain(inbox) {
      for (const one of inbox.watchers) if (one.seen === undefined && !one.isBeginning) void begin(inbox, one);
    },
    failAll,
  };
}

/** The least number that a watcher has seen: all mail after it is read again. Undefined if no watcher has begun. */
function leastSeen({ watchers }: InboxState<Watcher>): number | undefined {
  let least: number | undefined;
  for (const { seen } of watchers) if (seen !== undefined && (least === undefined || seen < least)) least = seen;
  return least;
}
