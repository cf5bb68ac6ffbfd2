import { DatabaseUnavailable, type Db } from "../../database/db.ts";
import { notFound } from "../../domain/errors.ts";
import { listMailInRange, type NumberedMail } from "../../store/mail/waits.ts";
import type { Changes } from "../changes.ts";

/** Who waits for mail of an inbox. */
export interface Watcher {
  readonly inboxId: string;
  /** The number of the last mail that it has seen; undefined until it has begun. */
  seen: number | undefined;
  isBeginning: boolean;
}

/** What is done with those who wait: said once for all of them, since thousands wait, and functions of their own would be most of what each costs. */
export interface WatcherVerbs<One extends Watcher> {
  /** Reads what is there; answers the number of the last mail that it has seen. Called again where the database was away. */
  begin(one: One): Promise<number>;
  /** It gets all mail behind what it has seen, in order. Where this throws it gets the same mail again. */
  take(one: One, mails: readonly NumberedMail[]): Promise<void>;
  /** It waits in vain: the inbox is gone, or something is broken. */
  fail(one: One, error: unknown): void;
}

/** An inbox that is waited for. It is read once for all who wait, behind the least that one of them has seen. */
export interface WatchedInbox<One extends Watcher> {
  readonly id: string;
  /** Replaced and never changed: who goes through it may lose some of them on the way. */
  watching: readonly One[];
  /** Whoever reads knows by it that there was changes meanwhile. */
  changeCount: number;
  isReading: boolean;
  close: () => void;
}

export interface InboxWatching<One extends Watcher> {
  open(id: string): WatchedInbox<One>;
  /** From now on no mail passes it by, until it is removed. */
  add(inbox: WatchedInbox<One>, one: One): void;
  remove(inbox: WatchedInbox<One>, one: One): void;
  read(inbox: WatchedInbox<One>): Promise<void>;
  /** Has those begin who could not. */
  beginAgain(inbox: WatchedInbox<One>): void;
  tellGone(inbox: WatchedInbox<One>): void;
}

/** So many mails are read and judged at a time. */
export const mailsAtOnce = 100;

export function inboxWatching<One extends Watcher>(
  db: Db,
  changes: Pick<Changes, "listen">,
  verbs: WatcherVerbs<One>,
): InboxWatching<One> {
  type Inbox = WatchedInbox<One>;

  async function begin(inbox: Inbox, one: One): Promise<void> {
    const before = inbox.changeCount;
    one.isBeginning = true;
    try {
      one.seen = await verbs.begin(one);
    } catch (error) {
      failUnlessAway(error, [one]);
    } finally {
      one.isBeginning = false;
    }
    // What came while it read was read for others, not for it.
    if (inbox.changeCount !== before) await read(inbox);
  }

  async function read(inbox: Inbox): Promise<void> {
    if (inbox.isReading) return;
    inbox.isReading = true;
    try {
      while ((await readOnce(inbox)) && inbox.watching.length > 0);
    } catch (error) {
      failUnlessAway(error, inbox.watching);
    } finally {
      inbox.isReading = false;
    }
  }

  /** Whether there may be more. */
  async function readOnce(inbox: Inbox): Promise<boolean> {
    const before = inbox.changeCount;
    const behind = leastOf(inbox.watching);
    if (behind === undefined) return false;
    const found = await listMailInRange(db, { inboxId: inbox.id, behind, order: "oldest first", limit: mailsAtOnce });
    if (found === undefined) {
      tellGone(inbox);
      return false;
    }
    const given = await Promise.allSettled(inbox.watching.map((one) => give(one, found.mails)));
    const failed = given.find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
    return found.mails.length === mailsAtOnce || inbox.changeCount !== before;
  }

  async function give(one: One, mails: readonly NumberedMail[]): Promise<void> {
    const { seen } = one;
    const last = mails.at(-1)?.number;
    if (seen === undefined || last === undefined || seen >= last) return;
    await verbs.take(
      one,
      mails.filter(({ number }) => number > seen),
    );
    one.seen = last;
  }

  function tellGone({ watching }: Inbox): void {
    for (const one of watching) verbs.fail(one, notFound("inbox"));
  }

  /** While the database is away they wait on: the next look goes on where they stand. */
  function failUnlessAway(error: unknown, watching: readonly One[]): void {
    if (error instanceof DatabaseUnavailable) return;
    for (const one of watching) verbs.fail(one, error);
  }

  return {
    open(id) {
      const inbox: Inbox = { id, watching: [], changeCount: 0, isReading: false, close: () => undefined };
      inbox.close = changes.listen(id, () => {
        inbox.changeCount += 1;
        void read(inbox);
      });
      return inbox;
    },
    add(inbox, one) {
      inbox.watching = [...inbox.watching, one];
      void begin(inbox, one);
    },
    remove(inbox, one) {
      inbox.watching = inbox.watching.filter((other) => other !== one);
    },
    read,
    beginAgain(inbox) {
      for (const one of inbox.watching) if (one.seen === undefined && !one.isBeginning) void begin(inbox, one);
    },
    tellGone,
  };
}

/** There is mail behind it that some have not seen; undefined while nobody has begun, or while it is read. */
export function leastSeen({ isReading, watching }: WatchedInbox<Watcher>): number | undefined {
  return isReading ? undefined : leastOf(watching);
}

/** What some of those who have begun have not seen is behind it. */
function leastOf(watching: readonly Watcher[]): number | undefined {
  let least: number | undefined;
  for (const { seen } of watching) if (seen !== undefined && (least === undefined || seen < least)) least = seen;
  return least;
}
