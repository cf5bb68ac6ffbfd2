import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { formatCount, formatLatency } from "../format.ts";
import { notify } from "../frame/notice.tsx";
import { useReloadOn } from "../live.ts";
import { curl } from "../parts/command.tsx";
import { Empty } from "../parts/empty.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { mapAtMost, useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { may } from "../session.ts";
import { EndpointState, NewSecret } from "./endpoint-parts.tsx";
import { NewEndpoint } from "./new-endpoint.tsx";

const secretLost =
  "The endpoint was created, but the response with its secret was lost: create a new secret on its page";

/** The webhook endpoints, each with its last attempts. */
export function EndpointList() {
  const endpoints = useLoaded(() => inboxd.webhooks.list(), []);
  const [isNew, setIsNew] = useState(false);
  const [secret, setSecret] = useState<string | undefined>(undefined);
  useReloadOn((event) => event === "webhook.disabled", endpoints.reload);
  const listed = endpoints.value?.data ?? [];
  return (
    <Page
      title="Webhooks"
      about="URLs that receive your events. Each delivery is signed, and retried until it succeeds."
      actions={
        may("manage") &&
        !isNew && (
          <button type="button" class="primary" onClick={() => setIsNew(true)}>
            Add endpoint
          </button>
        )
      }
    >
      {isNew && (
        <NewEndpoint
          onDone={(created) => {
            setIsNew(false);
            endpoints.reload();
            if (created?.secret !== undefined) setSecret(created.secret);
            else if (created !== undefined) notify(secretLost, "bad");
          }}
        />
      )}
      {secret !== undefined && <NewSecret secret={secret} onDone={() => setSecret(undefined)} />}
      <LoadState of={endpoints} />
      {endpoints.value && listed.length === 0 && !isNew && (
        <Empty
          icon="webhooks"
          title="No endpoints yet"
          command={curl("POST", "v1/webhooks", '{"url": "https://app.example/hook"}')}
        >
          <p>
            An endpoint is a URL of yours. Each event is posted to it with a signature, and retried until the response
            is 2xx.
          </p>
        </Empty>
      )}
      <ul class="endpoints">
        {listed.map((endpoint) => (
          <EndpointCard key={endpoint.id} endpoint={endpoint} />
        ))}
      </ul>
    </Page>
  );
}

function EndpointCard({ endpoint }: { endpoint: Schemas["WebhookEndpoint"] }) {
  const attempts = useLoaded(() => lastAttempts(endpoint.id), [endpoint.id]);
  useReloadOn(() => true, attempts.reload);
  const about = endpoint.description ?? (endpoint.isDefault ? "Default endpoint" : null);
  return (
    <li class="card endpoint">
      <a href={href(`webhooks/${endpoint.id}`)}>
        <span class="strong wrap">{endpoint.url ?? "no URL"}</span>
        <span class="quiet-text">
          {about !== null && `${about} · `}
          {endpoint.eventTypes.includes("*") ? "all events" : endpoint.eventTypes.join(", ")}
        </span>
      </a>
      <EndpointState endpoint={endpoint} />
      <LatencyBars attempts={attempts.value ?? []} />
    </li>
  );
}

const maxEvents = 16;
const maxAttempts = 24;

/** The last attempts to deliver to an endpoint, oldest first. */
async function lastAttempts(endpointId: string): Promise<Schemas["Delivery"][]> {
  const { data } = await inboxd.webhooks.deliveries(endpointId, { limit: maxEvents }).page();
  const tried = data.filter(({ attempts }) => attempts > 0);
  const pages = await mapAtMost(tried, ({ event_id }) => inboxd.events.deliveries(event_id, { limit: 100 }).page(), 4);
  return pages
    .flatMap((page) => page.data.filter(({ webhookId }) => webhookId === endpointId))
    .sort((one, other) => (one.attemptedAt < other.attemptedAt ? -1 : 1))
    .slice(-maxAttempts);
}

/** A bar for each attempt, as high as its latency. Failed attempts differ in colour and shape. */
function LatencyBars({ attempts }: { attempts: readonly Schemas["Delivery"][] }) {
  const latencies = attempts.flatMap(({ latencyMs }) => latencyMs ?? []).sort((one, other) => one - other);
  const failed = attempts.filter(({ error }) => error !== null).length;
  const median = latencies[Math.floor(latencies.length / 2)];
  const max = Math.max(1, ...latencies);
  const text =
    attempts.length === 0
      ? "no deliveries yet"
      : `${formatCount(attempts.length, "attempt")}${failed === 0 ? "" : `, ${failed} failed`}${median === undefined ? "" : ` · median ${formatLatency(median)}`}`;
  return (
    <div class="latency">
      <div class="latency-bars" aria-hidden="true">
        {attempts.map(({ attempt, attemptedAt, error, latencyMs }) => (
          <span
            key={`${attemptedAt} ${attempt}`}
            class={error === null ? "attempt-bar" : "attempt-bar failed"}
            style={{ height: `${Math.max(8, (100 * (latencyMs ?? max)) / max)}%` }}
            title={`${error ?? "delivered"}${latencyMs === null ? "" : `, ${formatLatency(latencyMs)}`}`}
          />
        ))}
      </div>
      <p class="quiet-text number">{text}</p>
    </div>
  );
}
