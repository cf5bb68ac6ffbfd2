import { isSameText, returnPathSignature } from "../../standards/signature.ts";
import { base32, instantOfId, isId } from "../ids.ts";

/**
 * The envelope sender of the mail that we send: it names the message, and proves that who writes to it saw that mail or
 * was told of it. `bounce` is a name that no inbox can have (username.ts).
 */
export interface ReturnPaths {
  /** `bounce+<message>-<mac>@domain`: 46 octets before the `@`. */
  make(messageId: string): Promise<string>;
  /** The message whose return path has this local part; undefined where it is none of ours. */
  read(localPart: string): Promise<string | undefined>;
}

/** `key` is `returnPathKey` of the signing key: imported once, since that costs more than a signature. */
export function returnPaths(key: CryptoKey, mailDomain: string): ReturnPaths {
  async function macOf(messageId: string): Promise<string> {
    const view = new DataView((await returnPathSignature(key, messageId)).buffer);
    // Twice thirty bits of the signature: a guess in 2^60 is right.
    return base32(view.getUint32(0) >>> 2, 6) + base32(view.getUint32(4) >>> 2, 6);
  }

  return {
    async make(messageId) {
      return `${returnPathUser}+${messageId.slice(4)}-${await macOf(messageId)}@${mailDomain}`;
    },
    async read(localPart) {
      // Some servers change the case of what they answer to.
      const [, letters, mac] = shape.exec(localPart.toLowerCase()) ?? [];
      const messageId = `msg_${letters}`;
      if (mac === undefined || !isId("msg", messageId)) return undefined;
      return isSameText(await macOf(messageId), mac) ? messageId : undefined;
    },
  };
}

/** An address of the same form, which leads to no message. */
export function returnPathLike(mailDomain: string): string {
  return `${returnPathUser}+${"0".repeat(26)}-${"0".repeat(12)}@${mailDomain}`;
}

/** What stands before the first `+` of every return path. */
export const returnPathUser = "bounce";

const shape = /^bounce\+([0-9a-z]{26})-([0-9a-z]{12})$/;

/** A draft has its id for up to 366 days before it is sent, and a server may try for a month. */
const mostDaysOfId = 400;

/** Whether so old a message can have no report any more, by what its id says of its age alone. */
export function isPastReturning(messageId: string, now: Date): boolean {
  return now.getTime() - instantOfId(messageId).getTime() > mostDaysOfId * dayMs;
}

/** Reports come within the days that a server tries for; what comes later was dug up. */
const mostDaysOfMessage = 60;

/** The same by when it was sent, which only the database knows. */
export function isPastReporting(createdAt: Date, now: Date): boolean {
  return now.getTime() - createdAt.getTime() > mostDaysOfMessage * dayMs;
}

const dayMs = 86_400_000;
