import { href, route } from "../address.ts";
import { type InboxdEvent, inboxd, isNotFound } from "../api.ts";
import { act } from "../parts/act.ts";
import { Command, curl, Scrolled } from "../parts/command.tsx";
import { Empty } from "../parts/empty.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../session.ts";
import { AttemptList } from "./attempt-list.tsx";
import { looks, subjectOf } from "./event-look.ts";

const nothing = { data: [] };

/** An event, and its deliveries if the key may see them. */
export function EventPage() {
  const id = route.value.path.split("/")[1] ?? "";
  const facts = useLoaded(async () => {
    const seesDeliveries = may("account");
    const [event, deliveries, endpoints] = await Promise.all([
      inboxd.events.get(id),
      seesDeliveries ? inboxd.events.deliveries(id, { limit: 100 }).page() : nothing,
      seesDeliveries ? inboxd.webhooks.list() : nothing,
    ]);
    return { event, deliveries: deliveries.data, endpoints: endpoints.data };
  }, [id]);

  const redeliver = (webhookId: string | null) =>
    act(
      async () => {
        await inboxd.events.redeliver(id, webhookId === null ? {} : { webhookId });
        return "Queued for redelivery";
      },
      () => setTimeout(facts.reload, 1_500),
    );

  if (isNotFound(facts.error)) {
    return (
      <Page title="Event">
        <Empty icon="events" title="Event not found">
          <p>
            It may have been removed from the log. <a href={href("events")}>Go to the events</a>
          </p>
        </Empty>
      </Page>
    );
  }
  const { event, deliveries = [], endpoints = [] } = facts.value ?? {};
  return (
    <Page title={event ? looks[event.event].name : "Event"} about={event && subjectOf(event)}>
      <LoadState of={facts} lines={6} />
      {event && (
        <>
          <EventFacts event={event} />
          {may("account") && (
            <section class="section" aria-labelledby="deliveries">
              <h2 id="deliveries">Deliveries</h2>
              {endpoints.length === 0 ? (
                <p class="quiet-text">
                  There are no endpoints. <a href={href("webhooks")}>Add a webhook</a>
                </p>
              ) : (
                endpoints.map((endpoint) => (
                  <AttemptList
                    key={endpoint.id}
                    endpoint={endpoint}
                    attempts={deliveries.filter(({ webhookId }) => webhookId === endpoint.id)}
                    onRedeliver={endpoint.disabledAt === null ? () => void redeliver(endpoint.id) : undefined}
                  />
                ))
              )}
            </section>
          )}
          <section class="section" aria-labelledby="payload">
            <h2 id="payload">Payload</h2>
            <Scrolled isBlock>
              <code>{JSON.stringify(event, undefined, 2)}</code>
            </Scrolled>
            {may("account") && <Command line={curl("POST", `v1/events/${id}/redeliver`, "{}")} />}
          </section>
        </>
      )}
    </Page>
  );
}

function EventFacts({ event }: { event: InboxdEvent }) {
  return (
    <dl class="facts event-facts">
      <dt>Event</dt>
      <dd>
        <code>{event.event_id}</code>
      </dd>
      <dt>Type</dt>
      <dd>
        <code>{event.event}</code>
      </dd>
      <dt>Time</dt>
      <dd>
        <Time at={event.occurred_at} />
      </dd>
      {"thread_id" in event && (
        <>
          <dt>Thread</dt>
          <dd>
            <a href={href(`threads/${event.thread_id}`)}>Open the conversation</a>
          </dd>
        </>
      )}
    </dl>
  );
}
