import { isSameSecret, returnPathSignature } from "../../standards/signature.ts";
import { base32, instantOfId, isId } from "../ids.ts";

/**
 * Return paths: the envelope senders of mail that we send. A return path contains the id of the message and a signature, so mail to it
 * comes from somebody who has seen the envelope. No inbox can have the name `bounce` (username.ts).
 */
export interface ReturnPaths {
  /** `bounce+<message>-<mac>@host`: 46 octets before the `@`. Without a host it is at MAIL_DOMAIN. */
  make(messageId: string, host?: string): Promise<string>;
  /** The id of the message whose return path has this local part. Undefined if the signature in it is not ours. */
  read(localPart: string): Promise<string | undefined>;
}

/** `key` is `returnPathKey` of the signing key. It is imported once, because importing costs more than a signature. */
export function returnPaths(key: CryptoKey, mailDomain: string): ReturnPaths {
  const macOf = async (messageId: string) => lettersOf(await returnPathSignature(key, messageId), 12);

  return {
    async make(messageId, host = mailDomain) {
      return `${returnPathUser}+${messageId.slice(4)}-${await macOf(messageId)}@${host}`;
    },
    async read(localPart) {
      // Some servers change the case of the address.
      const [, letters, mac] = shape.exec(localPart.toLowerCase()) ?? [];
      const messageId = `msg_${letters}`;
      if (mac === undefined || !isId("msg", messageId)) return undefined;
      return isSameSecret(await macOf(messageId), mac) ? messageId : undefined;
    },
  };
}

/** The first letters of a signature, at most 48. Each 6 of them have 30 of 32 bits, so 12 letters are 60 bits. */
export function lettersOf(signature: Uint8Array, count: number): string {
  const view = new DataView(signature.buffer, signature.byteOffset, signature.length);
  const groups = Array.from({ length: Math.ceil(count / 6) }, (_, at) => base32(view.getUint32(at * 4) >>> 2, 6));
  return groups.join("").slice(0, count);
}

/** Makes the envelope sender of a message. `from` is the address of its inbox, `host` the one for return paths of its own domain. */
export type EnvelopeFrom = (messageId: string, from: string, host?: string) => Promise<string>;

export const returnPathKinds = ["verp", "inbox"] as const;

/** The envelope senders: a return path of each message, or with `inbox` the address of its inbox. */
export function envelopeSenders(kind: (typeof returnPathKinds)[number], paths: ReturnPaths): EnvelopeFrom {
  return async (messageId, from, host) => (kind === "verp" ? paths.make(messageId, host) : from);
}

/** An address of the form of a return path that belongs to no message. */
export function returnPathLike(mailDomain: string): string {
  return `${returnPathUser}+${"0".repeat(26)}-${"0".repeat(12)}@${mailDomain}`;
}

/** The part of every return path before the first `+`. */
export const returnPathUser = "bounce";

const shape = /^bounce\+([0-9a-z]{26})-([0-9a-z]{12})$/;

/**
 * The most days from the time in a message's id to a report. A draft may have its id 366 days before it is sent, and a server may retry for
 * a month.
 */
const mostDaysOfId = 400;

/** Whether a message is certainly too old for reports, by the time in its id. This needs no read of the message. */
export function isPastReturning(messageId: string, now: Date): boolean {
  return now.getTime() - instantOfId(messageId).getTime() > mostDaysOfId * dayMs;
}

/**
 * The most days from sending a message to a report. Servers retry for only a few days, so a later report is an old mail that was sent
 * again.
 */
const mostDaysOfMessage = 60;

/** Whether a message is too old for reports, by the time when it was sent. */
export function isPastReporting(createdAt: Date, now: Date): boolean {
  return now.getTime() - createdAt.getTime() > mostDaysOfMessage * dayMs;
}

const dayMs = 86_400_000;
