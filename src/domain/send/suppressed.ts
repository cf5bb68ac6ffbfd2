import { Refusal } from "../errors.ts";
import type { StoredFailure } from "../outcome.ts";

/** The reasons of suppressions. */
export const suppressionReasons = ["bounce", "complaint", "unsubscribe", "manual"] as const;
export type SuppressionReason = (typeof suppressionReasons)[number];

/** The most suppressions of an account. Those that the service adds by itself are added above this limit too. */
export const mostSuppressions = 1_000_000;

/** A suppression that applies to a send. */
export interface SuppressedAddress {
  id: string;
  address: string;
  reason: SuppressionReason;
  expiresAt: Date | null;
}

/** The form of an address in suppressions: lower case; tag and dots stay. The given address must be in the form that goes on the wire. */
export function suppressedForm(address: string): string {
  return address.toLowerCase();
}

/** Whether an address looks like a pattern for several addresses. Real addresses with `*` or `%` are rare. */
export function isPattern(address: string): boolean {
  return /[*%]/.test(address);
}

/**
 * The suppressed recipients of a send, by address as given. Throws a refusal if all recipients are suppressed. Otherwise the mail goes to
 * the others, and each suppressed one becomes a failed recipient.
 */
export function suppressedRecipients(
  recipients: readonly string[],
  suppressed: readonly SuppressedAddress[],
): ReadonlyMap<string, SuppressedAddress> {
  if (suppressed.length === 0) return none;
  const known = new Map(suppressed.map((one) => [one.address, one]));
  const out = new Map<string, SuppressedAddress>();
  for (const recipient of recipients) {
    const suppression = known.get(suppressedForm(recipient));
    if (suppression !== undefined) out.set(recipient, suppression);
  }
  const [first] = out.values();
  if (first !== undefined && recipients.every((recipient) => out.has(recipient))) throw allSuppressed(first, out);
  return out;
}

const none: ReadonlyMap<string, SuppressedAddress> = new Map();

function allSuppressed(first: SuppressedAddress, out: ReadonlyMap<string, SuppressedAddress>): Refusal {
  const whom = out.size === 1 ? "the recipient is" : "all recipients are";
  const recipients = Array.from(out, ([address, one]) => ({ address, ...detailsOf(one) }));
  return new Refusal("recipient_suppressed", `Cannot send: ${whom} suppressed (${first.reason})`, {
    extra: { ...detailsOf(first), ...(out.size > 1 && { recipients }) },
  });
}

function detailsOf({ id, reason, expiresAt }: SuppressedAddress) {
  return { suppression_id: id, reason, expires_at: expiresAt?.toISOString() ?? null };
}

/** The failure of a suppressed recipient. */
export function suppressedFailure(reason: SuppressionReason): StoredFailure {
  const message = `Not sent: the recipient is suppressed (${reason})`;
  return { code: null, enhancedCode: null, message, reason: "suppressed", type: "suppressed" };
}

/** The end of a suppression by a bounce; null for never. It has an end because large providers have refused good addresses for hours. */
export function endOfBounceSuppression(at: Date, days: number): Date | null {
  return days === 0 ? null : new Date(at.getTime() + days * dayMs);
}

const dayMs = 86_400_000;
