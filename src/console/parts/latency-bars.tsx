import type { Schemas } from "../api.ts";
import { countWords, latencyWords } from "../words.ts";

/** A bar for each attempt, as high as it took long; who was refused stands out in colour and shape. */
export function LatencyBars({ attempts }: { attempts: readonly Schemas["Delivery"][] }) {
  const took = attempts.flatMap(({ latencyMs }) => latencyMs ?? []).sort((one, other) => one - other);
  const failed = attempts.filter(({ error }) => error !== null).length;
  const middle = took[Math.floor(took.length / 2)];
  const most = Math.max(1, ...took);
  const words =
    attempts.length === 0
      ? "not told of anything yet"
      : `${countWords(attempts.length, "attempt")}${failed === 0 ? "" : `, ${failed} failed`}${middle === undefined ? "" : ` · median ${latencyWords(middle)}`}`;
  return (
    <div class="latency">
      <div class="latency-bars" aria-hidden="true">
        {attempts.map(({ attempt, attemptedAt, error, latencyMs }) => (
          <span
            key={`${attemptedAt} ${attempt}`}
            class={error === null ? "attempt-bar" : "attempt-bar failed"}
            style={{ height: `${Math.max(8, (100 * (latencyMs ?? most)) / most)}%` }}
            title={`${error ?? "delivered"}${latencyMs === null ? "" : `, ${latencyWords(latencyMs)}`}`}
          />
        ))}
      </div>
      <p class="quiet-text number">{words}</p>
    </div>
  );
}
