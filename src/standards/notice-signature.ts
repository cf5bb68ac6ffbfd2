import { createHmac, createPublicKey, verify } from "node:crypto";
import { isSameSecret } from "./signature.ts";

/** Checks of the signatures with which relays prove that their notices are genuine. All comparisons of secrets take constant time. */

export interface MailgunSignature {
  timestamp: string;
  token: string;
  /** The signature in hex. */
  signature: string;
}

/** Checks an HMAC-SHA-256 over timestamp and token. The rest of the notice is not signed, so the caller must accept each token only once. */
export function isMailgunSignature(key: string, { timestamp, token, signature }: MailgunSignature): boolean {
  if (!/^\d{1,15}$/.test(timestamp) || !/^[\x21-\x7e]{10,200}$/.test(token)) return false;
  return isSameSecret(
    signature,
    createHmac("sha256", key)
      .update(timestamp + token)
      .digest("hex"),
  );
}

/** Checks an ECDSA signature on P-256 over the timestamp and the body. Key and signature are DER in base64. */
export function isSendgridSignature(
  publicKey: string,
  { timestamp, signature, body }: { timestamp: string; signature: string; body: Uint8Array },
): boolean {
  if (!/^\d{1,15}$/.test(timestamp) || !/^[A-Za-z0-9+/]{8,200}={0,2}$/.test(signature)) return false;
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, "base64"), format: "der", type: "spki" });
    const signed = Buffer.concat([Buffer.from(timestamp), body]);
    return verify("sha256", signed, { key, dsaEncoding: "der" }, Buffer.from(signature, "base64"));
  } catch {
    return false;
  }
}

/** True if the text is a public key on P-256, in DER and base64. Used to check the configuration. */
export function isP256PublicKey(publicKey: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, "base64"), format: "der", type: "spki" });
    return key.asymmetricKeyType === "ec" && key.asymmetricKeyDetails?.namedCurve === "prime256v1";
  } catch {
    return false;
  }
}

/** Checks the user and password of `Authorization: Basic` (RFC 7617). */
export function isBasic(authorization: string, user: string, password: string): boolean {
  const [, encoded = ""] = /^basic +([A-Za-z0-9+/]{1,2048}={0,2}) *$/i.exec(authorization) ?? [];
  return isSameSecret(Buffer.from(encoded, "base64").toString("utf8"), `${user}:${password}`);
}
