import type { Notice } from "../../domain/reports/notice.ts";
import { at, instantAt, listAt, onlyText, textAt } from "./json.ts";
import { type NoticeFacts, noticeOf, type Verdict } from "./notice-of.ts";

/** Reads a message of an SES topic: a notification, or an event, which has other names for the same fields. */
export function sesNotices(published: unknown): Notice[] {
  const mail = at(published, "mail");
  const names = {
    returnPath: textAt(mail, "source"),
    rfcMessageId: messageIdOf(mail),
    providerMessageId: textAt(mail, "messageId"),
  };
  return factsOf(published).map((facts) => noticeOf({ ...facts, names }));
}

function factsOf(published: unknown): Omit<NoticeFacts, "names">[] {
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

function bounces(bounce: unknown): Omit<NoticeFacts, "names">[] {
  const [type, subType] = [textAt(bounce, "bounceType"), textAt(bounce, "bounceSubType")];
  const recipients = listAt(bounce, "bouncedRecipients");
  // SES also reports out-of-office replies as bounces of this type. Only a real refusal has a status or a diagnostic code.
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
  "MessageTooLarge",
  "ContentRejected",
  "AttachmentRejected",
  "UnsubscribedRecipient",
]);

/** Most networks hide the complaining recipient. SES then lists all recipients at that network, so only a list with one entry names it. */
function complaints(complaint: unknown): Omit<NoticeFacts, "names">[] {
  if (textAt(complaint, "complaintFeedbackType") === "not-spam") return [];
  const recipients = listAt(complaint, "complainedRecipients").map((recipient) => at(recipient, "emailAddress"));
  const common = { recipient: onlyText(recipients), occurredAt: instantAt(complaint, "timestamp") };
  // A subtype means that SES did not send this mail, because of an earlier complaint.
  const subType = textAt(complaint, "complaintSubType");
  if (subType !== undefined) return [{ kind: "bounced", verdict: "block", diagnostic: subType, ...common }];
  return [{ kind: "complained", ...common }];
}

function deliveries(delivery: unknown): Omit<NoticeFacts, "names">[] {
  return listAt(delivery, "recipients").map((recipient) => ({
    kind: "delivered",
    recipient: textAt(recipient),
    diagnostic: textAt(delivery, "smtpResponse"),
    reportingMta: textAt(delivery, "reportingMTA"),
    occurredAt: instantAt(delivery, "timestamp"),
  }));
}

function delays(delay: unknown): Omit<NoticeFacts, "names">[] {
  return listAt(delay, "delayedRecipients").map((recipient) => ({
    kind: "delayed",
    recipient: textAt(recipient, "emailAddress"),
    status: textAt(recipient, "status"),
    diagnostic: textAt(recipient, "diagnosticCode"),
    reportingMta: textAt(delay, "reportingMTA"),
    occurredAt: instantAt(delay, "timestamp"),
  }));
}

/** Our Message-ID, from the header of the mail. The field `messageId` is the id of SES. */
function messageIdOf(mail: unknown): string | undefined {
  const field = listAt(mail, "headers").find((header) => textAt(header, "name")?.toLowerCase() === "message-id");
  return textAt(field, "value");
}
