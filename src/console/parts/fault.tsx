import { wordsOf } from "../api.ts";

/** What went wrong where something should be, and the way out of it. */
export function Fault({ error, again }: { error: unknown; again?: () => void }) {
  return (
    <div class="fault" role="alert">
      <p>{wordsOf(error)}</p>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}
