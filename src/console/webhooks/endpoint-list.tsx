import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { notify } from "../frame/notice.tsx";
import { unhurried, useReloadOn } from "../live.ts";
import { curl } from "../parts/command.tsx";
import { Empty } from "../parts/empty.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { EndpointForm } from "./endpoint-form.tsx";
import { EndpointState, NewSecret } from "./endpoint-parts.tsx";

const secretLost =
  "The endpoint was created, but the response with its secret was lost: create a new secret on its page";

/** The webhook endpoints, each with its last delivery. */
export function EndpointList() {
  const endpoints = useLoaded(() => inboxd.webhooks.list(), []);
  const [isNew, setIsNew] = useState(false);
  const [secret, setSecret] = useState<string | undefined>(undefined);
  useReloadOn(() => true, endpoints.reload, unhurried);
  const listed = endpoints.value?.data ?? [];
  return (
    <Page
      title="Webhooks"
      about="URLs that receive your events. Each delivery is signed, and retried until it succeeds."
      actions={
        !isNew && (
          <button type="button" class="primary" onClick={() => setIsNew(true)}>
            Add endpoint
          </button>
        )
      }
    >
      {isNew && (
        <EndpointForm
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
  const { id, url, description, isDefault, eventTypes, lastDelivery } = endpoint;
  const about = description ?? (isDefault ? "Default endpoint" : null);
  return (
    <li class="card endpoint">
      <a href={href(`webhooks/${id}`)}>
        <span class="strong wrap">{url ?? "no URL"}</span>
        <span class="quiet-text">
          {about !== null && `${about} · `}
          {eventTypes.includes("*") ? "all events" : eventTypes.join(", ")}
        </span>
      </a>
      <EndpointState endpoint={endpoint} />
      <p class="quiet-text">{lastDelivery === null ? "no deliveries yet" : <LastDelivery last={lastDelivery} />}</p>
    </li>
  );
}

function LastDelivery({ last: { event_id, at, status, error } }: { last: Schemas["LastDelivery"] }) {
  return (
    <>
      last delivery <Time at={at} />: <a href={href(`events/${event_id}`)}>{error ?? `answered ${status}`}</a>
    </>
  );
}
