import { splitAddress } from "../../../standards/address.ts";
import type { Recipient } from "./entries.ts";

/** The settings that decide which recipients of a mail get it in the same attempt. */
export interface WaysOut {
  mailDomain: string;
  /** True if mail goes to the servers of each domain. False if one relay takes all mail. */
  isDirect: boolean;
}

/**
 * The destinations of a message: the groups of recipients that share an attempt. Each has one row in the outbox. They are
 * numbered from 0; the first recipient belongs to destination 0.
 */
export interface Destinations {
  /** The lane of each destination. */
  lanes: readonly string[];
  numberOf: (recipient: Recipient) => number;
}

/** The lane of a mail that goes to several domains through one relay. No domain has this name. */
const anyDomain = "*";

/** Groups recipients. Those of our own domain are one destination. Each other domain is one, or all together if a relay takes all mail. */
export function destinationsOf(recipients: readonly Recipient[], { mailDomain, isDirect }: WaysOut): Destinations {
  const own = mailDomain.toLowerCase();
  const laneOf = ({ address }: Recipient) => {
    const domain = domainOf(address);
    return recipients.length === 1 || isDirect || domain === own ? domain : anyDomain;
  };
  const lanes = [...new Set(recipients.map(laneOf))];
  return { lanes, numberOf: (recipient) => lanes.indexOf(laneOf(recipient)) };
}

export function domainOf(address: string): string {
  return splitAddress(address)?.domain ?? "";
}

/** The id of the outbox row of a destination: `<message>` for number 0, `<message>.<number>` for the others. */
export function subjectOfDestination(messageId: string, number: number): string {
  return number === 0 ? messageId : `${messageId}.${number}`;
}

export function destinationOfSubject(subjectId: string): { messageId: string; number: number } {
  const [messageId = subjectId, number = "0"] = subjectId.split(".", 2);
  return { messageId, number: Number(number) };
}
