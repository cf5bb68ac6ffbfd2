import { numberWords } from "../words.ts";

interface ShareBarProps {
  label: string;
  /** `isMore`: they were not counted to the end. */
  shares: readonly { name: string; count: number; isMore?: boolean }[];
  chosen: string | undefined;
  /** Undefined: all of them again. */
  onChoose(name: string | undefined): void;
}

/** How a whole is made up, as a bar; each part can be looked at alone. */
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
              {numberWords(count)}
              {isMore && "+"}
            </strong>
          </button>
        ))}
      </fieldset>
    </div>
  );
}
