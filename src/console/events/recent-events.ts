import { type InboxdEvent, inboxd } from "../api.ts";
import { mapAtMost } from "../parts/loaded.ts";

/** The events loaded so far by id, so that an event that is opened from the list is shown at once. */
export const knownEvents = new Map<string, InboxdEvent>();

export interface RecentEvents {
  /** Newest first. */
  events: InboxdEvent[];
  /** `earlier`: there are earlier events. `unreached`: the log is too long to reach its end. */
  more: "none" | "earlier" | "unreached";
}

const perPage = 100;
const maxPages = 20;

/**
 * The last events, at least `pagesBack` pages of them. The log can only be read forwards, so this starts at an event
 * that is `pagesBack` pages back in the deliveries of an endpoint. If there is none, it starts at the beginning.
 */
export async function recentEvents(pagesBack: number): Promise<RecentEvents> {
  const after = await startBack(pagesBack);
  const events: InboxdEvent[] = [];
  let pages = 0;
  for await (const { data, hasMore } of inboxd.events
    .list({ types: "*", limit: perPage, after: after ?? "start" })
    .pages()) {
    events.push(...data);
    pages += 1;
    if (pages === maxPages && hasMore) return { events: [], more: "unreached" };
  }
  for (const event of events) knownEvents.set(event.event_id, event);
  return { events: events.reverse(), more: after === undefined ? "none" : "earlier" };
}

/** The id of the event to start after; undefined for the beginning. With several endpoints, the latest of their events. */
async function startBack(pagesBack: number): Promise<string | undefined> {
  const { data: endpoints } = await inboxd.webhooks.list();
  const ids = await mapAtMost(endpoints, ({ id }) => deliveredBack(id, pagesBack));
  return ids
    .flatMap((id) => id ?? [])
    .sort()
    .at(-1);
}

async function deliveredBack(endpointId: string, pagesBack: number): Promise<string | undefined> {
  let pages = 0;
  for await (const { data, nextCursor } of inboxd.webhooks.deliveries(endpointId, { limit: perPage }).pages()) {
    pages += 1;
    if (pages === pagesBack) return nextCursor === null ? undefined : data.at(-1)?.event_id;
  }
  return undefined;
}
