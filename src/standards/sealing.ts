import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";

/**
 * Seals secrets for the database with AES-256-GCM. A sealed secret is `ibs1.<id of the key>.<base64 of nonce, ciphertext and tag>`. The name
 * of its row is authenticated too, so that a secret opens in no other row. The functions are synchronous, unlike Web Crypto: opening takes
 * microseconds, and the routes that show an end of a secret need no promise.
 */
export interface Sealing {
  /** Returns the secret as it is stored: unchanged without a key. */
  seal(secret: string, row: string): string;
  /** Opens a stored secret. Throws if it was sealed by another key, or in another row. */
  open(stored: string, row: string): string;
  /** The beginning of what `seal` returns. Undefined without a key. */
  mark: string | undefined;
  /** The beginnings of the sealed secrets that `open` can open. */
  opens: readonly string[];
}

export interface SealingKeys {
  /** Undefined: secrets are stored plain. */
  current: string | undefined;
  /** The key of before, which still opens what it has sealed. */
  previous: string | undefined;
}

export function sealing({ current, previous }: SealingKeys, randomBytes: (length: number) => Uint8Array): Sealing {
  const sealer = current === undefined ? undefined : sealingKey(current);
  const known = [sealer, previous === undefined ? undefined : sealingKey(previous)].filter((key) => key !== undefined);

  return {
    seal(secret, row) {
      if (sealer === undefined) return secret;
      const nonce = Buffer.from(randomBytes(nonceBytes));
      const cipher = createCipheriv(algorithm, sealer.key, nonce).setAAD(Buffer.from(row));
      const sealed = Buffer.concat([nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return `${sealer.mark}${sealed.toString("base64")}`;
    },
    open(stored, row) {
      if (!stored.startsWith(sealedMark)) return stored;
      const by = known.find(({ mark }) => stored.startsWith(mark));
      if (by === undefined) throw new Error("Cannot open a secret: ENCRYPTION_KEY is not the one that sealed it");
      const sealed = Buffer.from(stored.slice(by.mark.length), "base64");
      const decipher = createDecipheriv(algorithm, by.key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(row)).setAuthTag(sealed.subarray(-tagBytes));
      return `${decipher.update(sealed.subarray(nonceBytes, -tagBytes), undefined, "utf8")}${decipher.final("utf8")}`;
    },
    mark: sealer?.mark,
    opens: known.map(({ mark }) => mark),
  };
}

/** The beginning of every sealed secret. A plain one begins with it only if the operator chose it so. */
export const sealedMark = "ibs1.";

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

/**
 * The key, and the beginning of what it seals. Both are derived from the text of the setting by HKDF (RFC 5869), so that the beginning tells
 * nothing of the key.
 */
function sealingKey(text: string): { key: Uint8Array; mark: string } {
  const derived = (info: string, bytes: number) =>
    new Uint8Array(hkdfSync("sha256", text, "inboxd", `inboxd sealing ${info}`, bytes));
  return { key: derived("key", 32), mark: `${sealedMark}${derived("id", 4).toHex()}.` };
}
