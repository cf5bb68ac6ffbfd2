import { useState } from "preact/hooks";
import { errorText, InboxdError, inboxd, type Schemas } from "../api.ts";
import { formatCount, localTime } from "../format.ts";
import { notify } from "../frame/notice.tsx";
import { now } from "../machine.ts";
import { useBusy } from "../parts/busy.ts";

interface RecoverProps {
  endpoint: Schemas["WebhookEndpoint"];
  onQueued(): void;
}

/** A form that delivers again, in order, all events that failed since a time. */
export function Recover({ endpoint: { id, failingSince }, onQueued }: RecoverProps) {
  const [since, setSince] = useState(() =>
    localTime(failingSince === null ? new Date(now().getTime() - dayMs) : new Date(failingSince)),
  );
  const { isBusy, unlessBusy } = useBusy();

  async function recover() {
    const at = new Date(since);
    try {
      if (Number.isNaN(at.getTime())) throw new Error("Enter a date and a time");
      const after = await positionBefore(id, at);
      if (after === undefined) return notify("No delivery has failed since then");
      notify(await recoverAll(id, after));
      onQueued();
    } catch (error) {
      notify(errorText(error), "bad");
    }
  }

  return (
    <form
      class="actions"
      onSubmit={(event) => {
        event.preventDefault();
        void unlessBusy(recover);
      }}
    >
      <label for="since">Redeliver all failed since</label>
      <input
        id="since"
        type="datetime-local"
        value={since}
        disabled={isBusy}
        onInput={(event) => setSince(event.currentTarget.value)}
      />
      <button type="submit" disabled={isBusy}>
        Redeliver all
      </button>
    </form>
  );
}

const dayMs = 86_400_000;

/**
 * The position in the log right before the first event since `at` whose delivery failed; undefined if there is none. The
 * API takes the id of an event, so this walks back through the failed deliveries.
 */
async function positionBefore(endpointId: string, at: Date): Promise<string | undefined> {
  let first: string | undefined;
  for await (const { event_id, occurred_at } of inboxd.webhooks.deliveries(endpointId, {
    limit: 100,
    state: "failed",
  })) {
    if (new Date(occurred_at) < at) break;
    first = event_id;
  }
  if (first === undefined) return undefined;
  const earlier = await inboxd.events.list({ types: "*", order: "desc", before: first, limit: 1 }).page();
  return earlier.data[0]?.event_id ?? "start";
}

/** Queues the events, 1,000 of the log at a time, up to its end or to the limit of the API. Returns the result as a text. */
async function recoverAll(endpointId: string, after: string): Promise<string> {
  let queued = 0;
  for (let position = after; ; ) {
    const step = await inboxd.webhooks.recover(endpointId, { after: position }).catch((error: unknown) => {
      if (queued > 0 && error instanceof InboxdError && error.code === "rate_limit_exceeded") return undefined;
      throw error;
    });
    queued += step?.queued ?? 0;
    const text = `${formatCount(queued, "event")} queued for redelivery`;
    if (step === undefined) return `${text}. Continue in a minute`;
    // An endpoint that never answered gets one event as a trial.
    if (step.hasMore && step.last === position) return `${text}. Continue once the endpoint has answered`;
    if (!step.hasMore || step.last === null) return text;
    position = step.last;
  }
}
