import type { Logger } from "pino";
import type { Database } from "../database/db.ts";
import { paced } from "../primitives/paced.ts";
import { changesChannel, mostNotificationBytes, notificationPauseMs, wakeChannel } from "../store/channels.ts";

/**
 * Notifies listeners after a commit that something has changed in an account or an inbox, so that they read what is new. A notification
 * carries no data and may be lost: a listener also reads once a second by itself.
 */
export interface Changes {
  /** Notifies the listeners in this process at once, and those in other processes soon. Called after the commit. */
  notify(changed: readonly Changed[]): void;
  /**
   * Calls `onChange` when the account or inbox with this id may have changed, until the returned function is called. The callback runs
   * inside `notify`, so it must be short and must not throw.
   */
  listen(id: string, onChange: () => void): () => void;
  close(): Promise<void>;
}

/** The account that has changed, and the inbox, if the change is in one. */
export interface Changed {
  accountId: string;
  inboxId?: string | null;
}

interface Listening {
  onChange: () => void;
}

interface LocalChanges extends Changes {
  notifyIds(ids: Iterable<string>): void;
  notifyAll(): void;
}

/** Notifies within this process only. */
export function localChanges(): LocalChanges {
  /**
   * The listeners of each account and inbox, by its id. Each change makes a new array, because a listener may add or remove listeners while
   * `notifyIds` loops over the old one.
   */
  const listeners = new Map<string, readonly Listening[]>();

  function notifyIds(ids: Iterable<string>): void {
    if (listeners.size === 0) return;
    for (const id of ids) for (const { onChange } of listeners.get(id) ?? []) onChange();
  }

  return {
    notifyIds,
    notifyAll: () => notifyIds([...listeners.keys()]),
    notify: (changed) => notifyIds(idsOf(changed)),
    listen(id, onChange) {
      // A new object, because the same function may be passed twice.
      const own = { onChange };
      listeners.set(id, [...(listeners.get(id) ?? []), own]);
      return () => {
        const others = listeners.get(id)?.filter((one) => one !== own) ?? [];
        if (others.length === 0) listeners.delete(id);
        else listeners.set(id, others);
      };
    },
    close: () => Promise.resolve(),
  };
}

export interface ChangesDeps {
  db: Database;
  log: Logger;
  randomBytes: (length: number) => Uint8Array;
}

/** Notifies all processes on one database. */
export async function sharedChanges({ db, log, randomBytes }: ChangesDeps): Promise<Changes> {
  const here = localChanges();
  // No other process can use an embedded database.
  if (db.engine === "embedded") return here;
  const ourselves = randomBytes(8).toHex();
  const unsent = new Set<string>();

  const stopListening = await db.listen(changesChannel, (payload) => {
    const [sender, ...ids] = payload.split(" ");
    if (sender === ourselves) return;
    if (ids.includes(everybody)) here.notifyAll();
    else here.notifyIds(ids);
  });

  // Notifies other processes, at most once in each pause, because a notification costs a statement even if no other process listens.
  const others = paced(notificationPauseMs, () => {
    const named = [ourselves, ...unsent].join(" ");
    unsent.clear();
    const payload = named.length > mostNotificationBytes ? `${ourselves} ${everybody}` : named;
    wakeChannel(db.work, changesChannel, payload).catch((err: unknown) =>
      log.debug({ err }, "other processes were not notified of changes"),
    );
  });

  return {
    ...here,
    notify(changed) {
      if (changed.length === 0) return;
      const ids = idsOf(changed);
      here.notifyIds(ids);
      for (const id of ids) unsent.add(id);
      others.ask();
    },
    async close() {
      others.stop();
      await stopListening();
    },
  };
}

/** Sent instead of the ids if they do not fit into one notification: the other processes then notify all their listeners. */
const everybody = "*";

function idsOf(changed: readonly Changed[]): Set<string> {
  const ids = new Set<string>();
  for (const { accountId, inboxId } of changed) {
    ids.add(accountId);
    if (inboxId) ids.add(inboxId);
  }
  return ids;
}
