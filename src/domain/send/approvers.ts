import { parseSendAddress, splitAddress } from "../../standards/address.ts";
import type { Fault } from "../errors.ts";

/** The most addresses of people who approve the mail of an inbox. */
export const mostApprovers = 5;

/** The faults of the approvers in a request, but for those that only the domains of accounts show. */
export function faultsOfApprovers(approvers: unknown, mailDomain: string): Fault[] {
  if (!Array.isArray(approvers)) return [];
  return approvers.slice(0, mostApprovers).flatMap((text, index) => {
    const address = typeof text === "string" ? parseSendAddress(text, mailDomain) : undefined;
    const detail = address === undefined ? "must be one email address" : faultOfDomain(address, mailDomain);
    return detail === undefined ? [] : [{ pointer: `#/approvers/${index}`, detail }];
  });
}

function faultOfDomain(address: string, mailDomain: string): string | undefined {
  return splitAddress(address)?.domain.toLowerCase() === mailDomain.toLowerCase() ? ownApprover : undefined;
}

/** The fault of an approver whose mail comes to this service: a key of an account could read it, and so approve its own mail. */
export const ownApprover = "must be an address whose mail does not come to this service";

/** The approvers in the form that is stored, each once, ignoring case. */
export function approverAddresses(approvers: readonly string[], mailDomain: string): string[] {
  const addresses = approvers.flatMap((text) => parseSendAddress(text, mailDomain) ?? []);
  return [...new Map(addresses.map((address) => [address.toLowerCase(), address])).values()];
}

/** The people who approve the mail of an inbox: its own approvers, or those of the service if it names none. */
export function approversInForce(own: readonly string[] | null, ofService: readonly string[]): readonly string[] {
  return own ?? ofService;
}

export function isApprover(address: string, approvers: readonly string[]): boolean {
  return approvers.some((approver) => approver.toLowerCase() === address.toLowerCase());
}
