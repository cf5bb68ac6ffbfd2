import { splitAddress } from "../../../standards/address.ts";

/** Whether an address is one of these, ignoring case and `+tag`. */
export function isOwnAddress(address: string, ownAddresses: readonly string[]): boolean {
  const bare = untagged(address);
  return ownAddresses.some((own) => untagged(own) === bare);
}

/** An address in lower case, without its `+tag`. */
export function untagged(address: string): string {
  const { local = "", domain = "" } = splitAddress(address.toLowerCase()) ?? {};
  return `${local.split("+", 1)[0]}@${domain}`;
}
