import { isNotThere, wordsOf } from "../api.ts";
import { Empty } from "./empty.tsx";

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

/** The same for a whole list, which an older service may not have. */
export function ListFault({ error, again }: { error: unknown; again: () => void }) {
  if (!isNotThere(error)) return <Fault error={error} again={again} />;
  return (
    <Empty icon="search" title="Not in this version">
      <p>The service that answers here is older than this page, and does not have this list yet.</p>
    </Empty>
  );
}
