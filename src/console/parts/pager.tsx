import { numberWords } from "../words.ts";

interface PagerProps {
  offset: number;
  pageSize: number;
  total: number;
  onMove(offset: number): void;
}

/** Nothing where all fits on one page. */
export function Pager({ offset, pageSize, total, onMove }: PagerProps) {
  if (total <= pageSize) return null;
  const last = Math.min(offset + pageSize, total);
  return (
    <nav class="pager" aria-label="Pages">
      <button type="button" disabled={offset === 0} onClick={() => onMove(Math.max(0, offset - pageSize))}>
        Previous
      </button>
      <span>
        {numberWords(offset + 1)} – {numberWords(last)} of {numberWords(total)}
      </span>
      <button type="button" disabled={last >= total} onClick={() => onMove(offset + pageSize)}>
        Next
      </button>
    </nav>
  );
}
