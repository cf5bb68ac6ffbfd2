import { useState } from "preact/hooks";

/** Where one is in a list whose cursors lead on only: the way back is remembered here. */
export interface Cursors {
  cursor: string | undefined;
  forward(cursor: string): void;
  back(): void;
  begin(): void;
}

export function useCursors(): Cursors {
  const [passed, setPassed] = useState<readonly string[]>([]);
  return {
    cursor: passed.at(-1),
    forward: (cursor) => setPassed([...passed, cursor]),
    back: () => setPassed(passed.slice(0, -1)),
    begin: () => setPassed([]),
  };
}

/** Nothing where all fits on one page. */
export function CursorPager({ cursors, next }: { cursors: Cursors; next: string | null | undefined }) {
  if (cursors.cursor === undefined && !next) return null;
  return (
    <nav class="pager" aria-label="Pages">
      <button type="button" disabled={cursors.cursor === undefined} onClick={cursors.back}>
        Previous
      </button>
      <button type="button" disabled={!next} onClick={() => next && cursors.forward(next)}>
        Next
      </button>
    </nav>
  );
}
