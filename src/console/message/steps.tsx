import type { Schemas } from "../api.ts";
import { Time } from "../parts/time.tsx";

type Message = Schemas["Message"];

/** The times of the events of a message; undefined for an event that is not in the log. */
interface LogTimes {
  sentAt: string | undefined;
  failedAt: string | undefined;
}

interface Step {
  name: string;
  /** Undefined before the step is reached. */
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

const stateTexts: Readonly<Record<Step["state"], string>> = {
  done: "done",
  now: "in progress",
  failed: "failed",
  open: "not yet",
};

/** The delivery of a message as a line of steps. */
export function Steps({ message, times }: { message: Message; times: LogTimes }) {
  return (
    <ol class="steps">
      {stepsOf(message, times).map(({ name, at, state, note }) => (
        <li key={name} class={`step is-${state}`}>
          <svg class="step-mark" viewBox="0 0 20 20" aria-hidden="true">
            <circle cx="10" cy="10" r="9" />
            <path d={marks[state]} />
          </svg>
          <span class="step-name">
            {name}
            <span class="unseen"> ({stateTexts[state]})</span>
          </span>
          <span class="step-when">{at !== undefined && <Time at={at} />}</span>
          {note !== undefined && <span class="step-note">{note}</span>}
        </li>
      ))}
    </ol>
  );
}

/**
 * The steps of a message. Outbound mail: accepted, relayed, and the result of the delivery. Inbound mail: received and
 * stored.
 */
function stepsOf(message: Message, { sentAt, failedAt }: LogTimes): Step[] {
  if (message.direction === "inbound") {
    return [
      { name: "Received", at: message.createdAt, state: "done", note: `from ${message.envelopeFrom || "<>"}` },
      { name: "Stored", at: message.createdAt, state: "done", note: `for ${message.toAddr}` },
    ];
  }
  const accepted: Step = { name: "Accepted", at: message.createdAt, state: "done", note: "stored in the outbox" };
  if (message.status === "pending")
    return [accepted, { name: "Relay", state: "now" }, { name: "Delivery", state: "open" }];
  if (message.status === "failed") {
    const note = message.failure === null ? undefined : failureText(message.failure);
    return [accepted, { name: "Failed", at: failedAt, state: "failed", note }];
  }
  return [
    accepted,
    { name: "Relayed", at: sentAt, state: "done", note: message.providerMessageId ?? undefined },
    lastStep(message),
  ];
}

function lastStep({ delivery }: Message): Step {
  if (!delivery) return { name: "Delivery", state: "open", note: "no report yet, which is normal" };
  const { state, at, diagnostic } = delivery;
  const note = diagnostic ?? undefined;
  const name = { delayed: "Delayed", delivered: "Delivered", bounced: "Bounced", complained: "Complaint" }[state];
  return { name, at, note, state: state === "delivered" ? "done" : state === "delayed" ? "now" : "failed" };
}

function failureText({ code, enhancedCode, message }: Schemas["Failure"]): string {
  return [code, enhancedCode, message].filter((part) => part !== null).join(" ");
}
