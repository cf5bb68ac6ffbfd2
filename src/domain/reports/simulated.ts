import { splitAddress } from "../../standards/address.ts";

/** What becomes of mail to the simulator, by whom it is for. */
export const simulatedFates = ["bounce", "soft", "complain", "delay", "deliver"] as const;
export type SimulatedFate = (typeof simulatedFates)[number];

/** RFC 2606: nobody will ever have this domain. */
export const simulatorDomain = "sim.invalid";

/** Of an address of the simulator; each may have a tag, so that tests beside each other have addresses of their own. */
export function simulatedFateOf(address: string): SimulatedFate | undefined {
  const { local, domain } = splitAddress(address.toLowerCase()) ?? {};
  if (local === undefined || domain !== simulatorDomain) return undefined;
  const [name] = local.split("+", 1);
  return simulatedFates.find((fate) => fate === name);
}

/** A minute: a test can be repeated. */
export const simulatedSuppressionMs = 60_000;
