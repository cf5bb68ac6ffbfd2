import { isSameSecret, unsubscribeSignature } from "../../standards/signature.ts";
import { isId } from "../ids.ts";
import { lettersOf, returnPathUser } from "./return-path.ts";

/** The ways by which a recipient unsubscribes: our link, a mail to our address, a report about our mail, and a notice of the relay. */
export const unsubscribeWays = ["link", "mail", "arf", "relay"] as const;
export type UnsubscribeWay = (typeof unsubscribeWays)[number];

/**
 * The signed names by which the recipient of a message unsubscribes from its inbox. They have no end and are in no table, because the link
 * in an old mail must work.
 */
export interface UnsubscribeNames {
  /** The last part of the link: the letters of the message's id, and 80 bits of the signature. */
  token(messageId: string): Promise<string>;
  /** `bounce+u<message>-<mac>@host`, with 60 bits of the signature. Without a host it is at MAIL_DOMAIN. */
  address(messageId: string, host?: string): Promise<string>;
  /** The message that a token names, and whether its signature is ours. Undefined for a text of another form. */
  readToken(token: string): Promise<{ messageId: string; isOurs: boolean } | undefined>;
  /** The id of the message of an address with this local part. Undefined if the signature in it is not ours. */
  readAddress(localPart: string): Promise<string | undefined>;
}

/** `key` is `returnPathKey` of the signing key. */
export function unsubscribeNames(key: CryptoKey, mailDomain: string): UnsubscribeNames {
  const macOf = async (messageId: string, letters: number) =>
    lettersOf(await unsubscribeSignature(key, messageId), letters);

  return {
    token: async (messageId) => messageId.slice(4) + (await macOf(messageId, lettersOfToken)),
    address: async (messageId, host = mailDomain) =>
      `${returnPathUser}+u${messageId.slice(4)}-${await macOf(messageId, lettersOfAddress)}@${host}`,
    async readToken(token) {
      const [, letters, mac] = tokenShape.exec(token) ?? [];
      const messageId = `msg_${letters}`;
      if (mac === undefined || !isId("msg", messageId)) return undefined;
      return { messageId, isOurs: isSameSecret(await macOf(messageId, lettersOfToken), mac) };
    },
    async readAddress(localPart) {
      // Some servers change the case of the address.
      const [, letters, mac] = addressShape.exec(localPart.toLowerCase()) ?? [];
      const messageId = `msg_${letters}`;
      if (mac === undefined || !isId("msg", messageId)) return undefined;
      return isSameSecret(await macOf(messageId, lettersOfAddress), mac) ? messageId : undefined;
    },
  };
}

const lettersOfToken = 16;
const lettersOfAddress = 12;
const tokenShape = /^([0-9a-z]{26})([0-9a-z]{16})$/;
const addressShape = /^bounce\+u([0-9a-z]{26})-([0-9a-z]{12})$/;
