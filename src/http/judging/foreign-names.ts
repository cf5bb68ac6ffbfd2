import { plainName } from "../../primitives/nearest-name.ts";

/**
 * The hint for a field that has another service's name for one of `names`, or `undefined`. Case, dashes and underscores are ignored. Such a
 * name is never accepted: the two fields seldom mean the same in all cases.
 */
export function hintForForeignName(unknown: string, names: readonly string[]): string | undefined {
  if (unknown.length > longestName) return undefined;
  for (const { ours, hint } of rowsOf.get(plainName(unknown)) ?? []) {
    const name = names.find((each) => plainName(each) === ours);
    if (name !== undefined) return hint(name);
  }
  return undefined;
}

const longestName = 64;

/**
 * A name of ours, the names that other services use for it, and the hint, which is "did you mean …?" by default. A row
 * is skipped if the schema lacks our name.
 */
type Row = readonly [ours: string, theirs: readonly string[], hint?: (name: string) => string];

const isMeant = (name: string) => `did you mean "${name}"?`;
const isFalse = (name: string) => `did you mean "${name}=false"?`;

/**
 * The names in Resend, SendGrid, Postmark, Mailgun, Amazon SES, AgentMail, Nylas, and the Gmail and Microsoft Graph
 * APIs. The first row that fits wins.
 */
const rows: readonly Row[] = [
  ["body", ["text", "textBody", "bodyText", "textContent", "plainText", "plain", "content", "message"]],
  ["bodyHtml", ["html", "htmlBody", "htmlContent"]],
  ["bodyFormat", ["format"]],
  [
    "fromName",
    ["from", "sender", "fromEmail", "mailFrom"],
    () => 'the sender is the inbox in the path; "fromName" is the name beside its address',
  ],
  ["fromName", ["senderName", "displayName"]],
  ["to", ["recipient", "recipients", "toRecipients", "toAddresses", "toEmail"]],
  ["cc", ["ccRecipients", "ccAddresses"]],
  ["bcc", ["bccRecipients", "bccAddresses"]],
  ["replyTo", ["replyToAddresses", "replyToEmail", "replyToList"]],
  ["replyToMessageId", ["inReplyTo", "replyToId"]],
  ["readUpToMessageId", ["idempotencyKey"], () => 'it is given in the header "Idempotency-Key"'],
  ["forwardOf", ["forward", "forwardMessageId"]],
  ["headers", ["customHeaders", "internetMessageHeaders"]],
  ["metadata", ["tags", "customArgs", "customVariables"]],
  ["attachments", ["files"]],
  ["filename", ["name"]],
  ["content", ["data", "base64", "contentBytes"]],
  ["contentType", ["type", "mimeType"]],
  ["contentId", ["cid"]],
  ["is_read", ["unread", "isUnread", "unseen"], isFalse],
  ["is_read", ["read", "seen"]],
  ["thread_id", ["conversationId", "conversation"]],
  ["limit", ["perPage", "pageSize", "maxResults", "first", "count", "top"]],
  ["offset", ["skip"]],
  ["cursor", ["pageToken", "nextToken", "nextCursor", "startingAfter"]],
  ["q", ["query", "search"]],
  ["since", ["after", "startDate", "receivedAfter"]],
  ["until", ["before", "endDate", "receivedBefore"]],
  ["externalId", ["clientId", "reference"]],
  ["username", ["localPart", "prefix"]],
  ["mailboxName", ["name", "displayName"]],
  ["address", ["email", "emailAddress", "recipient"]],
  ["ttlSeconds", ["expiresIn", "ttl"]],
  ["url", ["endpoint", "endpointUrl", "webhookUrl"]],
  ["eventTypes", ["events", "triggers", "enabledEvents"]],
  ["types", ["events", "eventTypes"]],
];

/** The rows by each foreign name in its plain form. A name may be in several rows. */
const rowsOf = new Map<string, { ours: string; hint: (name: string) => string }[]>();
for (const [ours, theirs, hint = isMeant] of rows) {
  for (const name of theirs.map(plainName)) {
    rowsOf.set(name, [...(rowsOf.get(name) ?? []), { ours: plainName(ours), hint }]);
  }
}
