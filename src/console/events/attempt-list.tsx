import { useState } from "preact/hooks";
import { href } from "../address.ts";
import type { Schemas } from "../api.ts";
import { formatClock, formatFullTime, formatLatency } from "../format.ts";
import { Tag } from "../parts/tag.tsx";

interface AttemptListProps {
  endpoint: Schemas["WebhookEndpoint"];
  attempts: readonly Schemas["Delivery"][];
  onRedeliver: (() => void) | undefined;
}

/** The attempts to deliver an event to one endpoint. */
export function AttemptList({ endpoint, attempts, onRedeliver }: AttemptListProps) {
  return (
    <div class="card attempts">
      <header>
        <a class="wrap" href={href(`webhooks/${endpoint.id}`)}>
          {endpoint.url ?? endpoint.id}
        </a>
        {onRedeliver && (
          <button type="button" class="small" onClick={onRedeliver}>
            Redeliver
          </button>
        )}
      </header>
      {attempts.length === 0 && <p class="card-nothing">Not delivered to this endpoint.</p>}
      <ol>
        {attempts.map((attempt) => (
          <Attempt key={`${attempt.attempt} ${attempt.attemptedAt}`} attempt={attempt} />
        ))}
      </ol>
    </div>
  );
}

function Attempt({ attempt }: { attempt: Schemas["Delivery"] }) {
  const [isOpen, setIsOpen] = useState(false);
  const { attemptedAt, status, latencyMs, error, response } = attempt;
  const at = new Date(attemptedAt);
  return (
    <li>
      <div class="attempt">
        <span class="quiet-text number">#{attempt.attempt}</span>
        <time dateTime={attemptedAt} title={formatFullTime(at)}>
          {formatClock(at)}
        </time>
        <Tag tone={error === null ? "good" : "bad"}>{status ?? "no response"}</Tag>
        <span class="number">{latencyMs === null ? "" : formatLatency(latencyMs)}</span>
        <span class="attempt-error">{error ?? ""}</span>
        {response !== null && response !== "" && (
          <button type="button" class="link" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
            Response
          </button>
        )}
      </div>
      {isOpen && <pre class="block">{response}</pre>}
    </li>
  );
}
