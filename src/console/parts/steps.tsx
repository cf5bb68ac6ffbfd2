import { Time } from "./time.tsx";

export interface Step {
  name: string;
  /** Undefined where it has not come to it. */
  at?: string | undefined;
  state: "done" | "now" | "failed" | "open";
  note?: string | undefined;
}

const marks: Readonly<Record<Step["state"], string>> = {
  done: "M6 10.5 9 13.5l5-7",
  now: "M10 6v4.5l3 1.5",
  failed: "M7 7l6 6M13 7l-6 6",
  open: "",
};

const stateWords: Readonly<Record<Step["state"], string>> = {
  ...{ done: "done", now: "under way", failed: "failed", open: "not yet" },
};

/** The life of something, as a line of steps. */
export function Steps({ steps }: { steps: readonly Step[] }) {
  return (
    <ol class="steps">
      {steps.map(({ name, at, state, note }) => (
        <li key={name} class={`step is-${state}`}>
          <svg class="step-mark" viewBox="0 0 20 20" aria-hidden="true">
            <circle cx="10" cy="10" r="9" />
            <path d={marks[state]} />
          </svg>
          <span class="step-name">
            {name}
            <span class="unseen"> ({stateWords[state]})</span>
          </span>
          <span class="step-when">{at !== undefined && <Time at={at} />}</span>
          {note !== undefined && <span class="step-note">{note}</span>}
        </li>
      ))}
    </ol>
  );
}
