import type { InboxdEvent } from "../api.ts";
import type { IconName } from "../parts/icon.tsx";
import type { Tone } from "../parts/tag.tsx";

/** An event as this page reads it: also of kinds that this version of the client does not know. */
export interface AnyEvent {
  event: string;
  event_id: string;
  occurred_at: string;
  inbox_id: string | null;
  thread_id?: string | null;
  message?: { id: string; from?: string; from_name?: string | null; to?: string; subject?: string };
  inbox?: { address: string };
  webhook?: { id: string; url: string; reason: string };
  suppression?: { address: string; reason: string };
}

export const anyEvent = (event: InboxdEvent): AnyEvent => event as AnyEvent;

interface Look {
  icon: IconName;
  tone: Tone;
  words: string;
}

const looks: Readonly<Record<InboxdEvent["event"], Look>> = {
  "message.received": { icon: "in", tone: "accent", words: "Received" },
  "message.sent": { icon: "out", tone: "good", words: "Sent" },
  "message.failed": { icon: "out", tone: "bad", words: "Failed" },
  "message.delivered": { icon: "done", tone: "good", words: "Delivered" },
  "message.delayed": { icon: "outbox", tone: "warm", words: "Delayed" },
  "message.bounced": { icon: "close", tone: "bad", words: "Bounced" },
  "message.complained": { icon: "suppressions", tone: "bad", words: "Complaint" },
  "suppression.added": { icon: "suppressions", tone: "warm", words: "Suppressed" },
  "inbox.created": { icon: "inboxes", tone: "plain", words: "Inbox made" },
  "inbox.deleted": { icon: "remove", tone: "plain", words: "Inbox deleted" },
  "webhook.disabled": { icon: "webhooks", tone: "bad", words: "Webhook disabled" },
};

export function lookOf(event: string): Look {
  return (
    (looks as Readonly<Record<string, Look | undefined>>)[event] ?? { icon: "events", tone: "plain", words: event }
  );
}

/** What it is about, in a line. */
export function subjectOf(event: AnyEvent): string {
  const { message, inbox, webhook, suppression } = event;
  if (message) {
    const isIn = event.event === "message.received";
    const who = isIn ? (message.from_name ?? message.from ?? "") : `to ${message.to ?? ""}`;
    return `${message.subject || "(no subject)"} · ${who}`;
  }
  return inbox?.address ?? webhook?.url ?? suppression?.address ?? "";
}
