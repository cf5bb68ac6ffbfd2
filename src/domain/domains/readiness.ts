import { Refusal } from "../errors.ts";
import { anyBelow } from "./records.ts";
import type { SeenRecord } from "./seen-record.ts";

export const domainStatuses = ["pending", "verified", "failing", "failed"] as const;

export type DomainStatus = (typeof domainStatuses)[number];

/** The facts about a domain that decide what its mail may do. */
export interface DomainFacts {
  name: string;
  status: DomainStatus;
  returnPath: string;
  recordsSeen: readonly SeenRecord[];
}

/** Whether a domain is proven, so that its inboxes send and receive. A failing domain is, until it has failed. */
export function isProven(status: DomainStatus): boolean {
  return status === "verified" || status === "failing";
}

/**
 * Whether the mail of everybody for these hosts of a domain comes to us: the domain is proven, and the MX records of the hosts lead here.
 * A host is the domain itself, or `*.` and the domain for all names below it.
 */
export function isReceiving({ status, recordsSeen }: DomainFacts, hosts: readonly string[]): boolean {
  return isProven(status) && hosts.every((host) => isValid(recordsSeen, "mx", host));
}

/** The readiness of a domain, as the API and events show it. It receives if the records of all its hosts lead here. */
export function domainReadiness(domain: DomainFacts & { subdomains: boolean }) {
  const { name, status, subdomains } = domain;
  const hosts = subdomains ? [name, anyBelow(name)] : [name];
  const word = (isReady: boolean) => (isReady ? "ready" : "not_ready");
  return { sending: word(isProven(status)), receiving: word(isReceiving(domain, hosts)) } as const;
}

/** The host of a proven domain's return paths. Undefined if its record is not valid: then return paths are at MAIL_DOMAIN. */
export function returnPathHost({ name, status, returnPath, recordsSeen }: DomainFacts): string | undefined {
  const host = `${returnPath}.${name}`;
  return isProven(status) && isValid(recordsSeen, "return_path", host) ? host : undefined;
}

function isValid(records: readonly SeenRecord[], purpose: SeenRecord["purpose"], name: string): boolean {
  return records.some((each) => each.purpose === purpose && each.name === name && each.status === "valid");
}

/** Refuses an inbox or a send, because the domain is not proven. */
export function domainNotVerified(what: string, { name, status }: Pick<DomainFacts, "name" | "status">): Refusal {
  return new Refusal("domain_not_verified", `${what}: the domain ${name} is ${status}, not verified`, {
    extra: { domain: name, domain_status: status },
  });
}
