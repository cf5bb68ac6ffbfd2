/** A new key pair for DKIM, as base64 without line ends. */
export interface DkimKeyPair {
  /** PKCS #8. */
  privateKey: string;
  /** SubjectPublicKeyInfo, which is the `p=` of the DNS record (RFC 6376 §3.6.1). */
  publicKey: string;
}

/** Makes an RSA key of 2,048 bits, which all large receivers verify. Web Crypto takes 0.1 seconds for it, on another thread. */
export async function newDkimKey(): Promise<DkimKeyPair> {
  const algorithm = {
    name: "RSASSA-PKCS1-v1_5",
    hash: "SHA-256",
    modulusLength: 2048,
    publicExponent: Uint8Array.of(1, 0, 1),
  };
  const pair = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const [privateKey, publicKey] = await Promise.all([
    crypto.subtle.exportKey("pkcs8", pair.privateKey),
    crypto.subtle.exportKey("spki", pair.publicKey),
  ]);
  return { privateKey: new Uint8Array(privateKey).toBase64(), publicKey: new Uint8Array(publicKey).toBase64() };
}

/** The private key as PEM, as the signer reads it. */
export function privateKeyPem(privateKey: string): string {
  return `-----BEGIN PRIVATE KEY-----\n${privateKey}\n-----END PRIVATE KEY-----\n`;
}
