import type { Ask } from "../../dns/client.ts";
import { checkDkim } from "./dkim-record.ts";
import { checkDmarc } from "./dmarc-record.ts";
import type { DnsFacts } from "./dns-facts.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { checkHost } from "./host.ts";
import { checkMx } from "./mx.ts";
import { checkSpf } from "./spf-record.ts";

/** What the world sees of the mail domain. */
export async function checkDns(facts: DnsFacts, ask: Ask): Promise<Finding[]> {
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
  return (await Promise.all(checks.map((check) => check(facts, ask)))).flat();
}

/** Names that the DNS will never know (RFC 6761 §6, RFC 6762 §3, RFC 9476 and what RFC 2606 reserves). */
export function isForTrying(domain: string): boolean {
  return /(?:^|\.)(?:localhost|local|test|example|invalid|internal|alt|home\.arpa)$/.test(domain);
}
