import { createHash, timingSafeEqual } from "node:crypto";
import { boundedMemory } from "../primitives/memory.ts";

/**
 * Signatures of webhooks (in two schemes), attachment links, access tokens and links for approvals (contract §9, §10.1, §10.2, §18.1). Keys
 * are imported once and kept, since an import costs more than a signature.
 */
export interface WebhookSigner {
  /** Lower-case hex over `<timestamp>.<body>`. The key is the UTF-8 bytes of the whole secret. */
  xSignature(timestamp: number, body: SignedBody): Promise<string>;
  /** `v1,<base64>` over `<id>.<timestamp>.<body>`. The key is the bytes encoded after `whsec_` (Standard Webhooks). */
  standardSignature(id: string, timestamp: number, body: SignedBody): Promise<string>;
}

/** A body as it is sent: a text in UTF-8, or bytes. */
type SignedBody = string | Uint8Array;

export interface SignedDelivery {
  eventId: string;
  sentAt: Date;
  body: SignedBody;
  /** The header fields of the endpoint. None of them has a name of the others. */
  added?: readonly { name: string; value: string }[] | undefined;
  signer: WebhookSigner;
  /** The signer of the replaced secret, during the overlap of a rotation. */
  replacedSigner?: WebhookSigner | undefined;
}

/**
 * The signed headers of a delivery. During the overlap of a rotation, `webhook-signature` has the new and the old signature, as Standard
 * Webhooks allows. `X-Signature` has room for only one: the old one, because the receiver may not have the new secret yet.
 */
export async function webhookHeaders(delivery: SignedDelivery): Promise<Record<string, string>> {
  const { eventId, body, signer, replacedSigner } = delivery;
  const timestamp = Math.floor(delivery.sentAt.getTime() / 1000);
  const [xSignature, newer, older] = await Promise.all([
    (replacedSigner ?? signer).xSignature(timestamp, body),
    signer.standardSignature(eventId, timestamp, body),
    replacedSigner?.standardSignature(eventId, timestamp, body),
  ]);
  return {
    ...Object.fromEntries((delivery.added ?? []).map(({ name, value }) => [name, value])),
    "content-type": "application/json",
    "x-timestamp": String(timestamp),
    "x-signature": xSignature,
    "x-event-id": eventId,
    "webhook-id": eventId,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": older === undefined ? newer : `${newer} ${older}`,
  };
}

/** The signer of one secret. It throws for a secret with a fault; callers check `webhookSecretFault` first. */
export async function webhookSigner(secret: string): Promise<WebhookSigner> {
  const fault = webhookSecretFault(secret);
  if (fault !== undefined) throw new Error(`Cannot sign webhooks: the secret ${fault}`);
  const whole = await hmacKey(utf8.encode(secret));
  const decoded = await hmacKey(standardKeyBytes(secret) ?? utf8.encode(secret));
  return {
    xSignature: async (timestamp, body) => (await hmac(whole, signedText(`${timestamp}.`, body))).toHex(),
    standardSignature: async (id, timestamp, body) =>
      `v1,${(await hmac(decoded, signedText(`${id}.${timestamp}.`, body))).toBase64()}`,
  };
}

/** Caches the last `limit` signers by secret, so that a delivery needs no key import. */
export function signerCache(limit = 1000): (secret: string) => Promise<WebhookSigner> {
  const signers = boundedMemory<string, Promise<WebhookSigner>>(limit);
  return (secret) => {
    const known = signers.get(secret);
    if (known) return known;
    const made = webhookSigner(secret);
    signers.set(secret, made);
    return made;
  };
}

/**
 * The fault of a webhook secret, or `undefined` if it is valid. After `whsec_`, libraries of Standard Webhooks expect base64, and the
 * standard requires at least 24 bytes. Without `whsec_`, a text of 24 characters or more is the key of both schemes.
 */
