import type { Logger } from "pino";
import { type Database, DatabaseUnavailable } from "../../database/db.ts";
import { listChangedInboxes } from "../../store/mail/waits.ts";
import type { Changes } from "../changes.ts";
import { inboxWatching, leastSeen, type WatchedInbox, type Watcher, type WatcherVerbs } from "./watched-inbox.ts";

/** Who waits for what. */
export interface InboxWatch<One extends Watcher> {
  /** From now on no mail of its inbox passes it by. */
  watch(one: One): void;
  /** Where it does not watch any more this does nothing. */
  unwatch(one: One): void;
}

export interface InboxWatchDeps {
  db: Database;
  log: Logger;
  changes: Pick<Changes, "listen">;
}

const lookEveryMs = 1_000;

/**
 * Changes of an inbox have it read. They may get lost, so each second one statement looks at all inboxes that are waited for, whatever
 * their number: that costs a second then, and never the mail.
 */
export function inboxWatch<One extends Watcher>(
  { db, log, changes }: InboxWatchDeps,
  verbs: WatcherVerbs<One>,
): InboxWatch<One> {
  const inboxes = new Map<string, WatchedInbox<One>>();
  const watching = inboxWatching(db.api, changes, verbs);
  let timer: ReturnType<typeof setInterval> | undefined;
  let isLooking = false;

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    try {
      for (const inbox of inboxes.values()) watching.beginAgain(inbox);
      await lookAtAll();
    } catch (err) {
      const level = err instanceof DatabaseUnavailable ? "warn" : "error";
      log[level]({ err }, "cannot look for mail that is waited for: trying again");
    } finally {
      isLooking = false;
    }
  }

  async function lookAtAll(): Promise<void> {
    const seen = new Map<string, number>();
    for (const [id, inbox] of inboxes) {
      const least = leastSeen(inbox);
      if (least !== undefined) seen.set(id, least);
    }
    if (seen.size === 0) return;
    for (const { id, lives } of await listChangedInboxes(db.work, seen)) {
      const inbox = inboxes.get(id);
      if (inbox === undefined) continue;
      if (lives) void watching.read(inbox);
      else watching.tellGone(inbox);
    }
  }

  return {
    watch(one) {
      const { inboxId } = one;
      const inbox = inboxes.get(inboxId) ?? watching.open(inboxId);
      inboxes.set(inboxId, inbox);
      timer ??= setInterval(() => void look(), lookEveryMs);
      watching.add(inbox, one);
    },
    unwatch(one) {
      const inbox = inboxes.get(one.inboxId);
      if (inbox === undefined) return;
      watching.remove(inbox, one);
      if (inbox.watching.length > 0) return;
      inbox.close();
      inboxes.delete(inbox.id);
      if (inboxes.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    },
  };
}
