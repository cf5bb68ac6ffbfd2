import { useState } from "preact/hooks";
import { formatNumber } from "../format.ts";

interface PagerProps {
  offset: number;
  pageSize: number;
  total: number;
  onMove(offset: number): void;
}

/** Buttons for a list with offsets. Hidden if everything fits on one page. */
export function Pager({ offset, pageSize, total, onMove }: PagerProps) {
  if (total <= pageSize) return null;
  const last = Math.min(offset + pageSize, total);
  return (
    <nav class="pager" aria-label="Pages">
      <button type="button" disabled={offset === 0} onClick={() => onMove(Math.max(0, offset - pageSize))}>
        Previous
      </button>
      <span>
        {formatNumber(offset + 1)} – {formatNumber(last)} of {formatNumber(total)}
      </span>
      <button type="button" disabled={last >= total} onClick={() => onMove(offset + pageSize)}>
        Next
      </button>
    </nav>
  );
}

/** The current page of a list with cursors. A cursor only leads forward, so earlier cursors are kept for the way back. */
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

/** Buttons for a list with cursors. Hidden if everything fits on one page. */
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
