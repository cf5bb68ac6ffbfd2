import type { Logger } from "pino";
import { type Database, DatabaseUnavailable } from "../../database/db.ts";
import { listChangedInboxes } from "../../store/mail/waits.ts";
import type { News } from "../news.ts";
import { type WatchedInbox, type Watcher, watchedInbox } from "./watched-inbox.ts";

/** Who waits for what. */
export interface InboxWatch {
  /** From now on no mail of its inbox passes it by, until the answer is called. */
  watch(watcher: Watcher): () => void;
}

export interface InboxWatchDeps {
  db: Database;
  log: Logger;
  news: Pick<News, "listen">;
}

const lookEveryMs = 1_000;

/**
 * News of an inbox have it read. They may get lost, so each second one statement looks at all inboxes that are waited for, whatever
 * their number: that costs a second then, and never the mail.
 */
export function inboxWatch({ db, log, news }: InboxWatchDeps): InboxWatch {
  const inboxes = new Map<string, WatchedInbox>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let isLooking = false;

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    try {
      for (const inbox of inboxes.values()) inbox.beginAgain();
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
      const least = inbox.leastSeen();
      if (least !== undefined) seen.set(id, least);
    }
    if (seen.size === 0) return;
    for (const { id, lives } of await listChangedInboxes(db.work, seen)) {
      if (lives) void inboxes.get(id)?.read();
      else inboxes.get(id)?.tellGone();
    }
  }

  function forgetIfEmpty(id: string, inbox: WatchedInbox): void {
    if (!inbox.isEmpty() || inboxes.get(id) !== inbox) return;
    inbox.close();
    inboxes.delete(id);
    if (inboxes.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    watch(watcher) {
      const { inboxId } = watcher;
      const inbox = inboxes.get(inboxId) ?? watchedInbox(db.api, news, inboxId);
      inboxes.set(inboxId, inbox);
      timer ??= setInterval(() => void look(), lookEveryMs);
      const leave = inbox.add(watcher);
      return () => {
        leave();
        forgetIfEmpty(inboxId, inbox);
      };
    },
  };
}
