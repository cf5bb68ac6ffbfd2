import type { Notice } from "../../domain/reports/notice.ts";
import { at, instantAt, listAt, onlyText, textAt } from "./json.ts";
import { noticeOf, type Told, type Verdict } from "./notice-of.ts";

/** What SES publishes to its topic: notifications and, with other names for the same, events. */
export function sesNotices(published: unknown): Notice[] {
  const mail = at(published, "mail");
  const names = {
    returnPath: textAt(mail, "source"),
    rfcMessageId: messageIdOf(mail),
    providerMessageId: textAt(mail, "messageId"),
  };
  return toldBy(published).map((told) => noticeOf({ ...told, names }));
}

function toldBy(published: unknown): Omit<Told, "names">[] {
  switch (textAt(published, "notificationType") ?? textAt(published, "eventType")) {
    case "Bounce":
      return bounces(at(published, "bounce"));
    case "Complaint":
      return complaints(at(published, "complaint"));
    case "Delivery":
      return deliveries(at(published, "delivery"));
    case "DeliveryDelay":
      return delays(at(published, "deliveryDelay"));
    case "Reject":
      return [{ kind: "bounced", verdict: "block", diagnostic: textAt(published, "reject", "reason") }];
    default:
      return [];
  }
}

function bounces(bounce: unknown): Omit<Told, "names">[] {
  return listAt(bounce, "bouncedRecipients").map((recipient) => ({
    kind: "bounced",
    verdict: verdictOf(textAt(bounce, "bounceType"), textAt(bounce, "bounceSubType")),
    recipient: textAt(recipient, "emailAddress"),
    status: textAt(recipient, "status"),
    diagnostic: textAt(recipient, "diagnosticCode"),
    reportingMta: textAt(bounce, "reportingMTA"),
    occurredAt: instantAt(bounce, "timestamp"),
  }));
}

function verdictOf(type: string | undefined, subType: string | undefined): Verdict | undefined {
  if (subType !== undefined && aboutUs.has(subType)) return "block";
  return type === "Permanent" ? "permanent" : type === "Transient" ? "transient" : undefined;
}

const aboutUs: ReadonlySet<string> = new Set(["MessageTooLarge", "ContentRejected", "AttachmentRejected"]);

/** Most networks black out who complained: then SES names all at that network who may have, which is nobody in particular. */
function complaints(complaint: unknown): Omit<Told, "names">[] {
  if (textAt(complaint, "complaintFeedbackType") === "not-spam") return [];
  const recipients = listAt(complaint, "complainedRecipients").map((recipient) => at(recipient, "emailAddress"));
  return [{ kind: "complained", recipient: onlyText(recipients), occurredAt: instantAt(complaint, "timestamp") }];
}

function deliveries(delivery: unknown): Omit<Told, "names">[] {
  return listAt(delivery, "recipients").map((recipient) => ({
    kind: "delivered",
    recipient: textAt(recipient),
    diagnostic: textAt(delivery, "smtpResponse"),
    reportingMta: textAt(delivery, "reportingMTA"),
    occurredAt: instantAt(delivery, "timestamp"),
  }));
}

function delays(delay: unknown): Omit<Told, "names">[] {
  return listAt(delay, "delayedRecipients").map((recipient) => ({
    kind: "delayed",
    recipient: textAt(recipient, "emailAddress"),
    status: textAt(recipient, "status"),
    diagnostic: textAt(recipient, "diagnosticCode"),
    reportingMta: textAt(delay, "reportingMTA"),
    occurredAt: instantAt(delay, "timestamp"),
  }));
}

/** Of the header, which has ours; what SES calls a Message-ID elsewhere is its own. */
function messageIdOf(mail: unknown): string | undefined {
  const field = listAt(mail, "headers").find((header) => textAt(header, "name")?.toLowerCase() === "message-id");
  return textAt(field, "value");
}
