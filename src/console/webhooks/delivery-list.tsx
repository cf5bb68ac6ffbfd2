import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { inboxd } from "../api.ts";
import { lookOf } from "../events/event-words.ts";
import { tell } from "../frame/notice.tsx";
import { useReloadAt } from "../live.ts";
import { Fault } from "../parts/fault.tsx";
import { severalAtOnce, useLoaded } from "../parts/loaded.ts";
import { RowSelect, useSelection } from "../parts/selection.tsx";
import { StatusTag } from "../parts/status-tag.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../session.ts";
import { countWords } from "../words.ts";

const states = [undefined, "pending", "delivered", "failed"] as const;

/** What an endpoint was told. Those that are selected are told again, four at a time. */
export function DeliveryList({ endpointId, isDisabled }: { endpointId: string; isDisabled: boolean }) {
  const [state, setState] = useState<(typeof states)[number]>(undefined);
  const page = useLoaded(
    () => inboxd.webhooks.deliveries(endpointId, { limit: 50, ...(state !== undefined && { state }) }).page(),
    [endpointId, state],
  );
  useReloadAt(() => true, page.reload);
  const listed = page.value?.data ?? [];
  const selection = useSelection(listed.map(({ event_id }) => event_id));
  const isOffered = may("manage") && !isDisabled;

  async function redeliver() {
    const selected = listed.filter(({ event_id }) => selection.has(event_id));
    const jobs = selected.map(
      ({ event_id }) =>
        () =>
          queued(event_id),
    );
    selection.clear();
    const worked = (await severalAtOnce(jobs, 4)).filter(Boolean).length;
    tell(`${worked} of ${countWords(jobs.length, "event")} delivered again`, worked === jobs.length ? "good" : "bad");
    setTimeout(page.reload, 1_500);
  }
  const queued = (id: string) =>
    inboxd.events.redeliver(id, { webhookId: endpointId }).then(
      () => true,
      () => false,
    );

  return (
    <section class="section" aria-labelledby="told">
      <header class="section-head">
        <h2 id="told">Deliveries</h2>
        {selection.size > 0 && (
          <button type="button" class="primary small" onClick={() => void redeliver()}>
            Redeliver {selection.size}
          </button>
        )}
      </header>
      <fieldset class="tabs" aria-label="Which deliveries">
        {states.map((name) => (
          <button key={name ?? "all"} type="button" aria-pressed={state === name} onClick={() => setState(name)}>
            {name === undefined ? "All" : name.charAt(0).toUpperCase() + name.slice(1)}
          </button>
        ))}
      </fieldset>
      {page.error !== undefined && <Fault error={page.error} again={page.reload} />}
      {page.value && listed.length === 0 && <p class="section-nothing">None here.</p>}
      <ul class="rows">
        {listed.map(({ event_id, event, state: outcome, attempts, lastAttemptAt, lastError, nextAttemptAt }) => (
          <li key={event_id} class="row">
            {isOffered && <RowSelect id={event_id} name={event_id} selection={selection} />}
            <a class="row-link" href={href(`events/${event_id}`)}>
              <span class="strong">{lookOf(event).words}</span>
              <span class="quiet-text">{lastError ?? <code>{event_id}</code>}</span>
            </a>
            <div class="row-state">
              <StatusTag status={outcome} />
              <span class="quiet-text">
                {attempts > 0 && `${countWords(attempts, "attempt")} · `}
                {nextAttemptAt !== null ? (
                  <Time at={nextAttemptAt} />
                ) : (
                  lastAttemptAt !== null && <Time at={lastAttemptAt} />
                )}
              </span>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
