import { splitAddress } from "../../../standards/address.ts";
import type { Recipient } from "./entries.ts";

/** How mail leaves, as far as it says which recipients share a fate. */
export interface WaysOut {
  mailDomain: string;
  /** Each domain has servers of its own; else one relay takes it all. */
  isDirect: boolean;
}

export interface Destinations {
  /** What each of them waits in line with; the first recipient's is the first. */
  lanes: readonly string[];
  /** Which of them each recipient is of. */
  placeOf: (recipient: Recipient) => number;
}

/** What goes to more than one domain by one relay: no domain is called so. */
const anyDomain = "*";

/** One for all of our own domain, and outside one for each domain, or one in all where a relay takes it all. */
export function destinationsOf(recipients: readonly Recipient[], { mailDomain, isDirect }: WaysOut): Destinations {
  const own = mailDomain.toLowerCase();
  const laneOf = ({ address }: Recipient) => {
    const domain = domainOf(address);
    return recipients.length === 1 || isDirect || domain === own ? domain : anyDomain;
  };
  const lanes = [...new Set(recipients.map(laneOf))];
  return { lanes, placeOf: (recipient) => lanes.indexOf(laneOf(recipient)) };
}

export function domainOf(address: string): string {
  return splitAddress(address)?.domain ?? "";
}

/** What the rows of a message in the outbox are known by, one for each destination. */
export function subjectOfDestination(messageId: string, place: number): string {
  return place === 0 ? messageId : `${messageId}.${place}`;
}

export function destinationOfSubject(subjectId: string): { messageId: string; place: number } {
  const [messageId = subjectId, place = "0"] = subjectId.split(".", 2);
  return { messageId, place: Number(place) };
}
