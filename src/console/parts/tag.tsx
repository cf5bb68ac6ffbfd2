import type { ComponentChildren } from "preact";

export type Tone = "good" | "bad" | "warm" | "plain" | "accent";

/** A label for a state. Its shape shows the same as its colour, for people who see no colours. */
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

/** The status of a mail, a delivery or an item of the outbox. */
export function StatusTag({ status }: { status: string }) {
  return <Tag tone={tones[status] ?? "plain"}>{statusTexts[status] ?? status}</Tag>;
}

const statusTexts: Readonly<Record<string, string>> = { none: "not delivered", running: "in progress" };

const tones: Readonly<Record<string, Tone>> = {
  received: "accent",
  pending: "warm",
  sent: "good",
  failed: "bad",
  delivered: "good",
  bounced: "bad",
  complained: "bad",
  delayed: "warm",
  ready: "accent",
  running: "accent",
  waiting: "warm",
};

const round = "M5 1.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7";
const shapes: Readonly<Record<Tone, string>> = {
  good: "M1.5 5.5 4 8l4.5-6",
  bad: "M2 2l6 6M8 2 2 8",
  warm: "M5 1.5 9 8.5H1z",
  plain: round,
  accent: round,
};
