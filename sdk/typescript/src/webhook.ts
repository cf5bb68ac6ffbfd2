import { nowSeconds } from "./machine.ts";
import type { DeliveredEvent } from "./types.ts";

/** A delivery: a `Request`, or its headers and its raw body. A parsed body does not have the signed bytes. */
export type Delivery =
  | Request
  | {
      headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
      body: string | Uint8Array;
    };

/** Why the verification of a delivery failed. */
export type WebhookReason =
  | "missing_header"
  | "invalid_timestamp"
  | "too_old_or_new"
  | "wrong_signature"
  | "invalid_secret"
  | "body_was_read"
  | "not_json";

export class WebhookError extends Error {
  override readonly name: string = "WebhookError";
  readonly reason: WebhookReason;

  constructor(reason: WebhookReason, message: string) {
    super(`Cannot verify webhook: ${message}`);
    this.reason = reason;
  }
}

const toleranceSeconds = 300;

/**
 * Verifies a delivery and returns its event. It must be signed with the secret, or with one of several during a rotation. Checks
 * `webhook-signature` (Standard Webhooks), the only header that has a signature for each secret, in constant time.
 */
export async function verifyWebhook(delivery: Delivery, secret: string | readonly string[]): Promise<DeliveredEvent> {
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) => {
    const value = headerOf(delivery, `webhook-${name}`);
    if (!value) throw new WebhookError("missing_header", `webhook-${name} is missing`);
    return value;
  }) as [string, string, string];
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookError("invalid_timestamp", "webhook-timestamp is not a number of seconds");
  }
  if (Math.abs(nowSeconds() - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookError("too_old_or_new", `it was signed over ${toleranceSeconds} s ago, or in the future`);
  }
  if ("bodyUsed" in delivery && delivery.bodyUsed) throw new WebhookError("body_was_read", "its body was read before");
  const body = await ("arrayBuffer" in delivery ? delivery : new Response(delivery.body as BodyInit)).arrayBuffer();
  const signed = await new Blob([`${id}.${timestamp}.`, body]).arrayBuffer();

  for (const key of [secret].flat().flatMap(keysOf)) {
    const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    for (const entry of signatures.split(" ")) {
      const signature = entry.startsWith("v1,") ? bytesOfBase64(entry.slice(3)) : undefined;
      if (signature !== undefined && (await crypto.subtle.verify("HMAC", imported, signature, signed))) {
        return eventOf(body);
      }
    }
  }
  throw new WebhookError("wrong_signature", "no signature matches");
}

function headerOf({ headers }: Delivery, name: string): string | undefined {
  if (isHeaders(headers)) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([known]) => known.toLowerCase() === name)?.[1];
  return typeof found === "string" ? found : found?.join(" ");
}

/** Looks for the method `get` instead of the class, since a server may have a class `Headers` of its own. */
function isHeaders(headers: Delivery["headers"]): headers is Headers {
  return typeof headers.get === "function";
}

function eventOf(body: ArrayBuffer): DeliveredEvent {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    throw new WebhookError("not_json", "its body is not JSON");
  }
}

/**
 * The keys of a secret: the bytes that the base64 after `whsec_` stands for. For a secret of another form, both its text and its base64 are
 * tried: the service signs with the text, and the libraries of Standard Webhooks sign with the base64.
 */
function keysOf(secret: string): Uint8Array<ArrayBuffer>[] {
  const text = secret.replace(/^whsec_/, "");
  const keys = [bytesOfBase64(text), text === secret ? new TextEncoder().encode(text) : undefined].filter(
    (key) => key !== undefined && key.length > 0,
  );
  if (keys.length === 0) throw new WebhookError("invalid_secret", "the secret is empty, or no base64 behind whsec_");
  return keys as Uint8Array<ArrayBuffer>[];
}

/** Accepts base64 with and without padding. Undefined for any other text. */
function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
