import { href } from "../address.ts";
import type { Schemas } from "../api.ts";
import { looks } from "../events/event-look.ts";
import { formatFullTime } from "../format.ts";
import { Time } from "../parts/time.tsx";

type Message = Schemas["Message"];
type Entry = Schemas["MessageHistory"]["data"][number];

interface Step {
  name: string;
  state: keyof typeof marks;
  note?: string | undefined;
  at?: string;
  eventId?: string | null;
}

const marks = {
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

/** The history of a message as a line in time. It ends with the steps that are still to come. */
export function History({ message, entries }: { message: Message; entries: readonly Entry[] }) {
  const steps: Step[] = [
    ...entries.map((entry) => ({ ...stepOf(entry), at: entry.at, eventId: entry.eventId })),
    ...toCome(message),
  ];
  return (
    <ol class="steps">
      {steps.map(({ name, at, state, note, eventId }, index) => (
        <li key={index} class={`step is-${state}`}>
          <svg class="step-mark" viewBox="0 0 20 20" aria-hidden="true">
            <circle cx="10" cy="10" r="9" />
            <path d={marks[state]} />
          </svg>
          <span class="step-name">
            {eventId ? <a href={href(`events/${eventId}`)}>{name}</a> : name}
            <span class="unseen"> ({stateTexts[state]})</span>
          </span>
          <span class="step-when">{at !== undefined && <Time at={at} />}</span>
          {note && <span class="step-note">{note}</span>}
        </li>
      ))}
    </ol>
  );
}

function stepOf(entry: Entry): Step {
  switch (entry.what) {
    case "received":
      return { name: "Received", state: "done", note: arrivalOf(entry) };
    case "parsed_later":
      return { name: "Parsed", state: "done" };
    case "drafted":
      return { name: "Written", state: "done", note: "as a draft" };
    case "scheduled":
      return { name: "Scheduled", state: "done", note: `for ${formatFullTime(new Date(entry.sendAt))}` };
    case "approval_requested":
      return { name: "Approval requested", state: "done", note: joined(entry.newRecipients, ", ") };
    case "approved":
    case "rejected": {
      const { what, by, reason } = entry;
      const note = joined([by?.address ?? by?.key ?? null, reason]);
      return what === "approved"
        ? { name: "Approved", state: "done", note }
        : { name: "Rejected", state: "failed", note };
    }
    case "accepted":
      return { name: "Accepted", state: "done", note: "stored in the outbox" };
    case "attempted": {
      const { attempt, outcome, recipient, host, tls } = entry;
      const state = ({ sent: "done", put_off: "now", failed: "failed" } as const)[outcome];
      return { name: `Attempt ${attempt}`, state, note: joined([recipient, host, tls, wordsOf(entry)]) };
    }
    case "sent":
      return { name: "Sent", state: "done" };
    case "failed":
      return {
        name: entry.failure.reason === "canceled" ? "Canceled" : "Failed",
        state: "failed",
        note: wordsOf(entry.failure),
      };
    case "told": {
      const { event, attempt, status, error } = entry;
      const note = joined([event, `attempt ${attempt}`, error ?? String(status)]);
      return { name: "Webhook", state: error === null ? "done" : "failed", note };
    }
    case "read":
    case "unread":
      return { name: entry.what === "read" ? "Read" : "Unread", state: "done", note: entry.by?.name ?? undefined };
    default: {
      const state = ({ delivered: "done", delayed: "now", bounced: "failed", complained: "failed" } as const)[
        entry.what
      ];
      return { name: looks[`message.${entry.what}`].name, state, note: joined([entry.recipient, entry.diagnostic]) };
    }
  }
}

function arrivalOf({ envelope, clientAddress, verdict }: Extract<Entry, { what: "received" }>): string {
  const way = `from ${envelope.from || "<>"} for ${envelope.to}`;
  return joined([way, clientAddress && `by ${clientAddress}`, verdict && `verdict ${verdict}`]);
}

function toCome({ direction, status, state, delivery }: Message): Step[] {
  if (direction === "inbound" || status === "failed") return [];
  if (state !== null)
    return [{ name: "Waiting", state: "now", note: state === "scheduled" ? "for its time" : "for a person" }];
  if (status === "pending") return [{ name: "Waiting", state: "now", note: "for the next attempt" }];
  return delivery ? [] : [{ name: "Delivery", state: "open", note: "no report yet, which is normal" }];
}

function wordsOf({ code, enhancedCode, message }: Pick<Schemas["Failure"], "code" | "enhancedCode" | "message">) {
  return joined([code, enhancedCode, message], " ");
}

function joined(parts: readonly (string | number | null)[], by = " · "): string {
  return parts.filter((part) => part !== null && part !== "").join(by);
}
