import type { Notice } from "../../domain/reports/notice.ts";
import { at, instantAt, textAt } from "./json.ts";
import { type NoticeFacts, noticeOf, type Verdict } from "./notice-of.ts";

export function postmarkNotices(record: unknown): Notice[] {
  const facts = factsOf(record);
  if (facts === undefined) return [];
  const names = { mark: textAt(record, "Metadata", "inboxd"), providerMessageId: textAt(record, "MessageID") };
  return [noticeOf({ ...facts, names })];
}

function factsOf(record: unknown): Omit<NoticeFacts, "names"> | undefined {
  switch (textAt(record, "RecordType")) {
    case "Delivery":
      return {
        kind: "delivered",
        recipient: textAt(record, "Recipient"),
        diagnostic: textAt(record, "Details"),
        occurredAt: instantAt(record, "DeliveredAt"),
      };
    case "SpamComplaint":
      return {
        kind: "complained",
        recipient: textAt(record, "Email"),
        occurredAt: instantAt(record, "BouncedAt"),
      };
    case "Bounce":
      return bounce(record);
    case "SubscriptionChange":
      return subscriptionChange(record);
    default:
      return undefined;
  }
}

function bounce(record: unknown): Omit<NoticeFacts, "names"> | undefined {
  const recipient = textAt(record, "Email");
  const occurredAt = instantAt(record, "BouncedAt");
  const type = textAt(record, "Type") ?? "";
  if (type === "Transient") return { kind: "delayed", recipient, occurredAt, diagnostic: textAt(record, "Details") };
  if (type === "SpamComplaint") return { kind: "complained", recipient, occurredAt };
  if (type === "Unsubscribe") return { kind: "unsubscribed", recipient, occurredAt };
  if (notAboutDelivery.has(type)) return undefined;
  const diagnostic = textAt(record, "Details") ?? textAt(record, "Description");
  return { kind: "bounced", verdict: verdictOf(type), recipient, occurredAt, diagnostic };
}

/** Types that are not failed deliveries: automatic replies, address changes, subscriptions, tests, errors of other Postmark features. */
const notAboutDelivery: ReadonlySet<string> = new Set([
  "AutoResponder",
  "AddressChange",
  "ChallengeVerification",
  "Subscribe",
  "Unconfirmed",
  "OpenRelayTest",
  "InboundError",
  "TemplateRenderingFailed",
]);

function verdictOf(type: string): Verdict | undefined {
  if (type === "HardBounce" || type === "BadEmailAddress") return "permanent";
  if (type === "SoftBounce" || type === "DnsError") return "transient";
  return aboutUs.has(type) ? "block" : undefined;
}

const aboutUs: ReadonlySet<string> = new Set([
  "SpamNotification",
  "VirusNotification",
  "Blocked",
  "SMTPApiError",
  "DMARCPolicy",
  "ManuallyDeactivated",
]);

/**
 * The facts about a recipient who unsubscribed. Undefined for other changes of the subscription: for a bounce or a complaint, Postmark also
 * sends a record of its own.
 */
function subscriptionChange(record: unknown): Omit<NoticeFacts, "names"> | undefined {
  const isWish =
    at(record, "SuppressSending") === true &&
    textAt(record, "SuppressionReason") === "ManualSuppression" &&
    textAt(record, "Origin") === "Recipient";
  if (!isWish) return undefined;
  return {
    kind: "unsubscribed",
    recipient: textAt(record, "Recipient"),
    occurredAt: instantAt(record, "ChangedAt"),
  };
}
