import { Refusal } from "./errors.ts";

/**
 * The operations with idempotency keys. The last two have keys that the service makes: a dispatch has the id of its draft, and a change of
 * a draft its id and version, so that neither happens twice.
 */
export const keyedOperations = [
  "create_inbox",
  "send",
  "create_webhook",
  "create_draft",
  "change_draft",
  "dispatch",
] as const;

/** The use of an idempotency key. */
export interface KeyUse {
  accountId: string;
  operation: (typeof keyedOperations)[number];
  key: string;
  fingerprint: string;
  /** The id of the inbox, message, draft or endpoint that the first request created. */
  subjectId: string;
  createdAt: Date;
}

/** The time for which a key is kept. */
export const idempotencyKeptMs = 24 * 3_600_000;

/** The instant at which a key that expires now was used. Uses at this instant or before have expired. */
export function expiryOfKeys(now: Date): Date {
  return new Date(now.getTime() - idempotencyKeptMs);
}

const visibleAscii = /^[\x21-\x7e]{1,255}$/;

/** The value of an `Idempotency-Key` field, bare or as a structured-field string (RFC 8941 §3.3.3). */
export function parseIdempotencyKey(field: string): string {
  const key = unquoted(field.trim());
  if (key === undefined || !visibleAscii.test(key)) {
    throw new Refusal(
      "invalid_idempotency_key",
      'Cannot use "Idempotency-Key": it must be 1 to 255 visible ASCII characters',
    );
  }
  return key;
}

export function missingIdempotencyKey(): Refusal {
  return new Refusal("missing_idempotency_key", 'Cannot send: the header "Idempotency-Key" is required');
}

export function reusedIdempotencyKey(): Refusal {
  return new Refusal("idempotency_key_reused", 'Cannot use "Idempotency-Key": it was used for another request');
}

/** A value as JSON that is the same for equal values: keys are sorted, and keys with an undefined value are left out. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(inOrder(value)) ?? "null";
}

export function fingerprintOf(pathId: string, body: unknown): string {
  return new Bun.CryptoHasher("sha256").update(`${pathId}\n`).update(canonicalJson(body)).digest("hex");
}

function inOrder(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(inOrder);
  const fields = value as Record<string, unknown>;
  const given = Object.keys(fields).filter((name) => fields[name] !== undefined);
  return Object.fromEntries(given.sort().map((name) => [name, inOrder(fields[name])]));
}

function unquoted(text: string): string | undefined {
  if (!text.startsWith('"')) return text;
  if (text.length < 2 || !text.endsWith('"')) return undefined;
  const inner = text.slice(1, -1);
  // In a structured-field string only `"` and `\` are escaped, and an unescaped quote ends it.
  return /^(?:[^"\\]|\\["\\])*$/.test(inner) ? inner.replace(/\\(["\\])/g, "$1") : undefined;
}
