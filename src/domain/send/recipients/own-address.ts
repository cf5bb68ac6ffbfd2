import { splitAddress } from "../../../standards/address.ts";

/** Whether an address is one of these, whatever its case and its `+tag`. */
export function isOwnAddress(address: string, ownAddresses: readonly string[]): boolean {
  const bare = untagged(address);
  return ownAddresses.some((own) => untagged(own) === bare);
}

/** An address as its inbox has it: in lower case, without what stands behind a `+`. */
export function untagged(address: string): string {
  const { local = "", domain = "" } = splitAddress(address.toLowerCase()) ?? {};
  return `${local.split("+", 1)[0]}@${domain}`;
}
