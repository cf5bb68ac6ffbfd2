import type { ComponentChildren } from "preact";

export type Tone = "good" | "bad" | "warm" | "plain" | "accent";

/** A word about a state; the shape beside it says the same to those who see no colours. */
export function Tag({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <span class={`tag tone-${tone}`}>
      <svg viewBox="0 0 10 10" aria-hidden="true">
        <path d={shapes[tone]} />
      </svg>
      {children}
    </span>
  );
}

const round = "M5 1.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7";
const shapes: Readonly<Record<Tone, string>> = {
  good: "M1.5 5.5 4 8l4.5-6",
  bad: "M2 2l6 6M8 2 2 8",
  warm: "M5 1.5 9 8.5H1z",
  plain: round,
  accent: round,
};
