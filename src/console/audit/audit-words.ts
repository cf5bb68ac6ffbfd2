import type { Schemas } from "../api.ts";

type Entry = Schemas["AuditEntry"];

/** Each action in words. */
export const actions: Readonly<Record<Entry["action"], string>> = {
  "account.created": "Created the account",
  "account.changed": "Changed the account",
  "account.deleted": "Deleted the account",
  "account.imported": "Imported the account from another service",
  "account.suspended": "Suspended the account",
  "account.resumed": "Resumed the account",
  "console.signed_in": "Signed in to the console",
  "console.signed_out": "Signed out of the console",
  "domain.added": "Added a domain",
  "domain.changed": "Changed a domain",
  "domain.failed": "A domain failed",
  "domain.failing": "A domain began to fail",
  "domain.key_rotated": "Rotated the DKIM key of a domain",
  "domain.removed": "Removed a domain",
  "domain.verified": "Verified a domain",
  "domain.verified_by_operator": "Verified a domain without DNS",
  "draft.approved": "Approved a mail",
  "draft.link_made": "Made a link to approve a mail",
  "draft.rejected": "Rejected a mail",
  "event.redelivered": "Delivered an event again",
  "export.read": "Exported mail or the account",
  "grant.ended": "Ended the access of a program",
  "grant.made": "Gave a program access",
  "inbox.alias_added": "Gave an inbox an alias",
  "inbox.alias_removed": "Took an alias from an inbox",
  "inbox.changed": "Changed an inbox",
  "inbox.created": "Created an inbox",
  "inbox.deleted": "Deleted an inbox",
  "inbox.erased": "Erased the mail of a deleted inbox",
  "key.changed": "Changed a key",
  "key.created": "Created a key",
  "key.revoked": "Revoked a key",
  "key.rotated": "Rotated a key",
  "message.removed": "Deleted a message",
  "operator.acted": "Acted as the account",
  "operator.created": "Created an operator's key",
  "operator.revoked": "Revoked an operator's key",
  "outbox.canceled": "Canceled an item of the outbox",
  "outbox.retried": "Retried an item of the outbox",
  "retention.changed": "Changed how long mail is kept",
  "quarantine.deleted": "Deleted a quarantined mail",
  "quarantine.released": "Released a quarantined mail",
  "policy.changed": "Changed a policy",
  "rule.added": "Added a rule",
  "rule.removed": "Removed a rule",
  "suppression.added": "Suppressed an address",
  "suppression.removed": "Removed a suppression",
  "thread.filed": "Filed a thread",
  "thread.marked": "Marked a thread",
  "thread.removed": "Deleted a thread",
  "token.made": "Made a token",
  "webhook.changed": "Changed a webhook",
  "webhook.created": "Created a webhook",
  "webhook.deleted": "Deleted a webhook",
  "webhook.recovered": "Delivered again what a webhook missed",
  "webhook.secret_rotated": "Made a new secret for a webhook",
  "webhook.tested": "Tested a webhook",
};

const actorTypes = {
  key: "a key",
  operator: "an operator",
  cli: "the command line",
  service: "the service",
  approver: "an approver",
} as const satisfies Record<Entry["actor"]["type"], string>;

/** The actors that the filter offers: a type has no id of its own. */
export const actorChoices = Object.entries(actorTypes).map(([type, words]) => [type, `By ${words}`] as const);

export function actorName({ type, name, id }: Entry["actor"]): string {
  return name ?? (type === "key" || type === "approver" ? id : null) ?? actorTypes[type];
}

const screens: Partial<Record<Entry["target"]["type"], string>> = {
  inbox: "inboxes",
  thread: "threads",
  message: "messages",
  event: "events",
  webhook: "webhooks",
  domain: "domains",
};

/** The path of the screen that shows a target; undefined if it has none. */
export function screenOf({ type, id }: Entry["target"]): string | undefined {
  const screen = screens[type];
  return screen && `${screen}/${id}`;
}

/** The details as words: "external id tenant-7, fields url, event types". */
export function detailsText(details: Entry["details"]): string {
  return Object.entries(details)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${inWords(name)} ${valueText(value)}`)
    .join(", ");
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.map((item) => (typeof item === "string" ? item : valueText(item))).join(" ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The name of a field in words: `externalId` is "external id". */
function inWords(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replaceAll("_", " ");
}
