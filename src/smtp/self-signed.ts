/** A certificate and its key as PEM. In `cert`, the intermediate certificates may follow the server's own. */
export interface Certificate {
  cert: string;
  key: string;
}

export interface SelfSigning {
  /** The name or IPv4 address of the certificate. */
  hostname: string;
  now: Date;
  randomBytes(n: number): Uint8Array;
}

/** A new ECDSA P-256 private key as PEM (PKCS #8). */
export async function newPrivateKey(): Promise<string> {
  const pair = await crypto.subtle.generateKey(p256, true, ["sign", "verify"]);
  return pem("PRIVATE KEY", new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey)));
}

/**
 * A certificate that is signed with its own key (RFC 5280 §4.1). It is written here in the few DER forms that it needs, so that a
 * first start needs no openssl. It authenticates nobody, but mail servers encrypt without checking certificates (RFC 7435), so it is
 * better than no STARTTLS.
 */
export async function selfSign(keyPem: string, { hostname, now, randomBytes }: SelfSigning): Promise<Certificate> {
  const der = Buffer.from(keyPem.replace(/-----[^-]+-----|\s/g, ""), "base64");
  const privateKey = await crypto.subtle.importKey("pkcs8", der, p256, true, ["sign"]);
  const name = sequence(set(sequence(commonName, utf8String(hostname.length <= maxCommonName ? hostname : "inboxd"))));
  const tbs = sequence(
    tagged(0, integer(Uint8Array.of(2))), // version 3
    integer(randomBytes(16)),
    sequence(ecdsaWithSha256),
    name,
    sequence(time(new Date(now.getTime() - dayMs)), time(new Date(now.getTime() + validityMs))),
    name,
    await publicKeyOf(privateKey),
    tagged(3, sequence(subjectAltName(hostname), basicConstraints, keyUsage, serverAuth)),
  );
  const signature = new Uint8Array(await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, privateKey, tbs));
  const certificate = sequence(tbs, sequence(ecdsaWithSha256), bitString(derSignature(signature)));
  return { cert: pem("CERTIFICATE", certificate), key: keyPem };
}

const p256 = { name: "ECDSA", namedCurve: "P-256" };
const dayMs = 86_400_000;
const validityMs = 20 * 365 * dayMs;
/** `ub-common-name` of RFC 5280, appendix A. */
const maxCommonName = 64;

type Der = Uint8Array<ArrayBuffer>;

async function publicKeyOf(privateKey: CryptoKey): Promise<Der> {
  const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", privateKey);
  if (kty === undefined || crv === undefined || x === undefined || y === undefined) {
    throw new Error("Cannot make a certificate: the private key has no public half");
  }
  const publicKey = await crypto.subtle.importKey("jwk", { kty, crv, x, y }, p256, true, ["verify"]);
  return new Uint8Array(await crypto.subtle.exportKey("spki", publicKey));
}

/** Web Crypto returns r and s as one array; X.509 has them as two integers (RFC 3279 §2.2.3). */
function derSignature(signature: Uint8Array): Der {
  const half = signature.length / 2;
  return sequence(integer(signature.subarray(0, half)), integer(signature.subarray(half)));
}

function pem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

// DER (X.690): a tag, a length and the content.

function element(tag: number, ...parts: readonly Uint8Array[]): Der {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const head =
    length < 0x80 ? [tag, length] : length < 0x100 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 0xff];
  const whole = new Uint8Array(head.length + length);
  whole.set(head);
  let at = head.length;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const sequence = (...parts: readonly Uint8Array[]): Der => element(0x30, ...parts);
const set = (...parts: readonly Uint8Array[]): Der => element(0x31, ...parts);
const tagged = (n: number, part: Uint8Array): Der => element(0xa0 | n, part);
const octets = (part: Uint8Array): Der => element(0x04, part);
const bitString = (bytes: Uint8Array): Der => element(0x03, Uint8Array.of(0), bytes);
const utf8String = (text: string): Der => element(0x0c, new TextEncoder().encode(text));
const oid = (...bytes: number[]): Der => element(0x06, Uint8Array.from(bytes));

/**
 * Encodes a positive integer without leading zero octets. One zero octet stays if the number would otherwise look negative by its first
 * bit.
 */
function integer(bytes: Uint8Array): Der {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
  const rest = bytes.subarray(start);
  return (rest[0] ?? 0) >= 0x80 ? element(0x02, Uint8Array.of(0), rest) : element(0x02, rest);
}

/** UTCTime up to 2049, GeneralizedTime from then on (RFC 5280 §4.1.2.5). */
function time(instant: Date): Der {
  const text = instant.toISOString().replace(/[-:T]|\.\d+/g, "");
  const isShort = instant.getUTCFullYear() < 2050;
  return element(isShort ? 0x17 : 0x18, new TextEncoder().encode(isShort ? text.slice(2) : text));
}

function subjectAltName(hostname: string): Der {
  const isAddress = /^\d+\.\d+\.\d+\.\d+$/.test(hostname);
  const name = isAddress
    ? element(0x87, Uint8Array.from(hostname.split("."), Number))
    : element(0x82, new TextEncoder().encode(hostname));
  return sequence(oid(0x55, 0x1d, 0x11), octets(sequence(name)));
}

const commonName = oid(0x55, 0x04, 0x03);
const ecdsaWithSha256 = oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02);
const critical = Uint8Array.of(0x01, 0x01, 0xff);
/** States that the certificate does not belong to a certificate authority. */
const basicConstraints = sequence(oid(0x55, 0x1d, 0x13), critical, octets(sequence()));
/** Allows the key only for signatures (the bit `digitalSignature`). */
const keyUsage = sequence(oid(0x55, 0x1d, 0x0f), critical, octets(element(0x03, Uint8Array.of(7, 0x80))));
const serverAuth = sequence(
  oid(0x55, 0x1d, 0x25),
  octets(sequence(oid(0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01))),
);
