import { inboxd } from "../api.ts";
import { severalAtOnce } from "../parts/loaded.ts";
import { type AnyEvent, anyEvent } from "./event-words.ts";

/** What was shown last, so that an event opened from the list is there at once. */
export const knownEvents = new Map<string, AnyEvent>();

export interface RecentEvents {
  /** Newest first. */
  events: AnyEvent[];
  /** What there is more of: nothing, earlier events, or so many that none could be reached. */
  more: "none" | "earlier" | "unreached";
}

const perPage = 100;
const mostPages = 20;

/**
 * The last events. The log is read forwards alone, so a place to begin at is needed: what an endpoint was told as many deliveries ago.
 * Without an endpoint it is read from its beginning.
 */
export async function recentEvents(pagesBack: number): Promise<RecentEvents> {
  const after = await placeBack(pagesBack);
  const events: AnyEvent[] = [];
  let pages = 0;
  for await (const { data, hasMore } of inboxd.events
    .list({ types: "*", limit: perPage, after: after ?? "start" })
    .pages()) {
    events.push(...data.map(anyEvent));
    pages += 1;
    if (pages === mostPages && hasMore) return { events: [], more: "unreached" };
  }
  for (const event of events) knownEvents.set(event.event_id, event);
  return { events: events.reverse(), more: after === undefined ? "none" : "earlier" };
}

/** Undefined: from the beginning. Of several endpoints it is the latest place, so that what is read stays short. */
async function placeBack(pagesBack: number): Promise<string | undefined> {
  const { data: endpoints } = await inboxd.webhooks.list();
  const places = await severalAtOnce(
    endpoints.map(
      ({ id }) =>
        () =>
          placeOf(id, pagesBack),
    ),
  );
  return places
    .flatMap((place) => place ?? [])
    .sort()
    .at(-1);
}

async function placeOf(endpointId: string, pagesBack: number): Promise<string | undefined> {
  let pages = 0;
  for await (const { data, nextCursor } of inboxd.webhooks.deliveries(endpointId, { limit: perPage }).pages()) {
    pages += 1;
    if (pages === pagesBack) return nextCursor === null ? undefined : data.at(-1)?.event_id;
  }
  return undefined;
}
