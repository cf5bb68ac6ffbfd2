import { domainToASCII } from "node:url";
import { isHostName } from "../../standards/host-name.ts";
import { isIpAddress } from "../../standards/ip.ts";
import { Refusal } from "../errors.ts";
import type { ServiceNames } from "./records.ts";

export interface NameRules extends ServiceNames {
  /** Whether mail leaves the service: then names for tests cannot be proven. */
  isSandbox: boolean;
}

/** Parses the name of an own domain, as A-labels in lower case. Throws a refusal if mail cannot have it, or if it is the service's own. */
export function parseDomainName(text: string, { mailDomain, smtpHostname, isSandbox }: NameRules): string {
  const given = text.trim().replace(/\.$/, "");
  // The parser of hosts would leave out what follows a character with a meaning in URLs.
  const name = /[/?#@:%\\\s]/.test(given) ? "" : domainToASCII(given).toLowerCase();
  const fault = faultOf(name, isSandbox);
  if (fault !== undefined) {
    throw new Refusal("invalid_domain", `Cannot add domain: "domain" ${fault}`, {
      faults: [{ pointer: "#/domain", detail: fault }],
    });
  }
  if (isReserved(name, { mailDomain, smtpHostname })) throw reserved(name);
  return name;
}

/** Whether a name is the service's own: MAIL_DOMAIN, a name below it, or SMTP_HOSTNAME. */
export function isReserved(name: string, { mailDomain, smtpHostname }: ServiceNames): boolean {
  return name === smtpHostname || name === mailDomain || name.endsWith(`.${mailDomain}`);
}

export function reserved(name: string): Refusal {
  return new Refusal("domain_reserved", `Cannot add domain: ${name} belongs to the service`);
}

/** The longest name. DKIM records and return paths put up to 30 characters before it, and a DNS name has 253 (RFC 1035 §2.3.4). */
const mostCharacters = 223;

function faultOf(name: string, isSandbox: boolean): string | undefined {
  const labels = name.split(".");
  const top = labels.at(-1) ?? "";
  if (!isHostName(name) || labels.length < 2) return "must be a domain name such as mail.example.com";
  // The URL standard reads a name whose last label is a number as an IPv4 address.
  if (isIpAddress(name) || /^\d+$/.test(top)) return "must be a domain name, not an IP address";
  if (name.length > mostCharacters) return `must have at most ${mostCharacters} characters`;
  if (neverMail.has(top) || (!isSandbox && forTests.has(top)))
    return `must not end in .${top}, which is no public name`;
  return undefined;
}

/** Top-level names that no public DNS has (RFC 6761, RFC 6762, RFC 7686, RFC 9476, and `.internal` of ICANN). */
const neverMail = new Set(["arpa", "alt", "internal", "invalid", "local", "onion"]);
/** Names for tests (RFC 6761 §6), which the sandbox takes. */
const forTests = new Set(["test", "example", "localhost"]);

/** A domain and those above it with at least two labels: `a.b.example`, `b.example`. */
export function withParents(domain: string): string[] {
  const labels = domain.split(".");
  return labels.slice(0, Math.max(1, labels.length - 1)).map((_, index) => labels.slice(index).join("."));
}
