import { errorText } from "../api.ts";
import type { Loaded } from "./loaded.ts";

/** Shows the error of a request, or placeholder lines while it is slow, or else nothing. */
export function LoadState({ of: { error, isSlow, reload }, lines = 4 }: { of: Loaded<unknown>; lines?: number }) {
  if (error !== undefined) return <Fault error={error} onRetry={reload} />;
  if (!isSlow) return null;
  return (
    <div class="placeholder" role="status">
      <span class="unseen">Loading</span>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} class="placeholder-line" />
      ))}
    </div>
  );
}

/** An error, with a button to try again. */
export function Fault({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  return (
    <div class="fault" role="alert">
      <p>{errorText(error)}</p>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
