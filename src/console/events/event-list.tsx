import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { useReloadAt } from "../live.ts";
import { curl } from "../parts/curl.ts";
import { Empty } from "../parts/empty.tsx";
import { Fault } from "../parts/fault.tsx";
import { Icon } from "../parts/icon.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Placeholder } from "../parts/placeholder.tsx";
import { Time } from "../parts/time.tsx";
import { type AnyEvent, lookOf, subjectOf } from "./event-words.ts";
import { recentEvents } from "./recent-events.ts";

const kinds = [
  ["all", "All"],
  ["message.received", "Received"],
  ["message.sent", "Sent"],
  ["troubles", "Troubles"],
] as const;

const troubles = new Set([
  ...["message.failed", "message.bounced", "message.complained", "message.delayed"],
  ...["suppression.added", "webhook.disabled"],
]);

/** What happened, as your programs are told it. */
export function EventList() {
  const [pagesBack, setPagesBack] = useState(1);
  const [kind, setKind] = useState<(typeof kinds)[number][0]>("all");
  const log = useLoaded(() => recentEvents(pagesBack), [pagesBack]);
  useReloadAt(() => true, log.reload);
  const events = log.value?.events ?? [];
  const shown = events.filter(
    ({ event }) => kind === "all" || event === kind || (kind === "troubles" && troubles.has(event)),
  );
  return (
    <Page title="Events" about="All that happens, in the order in which your programs are told it.">
      <fieldset class="tabs" aria-label="Which events">
        {kinds.map(([name, words]) => (
          <button key={name} type="button" aria-pressed={kind === name} onClick={() => setKind(name)}>
            {words}
          </button>
        ))}
      </fieldset>
      {log.error !== undefined && <Fault error={log.error} again={log.reload} />}
      {log.isSlow && <Placeholder lines={8} />}
      {log.value?.more === "unreached" && (
        <Empty icon="events" title="The log is long" command={curl("GET", "v1/events?after=start")}>
          <p>
            It is read from its beginning, and its end is too far from there for this page. With a webhook it is found
            from its end.
          </p>
        </Empty>
      )}
      {log.value && log.value.more !== "unreached" && shown.length === 0 && (
        <Empty
          icon="events"
          title={events.length === 0 ? "Nothing has happened yet" : "None of these lately"}
          command={curl("GET", "v1/events/stream?types=*")}
        >
          <p>Each mail that comes or goes is an event. To see them as they happen in a shell:</p>
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

function EventRow({ event }: { event: AnyEvent }) {
  const { icon, tone, words } = lookOf(event.event);
  return (
    <li class="row">
      <a class="event-link" href={href(`events/${event.event_id}`)}>
        <span class={`event-icon tone-${tone}`}>
          <Icon name={icon} />
        </span>
        <span class="event-kind">{words}</span>
        <span class="event-about">{subjectOf(event)}</span>
        <span class="event-when">
          <Time at={event.occurred_at} />
        </span>
      </a>
    </li>
  );
}
