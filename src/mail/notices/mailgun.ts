import type { Notice } from "../../domain/reports/notice.ts";
import { at, codeAt, instantAt, textAt } from "./json.ts";
import { noticeOf, type Verdict } from "./notice-of.ts";

export function mailgunNotices(body: unknown): Notice[] {
  const event = at(body, "event-data");
  const kind = kindOf(textAt(event, "event"), textAt(event, "severity"));
  if (kind === undefined) return [];
  const status = at(event, "delivery-status");
  const reason = textAt(event, "reason") ?? textAt(event, "reject", "reason");
  return [
    noticeOf({
      kind,
      verdict: textAt(event, "event") === "rejected" ? "block" : verdictOf(reason),
      recipient: textAt(event, "recipient"),
      code: codeAt(status, "code"),
      status: textAt(status, "enhanced-code"),
      // `message` is the reply of the recipient's server. If Mailgun did not contact that server, `description` has Mailgun's own reason.
      diagnostic: textAt(status, "message") ?? textAt(status, "description") ?? reason,
      remoteMta: textAt(status, "mx-host"),
      occurredAt: instantAt(event, "timestamp"),
      names: {
        returnPath: textAt(event, "envelope", "sender"),
        rfcMessageId: textAt(event, "message", "headers", "message-id"),
      },
    }),
  ];
}

function kindOf(event: string | undefined, severity: string | undefined): Notice["kind"] | undefined {
  if (event === "failed") return severity === "temporary" ? "delayed" : "bounced";
  if (event === "rejected") return "bounced";
  return event === "delivered" || event === "complained" || event === "unsubscribed" ? event : undefined;
}

function verdictOf(reason: string | undefined): Verdict {
  if (reason === "old") return "transient";
  return reason !== undefined && aboutUs.has(reason) ? "block" : "permanent";
}

/** Reasons of a failure from which one cannot tell whether the address exists: a block by its provider, an earlier opt-out or complaint. */
const aboutUs: ReadonlySet<string> = new Set(["espblock", "suppress-unsubscribe", "suppress-complaint"]);
