import { type EventFeeds, eventFeeds } from "../flows/events/event-feeds.ts";
import type { StreamingDeps } from "../flows/events/event-stream.ts";
import { largeEvents } from "../flows/events/large-events.ts";
import { logTurns } from "../flows/events/log-turns.ts";
import { type OpenStreams, openStreams } from "../flows/events/open-streams.ts";
import { eventWriter } from "../flows/events/written-events.ts";
import type { Listeners } from "../flows/listeners.ts";
import type { AttachmentLinks } from "../flows/read/attachment-links.ts";
import type { Opening } from "./opening.ts";

/** Readers that are far behind and hold a page of the log at the same time; the others wait in line. */
const mostLogReaders = 8;
/** For events that are larger than what may lie here for one client. */
const largeEventBytes = 24 << 20;

/** Who listens at this process, and who may. */
export function openStreamKeeper({ deps, watch, opened }: Opening, listeners: Listeners): OpenStreams {
  const open = openStreams({ ...deps, listeners, observe: watch.streams });
  opened.push(open.stop);
  return open;
}

/** What streams are told by. */
export function openStreaming({ deps, watch, opened }: Opening, links: AttachmentLinks): StreamingDeps {
  const write = eventWriter({ ...deps, links });
  const feeds: EventFeeds = eventFeeds({ ...deps, write, observe: watch.streams });
  const large = largeEvents({ mostBytes: largeEventBytes });
  opened.push(feeds.stop);
  opened.push(large.stop);
  return { db: deps.db, feeds, write, large, turns: logTurns(mostLogReaders), observe: watch.streams };
}
