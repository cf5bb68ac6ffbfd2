import { splitAddress } from "../../standards/address.ts";

/** The outcomes of mail to the simulator. The local part of the address names the outcome. */
export const simulatedFates = ["bounce", "soft", "complain", "delay", "deliver"] as const;
export type SimulatedFate = (typeof simulatedFates)[number];

/** A domain that never exists (RFC 2606). */
export const simulatorDomain = "sim.invalid";

/** The outcome for an address of the simulator. An address may have a tag, so that each test has its own. */
export function simulatedFateOf(address: string): SimulatedFate | undefined {
  const { local, domain } = splitAddress(address.toLowerCase()) ?? {};
  if (local === undefined || domain !== simulatorDomain) return undefined;
  const [name] = local.split("+", 1);
  return simulatedFates.find((fate) => fate === name);
}

/** A suppression of a simulated address ends after a minute, so that a test can be repeated. */
export const simulatedSuppressionMs = 60_000;
