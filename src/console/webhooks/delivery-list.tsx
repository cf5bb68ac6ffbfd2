import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { inboxd } from "../api.ts";
import { looks } from "../events/event-look.ts";
import { formatCount } from "../format.ts";
import { notify } from "../frame/notice.tsx";
import { unhurried, useReloadOn } from "../live.ts";
import { LoadState } from "../parts/load-state.tsx";
import { mapAtMost, useLoaded } from "../parts/loaded.ts";
import { RowSelect, useSelection } from "../parts/selection.tsx";
import { StatusTag } from "../parts/tag.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../session.ts";

const states = [undefined, "pending", "delivered", "failed"] as const;

/** The deliveries to an endpoint. The selected ones can be delivered again. */
export function DeliveryList({ endpointId, isDisabled }: { endpointId: string; isDisabled: boolean }) {
  const [state, setState] = useState<(typeof states)[number]>(undefined);
  const page = useLoaded(
    () => inboxd.webhooks.deliveries(endpointId, { limit: 50, ...(state !== undefined && { state }) }).page(),
    [endpointId, state],
  );
  useReloadOn(() => true, page.reload, unhurried);
  const listed = page.value?.data ?? [];
  const selection = useSelection(listed.map(({ event_id }) => event_id));
  const isOffered = may("manage") && !isDisabled;

  async function redeliver() {
    const ids = listed.flatMap(({ event_id }) => (selection.has(event_id) ? [event_id] : []));
    selection.clear();
    const redelivery = (id: string) => inboxd.events.redeliver(id, { webhookId: endpointId });
    const results = await mapAtMost(
      ids,
      (id) =>
        redelivery(id).then(
          () => true,
          () => false,
        ),
      4,
    );
    const queued = results.filter(Boolean).length;
    const text = `${queued} of ${formatCount(ids.length, "event")} queued for redelivery`;
    notify(text, queued === ids.length ? "good" : "bad");
    setTimeout(page.reload, 1_500);
  }

  return (
    <section class="section" aria-labelledby="deliveries">
      <header class="section-head">
        <h2 id="deliveries">Deliveries</h2>
        {selection.size > 0 && (
          <button type="button" class="primary small" onClick={() => void redeliver()}>
            Redeliver {selection.size}
          </button>
        )}
      </header>
      <fieldset class="tabs" aria-label="Filter deliveries">
        {states.map((name) => (
          <button key={name ?? "all"} type="button" aria-pressed={state === name} onClick={() => setState(name)}>
            {name === undefined ? "All" : name.charAt(0).toUpperCase() + name.slice(1)}
          </button>
        ))}
      </fieldset>
      <LoadState of={page} />
      {page.value && listed.length === 0 && <p class="section-nothing">None here.</p>}
      <ul class="rows">
        {listed.map(({ event_id, event, state: outcome, attempts, lastAttemptAt, lastError, nextAttemptAt }) => (
          <li key={event_id} class="row">
            {isOffered && <RowSelect id={event_id} name={event_id} selection={selection} />}
            <a class="row-link" href={href(`events/${event_id}`)}>
              <span class="strong">{looks[event].name}</span>
              <span class="quiet-text">{lastError ?? <code>{event_id}</code>}</span>
            </a>
            <div class="row-state">
              <StatusTag status={outcome} />
              <span class="quiet-text">
                {attempts > 0 && `${formatCount(attempts, "attempt")} · `}
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
