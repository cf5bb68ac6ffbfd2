import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { tell } from "../frame/notice.tsx";
import { useReloadAt } from "../live.ts";
import { curl } from "../parts/curl.ts";
import { Empty } from "../parts/empty.tsx";
import { Fault } from "../parts/fault.tsx";
import { LatencyBars } from "../parts/latency-bars.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Placeholder } from "../parts/placeholder.tsx";
import { may } from "../session.ts";
import { EndpointState } from "./endpoint-state.tsx";
import { lastAttempts } from "./last-attempts.ts";
import { NewEndpoint } from "./new-endpoint.tsx";
import { SecretOnce } from "./secret-once.tsx";

const secretLost = "The endpoint is there, but its secret was lost with the first answer: make a new one on its page";

/** Who is told of what happens, and how well they listen. */
export function EndpointList() {
  const endpoints = useLoaded(() => inboxd.webhooks.list(), []);
  const [isNew, setIsNew] = useState(false);
  const [secret, setSecret] = useState<string | undefined>(undefined);
  useReloadAt((event) => event === "webhook.disabled", endpoints.reload);
  const listed = endpoints.value?.data ?? [];
  return (
    <Page
      title="Webhooks"
      about="Your programs that are told what happens, signed and retried until they answer."
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
          onDone={(made) => {
            setIsNew(false);
            endpoints.reload();
            if (made?.secret !== undefined) setSecret(made.secret);
            else if (made !== undefined) tell(secretLost, "bad");
          }}
        />
      )}
      {secret !== undefined && <SecretOnce secret={secret} onDone={() => setSecret(undefined)} />}
      {endpoints.error !== undefined && <Fault error={endpoints.error} again={endpoints.reload} />}
      {endpoints.isSlow && <Placeholder />}
      {endpoints.value && listed.length === 0 && !isNew && (
        <Empty
          icon="webhooks"
          title="Nobody is told yet"
          command={curl("POST", "v1/webhooks", '{"url": "https://app.example/hook"}')}
        >
          <p>An endpoint is an address of yours. Each event is posted to it, signed, and again until it answers 2xx.</p>
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
  useReloadAt(() => true, attempts.reload);
  return (
    <li class="card endpoint">
      <a href={href(`webhooks/${endpoint.id}`)}>
        <span class="strong wrap">{endpoint.url ?? "no address"}</span>
        <span class="quiet-text">
          {endpoint.description ?? (endpoint.isDefault ? "Default endpoint" : "")}
          {` · ${endpoint.eventTypes.includes("*") ? "all events" : endpoint.eventTypes.join(", ")}`}
        </span>
      </a>
      <EndpointState endpoint={endpoint} />
      <LatencyBars attempts={attempts.value ?? []} />
    </li>
  );
}
