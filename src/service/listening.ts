import { type EventFeeds, eventFeeds } from "../flows/events/event-feeds.ts";
import type { StreamingDeps } from "../flows/events/event-stream.ts";
import { logTurns } from "../flows/events/log-turns.ts";
import { type OpenStreams, openStreams } from "../flows/events/open-streams.ts";
import { eventWriter } from "../flows/events/written-events.ts";
import type { Listeners } from "../flows/listeners.ts";
import type { AttachmentLinks } from "../flows/read/attachment-links.ts";
import type { Opening } from "./opening.ts";

/** So many who are far behind read the log at a time; the others wait their turn. */
const mostLogReaders = 8;

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
  opened.push(feeds.stop);
  return { db: deps.db, feeds, write, turns: logTurns(mostLogReaders), observe: watch.streams };
}
