import { formatNumber } from "../format.ts";

interface ShareBarProps {
  label: string;
  /** `isMore`: there are more than `count`. */
  shares: readonly { name: string; count: number; isMore: boolean }[];
  chosen: string | undefined;
  /** `undefined` shows all again. */
  onChoose(name: string | undefined): void;
}

/** A bar with a segment for each part, and for each part a button that shows only this part. */
export function ShareBar({ label, shares, chosen, onChoose }: ShareBarProps) {
  return (
    <div class="shares">
      <div class="share" aria-hidden="true">
        {shares
          .filter(({ count }) => count > 0)
          .map(({ name, count }) => (
            <span key={name} class={`share-${name}`} style={{ flexGrow: count }} />
          ))}
      </div>
      <fieldset class="share-keys" aria-label={label}>
        {shares.map(({ name, count, isMore }) => (
          <button
            key={name}
            type="button"
            class="quiet"
            aria-pressed={chosen === name}
            onClick={() => onChoose(chosen === name ? undefined : name)}
          >
            <span class={`share-key share-${name}`} />
            {name}
            <strong>
              {formatNumber(count)}
              {isMore && "+"}
            </strong>
          </button>
        ))}
      </fieldset>
    </div>
  );
}
