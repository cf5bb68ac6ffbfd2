import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { type InboxdEvent, inboxd } from "../api.ts";
import { useReloadOn } from "../live.ts";
import { curl } from "../parts/command.tsx";
import { Empty } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { Time } from "../parts/time.tsx";
import { looks, subjectOf } from "./event-look.ts";

/** The filters: the event types that each shows, and its name. */
const filters = [
  ["*", "All"],
  ["message.received", "Received"],
  ["message.sent", "Sent"],
  [
    "message.failed,message.bounced,message.complained,message.delayed,suppression.added,webhook.disabled,domain.failing,domain.failed",
    "Problems",
  ],
] as const;

type Shown = (typeof filters)[number][0];

const perPage = 100;

/** The last events of the account. */
export function EventList() {
  const [most, setMost] = useState(perPage);
  const [types, setTypes] = useState<Shown>("*");
  const log = useLoaded(() => newestEvents(types, most), [types, most]);
  useReloadOn(() => true, log.reload);
  const events = log.value?.events ?? [];
  return (
    <Page title="Events" about="All events, in the order in which your programs receive them.">
      <Tabs label="Filter events" choices={filters} chosen={types} onChoose={setTypes} />
      <LoadState of={log} lines={8} />
      {log.value && events.length === 0 && (
        <Empty
          icon="events"
          title={types === "*" ? "No events yet" : "No recent events of this kind"}
          command={curl("GET", "v1/events/stream?types=*")}
        >
          <p>Each received or sent mail is an event. To watch events in a shell:</p>
        </Empty>
      )}
      {events.length > 0 && (
        <ol class="rows event-rows">
          {events.map((event) => (
            <EventRow key={event.event_id} event={event} />
          ))}
        </ol>
      )}
      {log.value?.hasMore && (
        <div class="pager">
          <button type="button" onClick={() => setMost(most + perPage)}>
            Show earlier
          </button>
        </div>
      )}
    </Page>
  );
}

/** A page examines 10,000 events at most, of which few may match, so this reads pages until it has enough. */
async function newestEvents(types: Shown, most: number): Promise<{ events: InboxdEvent[]; hasMore: boolean }> {
  const events: InboxdEvent[] = [];
  let pages = 0;
  for await (const { data, hasMore } of inboxd.events.list({ types, order: "desc", limit: perPage }).pages()) {
    events.push(...data);
    pages += 1;
    if (!hasMore || events.length >= most || pages === most / perPage + extraPages) return { events, hasMore };
  }
  return { events, hasMore: false };
}

/** Pages beyond the full ones, for types that are rare in the log. */
const extraPages = 4;

function EventRow({ event }: { event: InboxdEvent }) {
  const { icon, tone, name } = looks[event.event];
  return (
    <li class="row">
      <a class="event-link" href={href(`events/${event.event_id}`)}>
        <span class={`event-icon tone-${tone}`}>
          <Icon name={icon} />
        </span>
        <span class="event-kind">{name}</span>
        <span class="event-about">{subjectOf(event)}</span>
        <span class="event-when">
          <Time at={event.occurred_at} />
        </span>
      </a>
    </li>
  );
}
