import type { Schemas } from "../api.ts";
import { Time } from "../parts/time.tsx";
import { EndpointState } from "./endpoint-state.tsx";

export function EndpointFacts({ endpoint }: { endpoint: Schemas["WebhookEndpoint"] }) {
  const { failingSince, eventTypes, description, secretLast4, createdAt } = endpoint;
  return (
    <dl class="facts event-facts">
      <dt>State</dt>
      <dd>
        <EndpointState endpoint={endpoint} />
        {failingSince !== null && (
          <span class="quiet-text">
            {" since "}
            <Time at={failingSince} />
          </span>
        )}
      </dd>
      <dt>Told of</dt>
      <dd>{eventTypes.includes("*") ? "all events" : eventTypes.join(", ")}</dd>
      {description !== null && (
        <>
          <dt>Note</dt>
          <dd>{description}</dd>
        </>
      )}
      <dt>Secret</dt>
      <dd>
        <code>…{secretLast4}</code>
      </dd>
      <dt>Made</dt>
      <dd>
        <Time at={createdAt} />
      </dd>
    </dl>
  );
}
