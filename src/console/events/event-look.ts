import type { InboxdEvent } from "../api.ts";
import type { IconName } from "../parts/icon.tsx";
import type { Tone } from "../parts/tag.tsx";

interface Look {
  icon: IconName;
  tone: Tone;
  name: string;
}

/** The icon, the colour and the name of each type of event. */
export const looks: Readonly<Record<InboxdEvent["event"], Look>> = {
  "message.received": { icon: "in", tone: "accent", name: "Received" },
  "message.sent": { icon: "out", tone: "good", name: "Sent" },
  "message.failed": { icon: "out", tone: "bad", name: "Failed" },
  "message.delivered": { icon: "done", tone: "good", name: "Delivered" },
  "message.delayed": { icon: "outbox", tone: "warm", name: "Delayed" },
  "message.bounced": { icon: "close", tone: "bad", name: "Bounced" },
  "message.complained": { icon: "suppressions", tone: "bad", name: "Complaint" },
  "message.blocked": { icon: "quarantine", tone: "warm", name: "Blocked" },
  "suppression.added": { icon: "suppressions", tone: "warm", name: "Suppressed" },
  "inbox.created": { icon: "inboxes", tone: "plain", name: "Inbox created" },
  "inbox.deleted": { icon: "remove", tone: "plain", name: "Inbox deleted" },
  "webhook.disabled": { icon: "webhooks", tone: "bad", name: "Webhook disabled" },
  "domain.verified": { icon: "done", tone: "good", name: "Domain verified" },
  "domain.failing": { icon: "inboxes", tone: "warm", name: "Domain failing" },
  "domain.failed": { icon: "close", tone: "bad", name: "Domain failed" },
  "approval.requested": { icon: "outbox", tone: "warm", name: "Approval requested" },
  "approval.resolved": { icon: "done", tone: "plain", name: "Approval resolved" },
};

/**
 * One line about what an event concerns: the subject and correspondent of a mail, the address of an inbox, the URL of a
 * webhook, the name of a domain, or the decision about a mail.
 */
export function subjectOf(event: InboxdEvent): string {
  if ("message" in event) {
    const { message } = event;
    const correspondent = "from" in message ? (message.from_name ?? message.from) : `to ${message.to}`;
    return `${message.subject || "(no subject)"} · ${correspondent}`;
  }
  if ("quarantined" in event) {
    const { subject, from } = event.quarantined;
    return `${subject || "(no subject)"} · ${from}`;
  }
  if ("domain" in event) return event.domain.domain;
  if ("draft" in event) {
    const { draft } = event;
    return "subject" in draft
      ? `${draft.subject || "(no subject)"} · to ${draft.to.join(", ")}`
      : (draft.decision ?? "");
  }
  return "inbox" in event ? event.inbox.address : event.webhook.url;
}
