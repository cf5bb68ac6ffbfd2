import { Refusal } from "../errors.ts";
import type { StoredFailure } from "../outcome.ts";

/** Why nothing is sent to an address. */
export const suppressionReasons = ["bounce", "complaint", "unsubscribe", "manual"] as const;
export type SuppressionReason = (typeof suppressionReasons)[number];

/** So many an account may have; what the service adds by itself is added all the same. */
export const mostSuppressions = 1_000_000;

/** What is known of one that is in force for a send. */
export interface SuppressedAddress {
  id: string;
  address: string;
  reason: SuppressionReason;
  expiresAt: Date | null;
}

/** An address as suppressions know it: a tag and dots are part of it, and case is not. It is in the form of the wire already. */
export function suppressedForm(address: string): string {
  return address.toLowerCase();
}

/** Whether an address that somebody wants to suppress is meant for several: a mailbox of such a name is rare, a pattern is not. */
export function isPattern(address: string): boolean {
  return /[*%]/.test(address);
}

/**
 * Who of these is out, by his address as it was given. Where all are, the send is refused; else it goes to the others, and who is
 * out is a failed recipient of it.
 */
export function suppressedRecipients(
  recipients: readonly string[],
  suppressed: readonly SuppressedAddress[],
): ReadonlyMap<string, SuppressedAddress> {
  if (suppressed.length === 0) return nobody;
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

const nobody: ReadonlyMap<string, SuppressedAddress> = new Map();

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

/** What becomes of a copy of a mail whose recipient is suppressed. */
export function suppressedFailure(reason: SuppressionReason): StoredFailure {
  const message = `Not sent: the recipient is suppressed (${reason})`;
  return { code: null, enhancedCode: null, message, reason: "suppressed", type: "suppressed" };
}

/** When a suppression ends that a bounce makes; null: never. Large providers have called good addresses unknown for hours. */
export function endOfBounceSuppression(at: Date, days: number): Date | null {
  return days === 0 ? null : new Date(at.getTime() + days * dayMs);
}

const dayMs = 86_400_000;
