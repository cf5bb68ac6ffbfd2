import type { Schemas } from "../api.ts";
import { Command } from "../parts/command.tsx";
import { Tag } from "../parts/tag.tsx";
import { Time } from "../parts/time.tsx";

const disabledReasons = {
  gone: "it answered 410 (gone)",
  failing: "all deliveries failed for days",
  manual: "somebody disabled it",
} as const;

/** Whether an endpoint works, since when it does not, and why. */
export function EndpointState({ endpoint }: { endpoint: Schemas["WebhookEndpoint"] }) {
  const { disabledAt, disabledReason, failingSince } = endpoint;
  const since = disabledAt ?? failingSince;
  if (since === null) return <Tag tone="good">working</Tag>;
  return (
    <span class="endpoint-state">
      <Tag tone={disabledAt === null ? "warm" : "bad"}>{disabledAt === null ? "failing" : "disabled"}</Tag>{" "}
      <span class="quiet-text">
        {disabledAt === null ? "since " : `${disabledReasons[disabledReason ?? "manual"]}, since `}
        <Time at={since} as="short" />
      </span>
    </span>
  );
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
