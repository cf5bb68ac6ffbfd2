import type { Notice } from "../../domain/reports/notice.ts";
import { instantAt, textAt } from "./json.ts";
import { noticeOf, type Verdict } from "./notice-of.ts";

/** Reads one event of a batch. SendGrid adds the `unique_args` of the mail, which have our mark, to the fields of the event. */
export function sendgridNotices(event: unknown): Notice[] {
  const name = textAt(event, "event") ?? "";
  if (!Object.hasOwn(kinds, name)) return [];
  return [
    noticeOf({
      kind: kinds[name as keyof typeof kinds],
      verdict: name === "dropped" ? dropVerdict(textAt(event, "reason")) : bounceVerdict(event),
      recipient: textAt(event, "email"),
      status: textAt(event, "status"),
      diagnostic: textAt(event, "reason") ?? textAt(event, "response"),
      occurredAt: instantAt(event, "timestamp"),
      names: {
        mark: textAt(event, "inboxd"),
        rfcMessageId: textAt(event, "smtp-id"),
        // The part after the first dot names a filter of SendGrid.
        providerMessageId: textAt(event, "sg_message_id")?.split(".", 1)[0],
      },
    }),
  ];
}

const kinds = {
  deferred: "delayed",
  delivered: "delivered",
  bounce: "bounced",
  dropped: "bounced",
  spamreport: "complained",
  unsubscribe: "unsubscribed",
  group_unsubscribe: "unsubscribed",
} as const;

function bounceVerdict(event: unknown): Verdict | undefined {
  if (textAt(event, "type") === "blocked") return "block";
  switch (textAt(event, "bounce_classification")) {
    case "Content":
    case "Reputation":
    case "Frequency or Volume Too High":
      return "block";
    case "Technical Failure":
    case "Technical":
    case "Mailbox Unavailable":
      return undefined;
    default:
      return "permanent";
  }
}

/**
 * The verdict on a mail that SendGrid did not try to send. Other reasons than a bounced or invalid address concern the content or the
 * recipient's wish.
 */
function dropVerdict(reason: string | undefined): Verdict {
  return reason === "Bounced Address" || reason === "Invalid" ? "permanent" : "block";
}
