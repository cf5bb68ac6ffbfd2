import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { looks } from "../events/event-look.ts";
import { formatCount, formatLatency } from "../format.ts";
import { notify } from "../frame/notice.tsx";
import { unhurried, useReloadOn } from "../live.ts";
import { LoadState } from "../parts/load-state.tsx";
import { mapAtMost, useLoaded } from "../parts/loaded.ts";
import { CursorPager, useCursors } from "../parts/pager.tsx";
import { RowSelect, type Selection, SelectionBar, useSelection } from "../parts/selection.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { StatusTag } from "../parts/tag.tsx";
import { Time } from "../parts/time.tsx";
import { Recover } from "./recover.tsx";

type Delivery = Schemas["EndpointDelivery"];
type State = Delivery["state"];

const filters: readonly (readonly [State | undefined, string])[] = [
  [undefined, "All"],
  ["pending", "Pending"],
  ["delivered", "Delivered"],
  ["failed", "Failed"],
];

/** The deliveries to an endpoint. The selected ones, or all that failed since a time, can be delivered again. */
export function DeliveryList({ endpoint }: { endpoint: Schemas["WebhookEndpoint"] }) {
  const [state, setState] = useState<State | undefined>(undefined);
  return (
    <section class="section" aria-labelledby="deliveries">
      <h2 id="deliveries">Deliveries</h2>
      <Tabs label="Filter deliveries" choices={filters} chosen={state} onChoose={setState} />
      {/* A key for each filter, because a cursor is valid only for its filter. */}
      <Deliveries key={state} endpoint={endpoint} state={state} />
    </section>
  );
}

function Deliveries({ endpoint, state }: { endpoint: Schemas["WebhookEndpoint"]; state: State | undefined }) {
  const cursors = useCursors();
  const { cursor } = cursors;
  const page = useLoaded(() => deliveriesOf(endpoint.id, state, cursor), [endpoint.id, cursor]);
  useReloadOn(() => true, page.reload, unhurried);
  const listed = page.value?.data ?? [];
  const next = page.value?.nextCursor;
  const selection = useSelection(listed.map(({ event_id }) => event_id));
  const isOffered = endpoint.disabledAt === null;
  const reloadSoon = () => void setTimeout(page.reload, 1_500);

  async function redeliver() {
    const ids = listed.flatMap(({ event_id }) => (selection.has(event_id) ? [event_id] : []));
    selection.clear();
    const redelivery = (id: string) =>
      inboxd.events.redeliver(id, { webhookId: endpoint.id }).then(
        () => true,
        () => false,
      );
    const queued = (await mapAtMost(ids, redelivery, 4)).filter(Boolean).length;
    const text = `${queued} of ${formatCount(ids.length, "event")} queued for redelivery`;
    notify(text, queued === ids.length ? "good" : "bad");
    reloadSoon();
  }

  return (
    <>
      {isOffered && selection.size === 0 && <Recover endpoint={endpoint} onQueued={reloadSoon} />}
      {selection.size > 0 && (
        <SelectionBar label="Selected deliveries" count={selection.size} onClear={selection.clear}>
          <button type="button" class="small" onClick={() => void redeliver()}>
            Redeliver {selection.size}
          </button>
        </SelectionBar>
      )}
      <LoadState of={page} />
      {page.value && listed.length === 0 && (
        <p class="section-nothing">{next ? "None here among the last events." : "None here."}</p>
      )}
      {listed.length > 0 && (
        <ul class="rows">
          {listed.map((delivery) => (
            <DeliveryRow key={delivery.event_id} delivery={delivery} selection={isOffered ? selection : undefined} />
          ))}
        </ul>
      )}
      <CursorPager cursors={cursors} next={next} />
    </>
  );
}

function DeliveryRow({ delivery, selection }: { delivery: Delivery; selection: Selection | undefined }) {
  const { event_id, event, state, attempts, lastLatencyMs, lastError, nextAttemptAt } = delivery;
  const { name } = looks[event];
  return (
    <li class="row">
      {selection && <RowSelect id={event_id} name={delivery.subject ?? name} selection={selection} />}
      <a class="row-link" href={href(`events/${event_id}`)}>
        <span class="strong">{delivery.subject ?? name}</span>
        <span class="quiet-text">
          {delivery.subject !== null && `${name} · `}
          <Time at={delivery.occurred_at} />
        </span>
        {lastError !== null && <span class="quiet-text said">{lastError}</span>}
      </a>
      <div class="row-state">
        <StatusTag status={state} />
        {attempts > 0 && (
          <span class="quiet-text number">
            {attempts > 1 && `${attempts} attempts · `}
            {lastLatencyMs !== null && formatLatency(lastLatencyMs)}
          </span>
        )}
        {nextAttemptAt !== null && (
          <span class="quiet-text">
            next <Time at={nextAttemptAt} as="due" />
          </span>
        )}
      </div>
    </li>
  );
}

const perPage = 25;
/** A request reads at most 1,000 events, of which few may match. */
const mostRequests = 5;

/** A page of deliveries. It may have fewer than 25, or none, although there are more. */
async function deliveriesOf(endpointId: string, state: State | undefined, start: string | undefined) {
  const data: Delivery[] = [];
  let cursor: string | null | undefined = start;
  for (let requests = 0; requests < mostRequests && data.length < perPage && cursor !== null; requests += 1) {
    const query = { limit: perPage - data.length, ...(state && { state }), ...(cursor && { cursor }) };
    const page: Schemas["EndpointDeliveryPage"] = await inboxd.webhooks.deliveries(endpointId, query).page();
    data.push(...page.data);
    cursor = page.nextCursor;
  }
  return { data, nextCursor: cursor };
}