export function webhookSecretFault(secret: string): string | undefined {
  if (!/^[\x21-\x7e]+$/.test(secret) || secret.length > 512) return "must be 24 to 512 visible ASCII characters";
  if (!secret.startsWith(secretPrefix)) return secret.length < 24 ? "must have at least 24 characters" : undefined;
  const bytes = standardKeyBytes(secret);
  if (bytes === undefined) return 'must have base64 behind "whsec_"';
  return bytes.length < 24 ? 'must have at least 24 bytes of base64 behind "whsec_"' : undefined;
}

export function newWebhookSecret(randomBytes: (length: number) => Uint8Array): string {
  return secretPrefix + Uint8Array.from(randomBytes(32)).toBase64();
}

export interface ReceivedWebhook {
  /** Header names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
  secret: string;
  now: Date;
  toleranceSeconds?: number;
}

/** The fault of a received webhook in either scheme, or `undefined` if it is genuine, unchanged and recent. */
export async function webhookFault({ headers, body, secret, now, toleranceSeconds = 300 }: ReceivedWebhook) {
  const keyFault = webhookSecretFault(secret);
  if (keyFault !== undefined) return `the secret ${keyFault}`;
  const id = headers["webhook-id"];
  const timestamps = [headers["x-timestamp"], headers["webhook-timestamp"]];
  const hex = headers["x-signature"];
  const signatures = headers["webhook-signature"];
  if (!id || !hex || !signatures || timestamps.some((text) => text === undefined))
    return "a signature header is missing";
  for (const text of timestamps) {
    if (!/^\d{1,15}$/.test(text ?? "")) return "a timestamp is not a number of seconds";
    if (Math.abs(now.getTime() / 1000 - Number(text)) > toleranceSeconds) return "a timestamp is too old or too new";
  }
  const whole = await hmacKey(utf8.encode(secret));
  if (!(await hexMatches(whole, `${timestamps[0]}.${body}`, hex))) return "X-Signature does not match";
  const signed = { id, timestamp: timestamps[1] ?? "", body, signatures };
  return (await isStandardSignature(secret, signed)) ? undefined : "webhook-signature does not match";
}

/** True if one of these signatures (Standard Webhooks, `v1,<base64>` with spaces between) was made with the secret. */
export async function isStandardSignature(
  secret: string,
  { id, timestamp, body, signatures }: { id: string; timestamp: string; body: string; signatures: string },
): Promise<boolean> {
  const key = await hmacKey(standardKeyBytes(secret) ?? utf8.encode(secret));
  for (const signature of signatures.split(" ", 16)) {
    const bytes = signature.startsWith("v1,") ? base64Bytes(signature.slice(3)) : undefined;
    if (bytes && (await hmacMatches(key, `${id}.${timestamp}.${body}`, bytes))) return true;
  }
  return false;
}

/**
 * The key of attachment links, derived from SIGNING_KEY with HKDF (RFC 5869), so that no other use of that key makes a valid link. Salt and
 * info are fixed, so that links stay valid after a restart.
 */
export function attachmentKey(signingKey: string): Promise<CryptoKey> {
  return derivedKey(signingKey, "attachment link 1");
}

/** The key of access tokens, derived from SIGNING_KEY like `attachmentKey`. */
export function tokenKey(signingKey: string): Promise<CryptoKey> {
  return derivedKey(signingKey, "token");
}

/** The key of links for approvals, derived from SIGNING_KEY like `attachmentKey`. */
export function approvalKey(signingKey: string): Promise<CryptoKey> {
  return derivedKey(signingKey, "approval link");
}

/** The signature of a token's claims, as base64url without padding. */
export async function tokenSignature(key: CryptoKey, claims: string): Promise<string> {
  return (await hmac(key, claims)).toBase64({ alphabet: "base64url", omitPadding: true });
}

/** True if `signature`, in base64url, is that of these claims. The comparison takes constant time. */
export function isTokenSignature(key: CryptoKey, claims: string, signature: string): Promise<boolean> {
  return hmacMatches(key, claims, Uint8Array.fromBase64(signature, { alphabet: "base64url" }));
}

/** The key of return paths (domain/reports/return-path.ts), derived from SIGNING_KEY like `attachmentKey`. */
export function returnPathKey(signingKey: string): Promise<CryptoKey> {
  return derivedKey(signingKey, "return path");
}

/** The whole signature of a message's return path. The address contains only the first part of it. */
export function returnPathSignature(key: CryptoKey, messageId: string): Promise<Uint8Array> {
  return hmac(key, `return\n${messageId}`);
}

/** The whole signature by which a recipient of a message may unsubscribe. Its key is that of return paths. */
export function unsubscribeSignature(key: CryptoKey, messageId: string): Promise<Uint8Array> {
  return hmac(key, `unsubscribe\n${messageId}`);
}

/** True if two texts are equal. It compares their digests in constant time, since a comparison of texts would show where they differ. */
export function isSameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(digestOf(given), digestOf(secret));
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

async function derivedKey(signingKey: string, purpose: string): Promise<CryptoKey> {
  const material = await crypto.subtle.importKey("raw", utf8.encode(signingKey), "HKDF", false, ["deriveKey"]);
  return crypto.subtle.deriveKey(
    { name: "HKDF", hash: "SHA-256", salt: utf8.encode("inboxd"), info: utf8.encode(purpose) },
    material,
    { name: "HMAC", hash: "SHA-256", length: 256 },
    false,
    ["sign", "verify"],
  );
}

/** The signature of an attachment link that is valid until `expires`, in unix seconds. */
export async function attachmentSignature(key: CryptoKey, messageId: string, storedName: string, expires: number) {
  return (await hmac(key, attachmentText(messageId, storedName, expires))).toHex();
}

export interface AttachmentLink {
  messageId: string;
  storedName: string;
  expires: number;
  signature: string;
}

/** True if the signature in an attachment link is that of its text. The expiry of the link is not checked. */
export function isAttachmentSignature(key: CryptoKey, link: AttachmentLink): Promise<boolean> {
  return hexMatches(key, attachmentText(link.messageId, link.storedName, link.expires), link.signature);
}

/** The signed text of a link. Stored names have no line feed, so different links have different texts. */
function attachmentText(messageId: string, storedName: string, expires: number): string {
  return `attachment\n${messageId}\n${storedName}\n${expires}`;
}

const secretPrefix = "whsec_";
const utf8 = new TextEncoder();

/** The bytes that the base64 after `whsec_` encodes, with or without padding. `undefined` for a secret of another form. */
function standardKeyBytes(secret: string): Uint8Array<ArrayBuffer> | undefined {
  return secret.startsWith(secretPrefix) ? base64Bytes(secret.slice(secretPrefix.length)) : undefined;
}

function base64Bytes(text: string): Uint8Array<ArrayBuffer> | undefined {
  const unpadded = text.replace(/={1,2}$/, "");
  if (!/^[A-Za-z0-9+/]+$/.test(unpadded) || unpadded.length % 4 === 1) return undefined;
  return Uint8Array.fromBase64(unpadded);
}

function hmacKey(bytes: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

async function hmac(key: CryptoKey, signed: string | Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const bytes = typeof signed === "string" ? utf8.encode(signed) : signed;
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes));
}

function signedText(start: string, body: SignedBody): string | Uint8Array<ArrayBuffer> {
  return typeof body === "string" ? start + body : Buffer.concat([Buffer.from(start), body]);
}

/** Checks a signature in hex. Only lower-case hex of the right length is accepted, so that only one text is valid for a signature. */
async function hexMatches(key: CryptoKey, text: string, hex: string): Promise<boolean> {
  return /^[0-9a-f]{64}$/.test(hex) && hmacMatches(key, text, Uint8Array.fromHex(hex));
}

/** Checks a signature of any length. `subtle.verify` compares it in constant time. */
function hmacMatches(key: CryptoKey, text: string, signature: Uint8Array<ArrayBuffer>): Promise<boolean> {
  return crypto.subtle.verify("HMAC", key, signature, utf8.encode(text));
}
