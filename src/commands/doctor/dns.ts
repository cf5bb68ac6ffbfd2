import type { Outbound } from "../../domain/outbound.ts";
import { checkDkim } from "./dkim-record.ts";
import { checkDmarc } from "./dmarc-record.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { checkHost } from "./host.ts";
import { checkMx } from "./mx.ts";
import { checkSpf } from "./spf-record.ts";

/** What we ask the DNS; `Resolver` of `node:dns/promises` has this shape. */
export interface DoctorResolver {
  resolveMx(name: string): Promise<{ exchange: string; priority: number }[]>;
  resolve4(name: string): Promise<string[]>;
  resolve6(name: string): Promise<string[]>;
  resolveTxt(name: string): Promise<string[][]>;
  resolveCname(name: string): Promise<string[]>;
  reverse(address: string): Promise<string[]>;
}

export interface DnsFacts {
  mailDomain: string;
  smtpHostname: string;
  outbound: Outbound;
  dkim: { selector: string; record: string } | undefined;
}

/** What the world sees of the mail domain. */
export async function checkDns(facts: DnsFacts, resolver: DoctorResolver): Promise<Finding[]> {
  const { mailDomain } = facts;
  if (isForTrying(mailDomain)) {
    return [
      findingsOf("dns").warn(
        `${mailDomain} is a name for trying things out: no mail reaches it from outside`,
        "Set MAIL_DOMAIN to a domain of yours before others should write to it",
      ),
    ];
  }
  const checks = [checkMx, checkHost, checkSpf, checkDkim, checkDmarc];
  return (await Promise.all(checks.map((check) => check(facts, resolver)))).flat();
}

/** Names that the DNS will never know (RFC 6761 §6, RFC 6762 §3, RFC 9476 and what RFC 2606 reserves). */
export function isForTrying(domain: string): boolean {
  return /(?:^|\.)(?:localhost|local|test|example|invalid|internal|alt|home\.arpa)$/.test(domain);
}
