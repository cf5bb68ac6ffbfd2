import type { Database } from "../database/db.ts";
import type { Authenticator } from "../flows/account/authenticate.ts";
import { type EventFeeds, eventFeeds } from "../flows/events/event-feeds.ts";
import type { StreamingDeps } from "../flows/events/event-stream.ts";
import { largeEvents } from "../flows/events/large-events.ts";
import { logTurns } from "../flows/events/log-turns.ts";
import { type OpenStreams, openStreams } from "../flows/events/open-streams.ts";
import { eventWriter } from "../flows/events/written-events.ts";
import type { Listeners } from "../flows/listeners.ts";
import type { AttachmentLinks } from "../flows/read/attachment-links.ts";
import { type ForgetSignal, forgetSignalsChannel } from "../store/channels.ts";
import type { Opening } from "./opening.ts";

/** The most streams that read the log at the same time because they are far behind. Each holds a page of it; the others wait. */
const mostLogReaders = 8;
/** The memory for events that are larger than the buffer of one client. */
const largeEventBytes = 24 << 20;

/** The open streams of this process, and their limits. */
export function openStreamKeeper({ deps, watch, opened }: Opening, listeners: Listeners): OpenStreams {
  const open = openStreams({ ...deps, listeners, observe: watch.streams });
  opened.push(open.stop);
  return open;
}

/** The source of events for streams. */
export function openStreaming({ deps, watch, opened }: Opening, links: AttachmentLinks): StreamingDeps {
  const write = eventWriter({ ...deps, links });
  const feeds: EventFeeds = eventFeeds({ ...deps, write, observe: watch.streams });
  const large = largeEvents({ mostBytes: largeEventBytes });
  opened.push(feeds.stop);
  opened.push(large.stop);
  return { db: deps.db, feeds, write, large, turns: logTurns(mostLogReaders), observe: watch.streams };
}

interface Forgetting {
  keys: Authenticator;
  streams: Pick<OpenStreams, "checkKeys">;
  forgetAddress: (username: string) => void;
}

/** Drops keys and addresses from memory that another process has changed. While the connection is lost, no key is remembered. */
export function hearForgetSignals(db: Database, { keys, streams, forgetAddress }: Forgetting) {
  return db.listen(
    forgetSignalsChannel,
    (payload) => {
      const signal = JSON.parse(payload) as ForgetSignal;
      if (signal.kind === "address") return forgetAddress(signal.username);
      keys.forget(signal.hash);
      streams.checkKeys();
    },
    keys.setHearing,
  );
}
