import { href, place } from "../address.ts";
import { inboxd, isNotThere, wordsOf } from "../api.ts";
import { tell } from "../frame/notice.tsx";
import { Command } from "../parts/command.tsx";
import { curl } from "../parts/curl.ts";
import { Empty } from "../parts/empty.tsx";
import { Fault } from "../parts/fault.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Placeholder } from "../parts/placeholder.tsx";
import { Scrolled } from "../parts/scrolled.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../session.ts";
import { AttemptList } from "./attempt-list.tsx";
import { type AnyEvent, lookOf, subjectOf } from "./event-words.ts";
import { knownEvents, recentEvents } from "./recent-events.ts";

/** An event, whom it was told, and how they answered. */
export function EventPage() {
  const id = place.value.path.split("/")[1] ?? "";
  const facts = useLoaded(async () => {
    const [deliveries, endpoints] = await Promise.all([
      inboxd.events.deliveries(id, { limit: 100 }).page(),
      inboxd.webhooks.list(),
    ]);
    if (!knownEvents.has(id)) await recentEvents(3);
    return { deliveries: deliveries.data, endpoints: endpoints.data, event: knownEvents.get(id) };
  }, [id]);

  async function redeliver(webhookId: string | null) {
    try {
      await inboxd.events.redeliver(id, webhookId === null ? {} : { webhookId });
      tell("It is delivered again");
      setTimeout(facts.reload, 1_500);
    } catch (error) {
      tell(wordsOf(error), "bad");
    }
  }

  if (isNotThere(facts.error)) {
    return (
      <Page title="Event">
        <Empty icon="events" title="This event is not there">
          <p>
            It may be older than the log. <a href={href("events")}>Go to the events</a>
          </p>
        </Empty>
      </Page>
    );
  }
  const { event, deliveries = [], endpoints = [] } = facts.value ?? {};
  return (
    <Page title={event ? lookOf(event.event).words : "Event"} about={event && subjectOf(event)}>
      {facts.error !== undefined && <Fault error={facts.error} again={facts.reload} />}
      {facts.isSlow && <Placeholder lines={6} />}
      {facts.value && (
        <>
          <EventFacts id={id} event={event} />
          <section class="section" aria-labelledby="deliveries">
            <h2 id="deliveries">Deliveries</h2>
            {endpoints.length === 0 ? (
              <p class="quiet-text">
                There is no endpoint to tell. <a href={href("webhooks")}>Add a webhook</a>
              </p>
            ) : (
              endpoints.map((endpoint) => (
                <AttemptList
                  key={endpoint.id}
                  endpoint={endpoint}
                  attempts={deliveries.filter(({ webhookId }) => webhookId === endpoint.id)}
                  onRedeliver={
                    may("manage") && endpoint.disabledAt === null ? () => void redeliver(endpoint.id) : undefined
                  }
                />
              ))
            )}
          </section>
          <section class="section" aria-labelledby="payload">
            <h2 id="payload">What is told</h2>
            {event ? (
              <Scrolled isBlock>
                <code>{JSON.stringify(event, undefined, 2)}</code>
              </Scrolled>
            ) : (
              <p class="quiet-text">This event lies further back in the log than this page looks.</p>
            )}
            {may("manage") && <Command line={curl("POST", `v1/events/${id}/redeliver`, "{}")} />}
          </section>
        </>
      )}
    </Page>
  );
}

function EventFacts({ id, event }: { id: string; event: AnyEvent | undefined }) {
  return (
    <dl class="facts event-facts">
      <dt>Event</dt>
      <dd>
        <code>{id}</code>
      </dd>
      {event && (
        <>
          <dt>Kind</dt>
          <dd>
            <code>{event.event}</code>
          </dd>
          <dt>Happened</dt>
          <dd>
            <Time at={event.occurred_at} />
          </dd>
        </>
      )}
      {event?.thread_id && (
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
