import { useState } from "preact/hooks";
import { href } from "../address.ts";
import type { InboxdEvent } from "../api.ts";
import { useReloadOn } from "../live.ts";
import { curl } from "../parts/command.tsx";
import { Empty } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { looks, subjectOf } from "./event-look.ts";
import { recentEvents } from "./recent-events.ts";

const filters = [
  ["all", "All"],
  ["message.received", "Received"],
  ["message.sent", "Sent"],
  ["problems", "Problems"],
] as const;

const problems = new Set([
  "message.failed",
  "message.bounced",
  "message.complained",
  "message.delayed",
  "suppression.added",
  "webhook.disabled",
]);

/** The last events of the account. */
export function EventList() {
  const [pagesBack, setPagesBack] = useState(1);
  const [filter, setFilter] = useState<(typeof filters)[number][0]>("all");
  const log = useLoaded(() => recentEvents(pagesBack), [pagesBack]);
  useReloadOn(() => true, log.reload);
  const events = log.value?.events ?? [];
  const shown = events.filter(
    ({ event }) => filter === "all" || event === filter || (filter === "problems" && problems.has(event)),
  );
  return (
    <Page title="Events" about="All events, in the order in which your programs receive them.">
      <fieldset class="tabs" aria-label="Filter events">
        {filters.map(([name, label]) => (
          <button key={name} type="button" aria-pressed={filter === name} onClick={() => setFilter(name)}>
            {label}
          </button>
        ))}
      </fieldset>
      <LoadState of={log} lines={8} />
      {log.value?.more === "unreached" && (
        <Empty icon="events" title="The log is too long to show" command={curl("GET", "v1/events?after=start")}>
          <p>
            This page reads the log from the beginning, and the end is too far away. With a webhook endpoint, it starts
            at the last deliveries instead.
          </p>
        </Empty>
      )}
      {log.value && log.value.more !== "unreached" && shown.length === 0 && (
        <Empty
          icon="events"
          title={events.length === 0 ? "No events yet" : "No recent events of this kind"}
          command={curl("GET", "v1/events/stream?types=*")}
        >
          <p>Each received or sent mail is an event. To watch events in a shell:</p>
        </Empty>
      )}
      {shown.length > 0 && (
        <ol class="rows event-rows">
          {shown.map((event) => (
            <EventRow key={event.event_id} event={event} />
          ))}
        </ol>
      )}
      {log.value?.more === "earlier" && (
        <div class="pager">
          <button type="button" onClick={() => setPagesBack(pagesBack + 1)}>
            Show earlier
          </button>
        </div>
      )}
    </Page>
  );
}

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
