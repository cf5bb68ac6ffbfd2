import type { Schemas } from "../api.ts";
import { Command } from "../parts/command.tsx";
import { Tag } from "../parts/tag.tsx";

export function EndpointState({ endpoint }: { endpoint: Schemas["WebhookEndpoint"] }) {
  if (endpoint.disabledAt !== null) {
    const why = { gone: "gone", failing: "kept failing", manual: "manually" }[endpoint.disabledReason ?? "manual"];
    return <Tag tone="bad">disabled: {why}</Tag>;
  }
  return endpoint.failingSince === null ? <Tag tone="good">working</Tag> : <Tag tone="warm">failing</Tag>;
}

/** A new secret, which is shown only once. */
export function NewSecret({ secret, onDone }: { secret: string; onDone: () => void }) {
  return (
    <section class="card secret" aria-label="Signing secret">
      <h2>Save this secret now</h2>
      <p class="quiet-text">Deliveries are signed with it. It is shown only once.</p>
      <Command line={secret} />
      <div class="actions">
        <button type="button" onClick={onDone}>
          I saved it
        </button>
      </div>
    </section>
  );
}
