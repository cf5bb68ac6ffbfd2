import type { Logger } from "pino";
import type { Database } from "../database/db.ts";
import { paced } from "../primitives/paced.ts";
import { mostToldBytes, newsChannel, tellingPauseMs, wakeChannel } from "../store/channels.ts";

/**
 * Who is told that something has happened, so that whoever waits for it looks. News carry no data and may be lost: who listens
 * looks by itself each second as well.
 */
export interface News {
  /** For whoever has just committed something: wakes who listens in this process at once, and in the others soon. */
  tell(concerned: readonly Concerned[]): void;
  /**
   * Calls back when something may have happened to this account or this inbox, until the answer is called. It is called in the midst
   * of other people's work: it must be short, and not throw.
   */
  listen(id: string, onNews: () => void): () => void;
  close(): Promise<void>;
}

/** Whom something concerns: who listens to its account, and who listens to its inbox, if it is of one. */
export interface Concerned {
  accountId: string;
  inboxId?: string | null;
}

interface Listening {
  onNews: () => void;
}

interface LocalNews extends News {
  tellIds(ids: Iterable<string>): void;
  tellAll(): void;
}

/** Among those of this process alone. */
export function localNews(): LocalNews {
  /** Lists that are replaced and never changed: who is called may leave, or have others come. */
  const listeners = new Map<string, readonly Listening[]>();

  function tellIds(ids: Iterable<string>): void {
    if (listeners.size === 0) return;
    for (const id of ids) for (const { onNews } of listeners.get(id) ?? []) onNews();
  }

  return {
    tellIds,
    tellAll: () => tellIds([...listeners.keys()]),
    tell: (concerned) => tellIds(idsOf(concerned)),
    listen(id, onNews) {
      // The same function may listen twice.
      const own = { onNews };
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

export interface NewsDeps {
  db: Database;
  log: Logger;
  randomBytes: (length: number) => Uint8Array;
}

/** Among all processes on one database. */
export async function sharedNews({ db, log, randomBytes }: NewsDeps): Promise<News> {
  const here = localNews();
  // The embedded database has no other process.
  if (db.engine === "embedded") return here;
  const ourselves = randomBytes(8).toHex();
  const untold = new Set<string>();

  const stopListening = await db.listen(newsChannel, (payload) => {
    const [sender, ...ids] = payload.split(" ");
    if (sender === ourselves) return;
    if (ids.includes(everybody)) here.tellAll();
    else here.tellIds(ids);
  });

  // Nobody knows whether others listen, so this is all that it may cost when nobody does.
  const others = paced(tellingPauseMs, () => {
    const said = [ourselves, ...untold].join(" ");
    untold.clear();
    const payload = said.length > mostToldBytes ? `${ourselves} ${everybody}` : said;
    wakeChannel(db.work, newsChannel, payload).catch((err: unknown) =>
      log.debug({ err }, "other processes were not told the news"),
    );
  });

  return {
    ...here,
    tell(concerned) {
      if (concerned.length === 0) return;
      const ids = idsOf(concerned);
      here.tellIds(ids);
      for (const id of ids) untold.add(id);
      others.ask();
    },
    async close() {
      others.stop();
      await stopListening();
    },
  };
}

/** In place of ids that are too many for one notification. */
const everybody = "*";

function idsOf(concerned: readonly Concerned[]): Set<string> {
  const ids = new Set<string>();
  for (const { accountId, inboxId } of concerned) {
    ids.add(accountId);
    if (inboxId) ids.add(inboxId);
  }
  return ids;
}
