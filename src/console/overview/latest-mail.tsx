import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { type InboxdEvent, inboxd } from "../api.ts";
import { looks } from "../events/event-look.ts";
import { useEvents } from "../live.ts";
import { Icon } from "../parts/icon.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { StatusTag } from "../parts/tag.tsx";
import { Time } from "../parts/time.tsx";

const shown = 10;
const types = "message.received,message.sent,message.failed";

type MailEvent = Extract<InboxdEvent, { event: "message.received" | "message.sent" | "message.failed" }>;

/** The last mails of all inboxes, from the event log. New ones come with the stream, without a request. */
export function LatestMail() {
  const log = useLoaded(() => inboxd.events.list({ types, order: "desc", limit: shown }).page(), []);
  const [live, setLive] = useState<readonly MailEvent[]>([]);
  useEvents((event) => {
    if (isOfMail(event)) setLive((before) => [event, ...before].slice(0, shown));
  });
  const events = newest([...live, ...(log.value?.data ?? []).filter(isOfMail)]);
  return (
    <section class="card" aria-labelledby="latest-mail">
      <header>
        <h2 id="latest-mail">Latest mail</h2>
      </header>
      <LoadState of={log} />
      {log.value && events.length === 0 && (
        <p class="card-nothing">
          No mail yet. Send one to an address of your <a href={href("inboxes")}>inboxes</a>.
        </p>
      )}
      <ul class="last-mail">
        {events.map((event) => (
          <li key={event.event_id}>
            <a href={href(`threads/${event.thread_id}`)}>
              <span class={`event-icon tone-${looks[event.event].tone}`} title={looks[event.event].name}>
                <Icon name={looks[event.event].icon} />
              </span>
              <span class="last-who">{correspondent(event)}</span>
              <span class="last-what">{event.message.subject || "(no subject)"}</span>
              <span class="last-when">
                {event.event === "message.failed" && <StatusTag status="failed" />}{" "}
                <Time at={event.occurred_at} as="short" />
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function isOfMail(event: InboxdEvent): event is MailEvent {
  return types.split(",").includes(event.event);
}

/** The newest events, each once: an event may come with the stream and with the log. */
function newest(events: readonly MailEvent[]): MailEvent[] {
  return [...new Map(events.map((event) => [event.event_id, event])).values()].slice(0, shown);
}

function correspondent(event: MailEvent): string {
  if (event.event !== "message.received") return `to ${event.message.to}`;
  return event.message.from_name ?? event.message.from;
}
