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
  const [type, subType] = [textAt(bounce, "bounceType"), textAt(bounce, "bounceSubType")];
  const recipients = listAt(bounce, "bouncedRecipients");
  // Somebody who is out of the office is told of so: a server that refuses mail says why.
  const mayBeAnswer = type === "Transient" && subType === "General";
  const bounced = mayBeAnswer ? recipients.filter(isReported) : recipients;
  return bounced.map((recipient) => ({
    kind: "bounced",
    verdict: verdictOf(type, subType),
    recipient: textAt(recipient, "emailAddress"),
    status: textAt(recipient, "status"),
    diagnostic: textAt(recipient, "diagnosticCode"),
    reportingMta: textAt(bounce, "reportingMTA"),
    occurredAt: instantAt(bounce, "timestamp"),
  }));
}

function isReported(recipient: unknown): boolean {
  return textAt(recipient, "status") !== undefined || textAt(recipient, "diagnosticCode") !== undefined;
}

function verdictOf(type: string | undefined, subType: string | undefined): Verdict | undefined {
  if (subType !== undefined && aboutUs.has(subType)) return "block";
  return type === "Permanent" ? "permanent" : type === "Transient" ? "transient" : undefined;
}

const aboutUs: ReadonlySet<string> = new Set([
  ...["MessageTooLarge", "ContentRejected", "AttachmentRejected", "UnsubscribedRecipient"],
]);

/** Most networks black out who complained: then SES names all at that network who may have, which is nobody in particular. */
function complaints(complaint: unknown): Omit<Told, "names">[] {
  if (textAt(complaint, "complaintFeedbackType") === "not-spam") return [];
  const recipients = listAt(complaint, "complainedRecipients").map((recipient) => at(recipient, "emailAddress"));
  const told = { recipient: onlyText(recipients), occurredAt: instantAt(complaint, "timestamp") };
  // An earlier complaint kept this mail from being sent at all.
  const heldBackBy = textAt(complaint, "complaintSubType");
  if (heldBackBy !== undefined) return [{ kind: "bounced", verdict: "block", diagnostic: heldBackBy, ...told }];
  return [{ kind: "complained", ...told }];
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
