import type { Notice } from "../../domain/reports/notice.ts";
import { at, instantAt, listAt, onlyText, textAt } from "./json.ts";
import { noticeOf, type Verdict } from "./notice-of.ts";

/** Reads an event. It concerns a whole mail and lists the recipients of its header. If there are several, the one concerned is unknown. */
export function resendNotices(event: unknown): Notice[] {
  const kind = kindOf(textAt(event, "type"));
  if (kind === undefined) return [];
  const data = at(event, "data");
  const why = at(data, "bounce") ?? at(data, "failed") ?? at(data, "suppressed");
  const diagnoses = listAt(why, "diagnosticCode");
  return [
    noticeOf({
      kind,
      verdict: kind === "bounced" ? verdictOf(textAt(event, "type"), textAt(why, "type")) : undefined,
      recipient: onlyText(listAt(data, "to")) ?? textAt(data, "to"),
      isNamedByHeader: true,
      diagnostic:
        textAt(diagnoses[0]) ?? textAt(why, "diagnosticCode") ?? textAt(why, "message") ?? textAt(why, "reason"),
      occurredAt: instantAt(event, "created_at"),
      names: { providerMessageId: textAt(data, "email_id"), wireMessageId: textAt(data, "message_id") },
    }),
  ];
}

function kindOf(type: string | undefined): Notice["kind"] | undefined {
  return type !== undefined && Object.hasOwn(kinds, type) ? kinds[type as keyof typeof kinds] : undefined;
}

const kinds = {
  "email.delivery_delayed": "delayed",
  "email.delivered": "delivered",
  "email.bounced": "bounced",
  "email.failed": "bounced",
  "email.suppressed": "bounced",
  "email.complained": "complained",
} as const;

function verdictOf(event: string | undefined, type: string | undefined): Verdict | undefined {
  // For the other events Resend did not send the mail, because of a key without permission, a quota, or its own suppression list.
  if (event !== "email.bounced") return "block";
  return type === "Permanent" ? "permanent" : type === "Transient" ? "transient" : undefined;
}
