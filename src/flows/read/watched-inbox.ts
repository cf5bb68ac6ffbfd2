import { DatabaseUnavailable, type Db } from "../../database/db.ts";
import { notFound } from "../../domain/errors.ts";
import { listMailInRange, type NumberedMail } from "../../store/mail/waits.ts";
import type { News } from "../news.ts";

/** Who waits for mail of an inbox. */
export interface Watcher {
  readonly inboxId: string;
  /** Reads what is there; answers the number of the last mail that it has seen. Called again where the database was away. */
  begin(): Promise<number>;
  /** Gets all mail behind what it has seen, in order. Where it throws it gets the same mail again. */
  take(mails: readonly NumberedMail[]): Promise<void>;
  /** It waits in vain: the inbox is gone, or something is broken. */
  fail(error: unknown): void;
}

/** An inbox that is waited for. It is read once for all who wait, behind the least that one of them has seen. */
export interface WatchedInbox {
  /** From now on no mail passes it by, until the answer is called. */
  add(watcher: Watcher): () => void;
  isEmpty(): boolean;
  /** There is mail behind it that some have not seen; undefined while nobody has begun, or while it is read. */
  leastSeen(): number | undefined;
  read(): Promise<void>;
  /** Has those begin who could not. */
  beginAgain(): void;
  tellGone(): void;
  close(): void;
}

interface Watching {
  readonly watcher: Watcher;
  /** Undefined until it has begun. */
  seen: number | undefined;
  isBeginning: boolean;
}

/** So many mails are read and judged at a time. */
export const mailsAtOnce = 100;

export function watchedInbox(db: Db, news: Pick<News, "listen">, id: string): WatchedInbox {
  const watching = new Set<Watching>();
  /** Whoever reads knows by it that there was news meanwhile. */
  let newsCount = 0;
  let isReading = false;
  const stopListening = news.listen(id, () => {
    newsCount += 1;
    void read();
  });

  async function begin(one: Watching): Promise<void> {
    const before = newsCount;
    one.isBeginning = true;
    try {
      one.seen = await one.watcher.begin();
    } catch (error) {
      failUnlessAway(error, [one]);
    } finally {
      one.isBeginning = false;
    }
    // What came while it read was read for others, not for it.
    if (newsCount !== before) await read();
  }

  async function read(): Promise<void> {
    if (isReading) return;
    isReading = true;
    try {
      while ((await readOnce()) && watching.size > 0);
    } catch (error) {
      failUnlessAway(error, watching);
    } finally {
      isReading = false;
    }
  }

  /** Whether there may be more. */
  async function readOnce(): Promise<boolean> {
    const before = newsCount;
    const behind = leastOf(watching);
    if (behind === undefined) return false;
    const found = await listMailInRange(db, { inboxId: id, behind, order: "oldest first", limit: mailsAtOnce });
    if (found === undefined) {
      tellGone();
      return false;
    }
    const given = await Promise.allSettled(Array.from(watching, (one) => give(one, found.mails)));
    const failed = given.find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
    return found.mails.length === mailsAtOnce || newsCount !== before;
  }

  function tellGone(): void {
    for (const { watcher } of [...watching]) watcher.fail(notFound("inbox"));
  }

  return {
    add(watcher) {
      const one: Watching = { watcher, seen: undefined, isBeginning: false };
      watching.add(one);
      void begin(one);
      return () => watching.delete(one);
    },
    isEmpty: () => watching.size === 0,
    leastSeen: () => (isReading ? undefined : leastOf(watching)),
    read,
    beginAgain() {
      for (const one of watching) if (one.seen === undefined && !one.isBeginning) void begin(one);
    },
    tellGone,
    close: stopListening,
  };
}

async function give(one: Watching, mails: readonly NumberedMail[]): Promise<void> {
  const { seen } = one;
  const last = mails.at(-1)?.number;
  if (seen === undefined || last === undefined || seen >= last) return;
  await one.watcher.take(mails.filter(({ number }) => number > seen));
  one.seen = last;
}

/** What some of those who have begun have not seen is behind it. */
function leastOf(watching: Iterable<Watching>): number | undefined {
  let least: number | undefined;
  for (const { seen } of watching) if (seen !== undefined && (least === undefined || seen < least)) least = seen;
  return least;
}

/** While the database is away they wait on: the next look goes on where they stand. */
function failUnlessAway(error: unknown, watching: Iterable<Watching>): void {
  if (error instanceof DatabaseUnavailable) return;
  for (const { watcher } of [...watching]) watcher.fail(error);
}
