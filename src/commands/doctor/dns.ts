import type { Ask } from "../../dns/client.ts";
import { dkimRecord, dmarcRecord, mxRecord, zoneLine } from "../../domain/dns-zone.ts";
import { withParents } from "../../domain/domains/domain-name.ts";
import { type DnsFacts, lookUp, notAnswered, plainName, sameName } from "./dns-lookup.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { checkHost } from "./host.ts";
import { checkSpf } from "./spf.ts";

/** Checks the public DNS records of the mail domain. */
export async function checkDns(facts: DnsFacts, ask: Ask): Promise<Finding[]> {
  const { mailDomain } = facts;
  if (isTestDomain(mailDomain)) {
    return [
      findingsOf("dns").warn(
        `${mailDomain} is a name for tests: no mail reaches it from outside`,
        "Set MAIL_DOMAIN to your own domain before others write to it",
      ),
    ];
  }
  const checks = [checkMx, checkHost, checkSpf, checkDkim, checkDmarc];
  return (await Promise.all(checks.map((check) => check(facts, ask)))).flat();
}

/** Checks that a name server answers at all. A name that does not exist is an answer too. */
export async function checkResolver(ask: Ask): Promise<Finding[]> {
  const { ok, warn } = findingsOf("dns resolver");
  const records = await lookUp(ask, "com", "NS");
  if (!("noAnswer" in records)) return [ok("the name servers answer")];
  return [
    warn(
      `no name server answers (${records.noAnswer}): no sender can be authenticated, and each mail waits for its time limit`,
      "Check the name servers in DNS_SERVERS, or those of this machine, and that UDP and TCP port 53 are open to them",
    ),
  ];
}

/** Names that the public DNS never has (RFC 2606, RFC 6761 §6, RFC 6762 §3, RFC 9476). */
export function isTestDomain(domain: string): boolean {
  return /(?:^|\.)(?:localhost|local|test|example|invalid|internal|alt|home\.arpa)$/.test(domain);
}

/** Checks that mail for the domain comes to this service (RFC 5321 §5.1). */
async function checkMx({ mailDomain, smtpHostname }: DnsFacts, ask: Ask): Promise<Finding[]> {
  const { ok, warn, fail } = findingsOf("dns mx");
  const records = await lookUp(ask, mailDomain, "MX");
  if ("noAnswer" in records) return [notAnswered("dns mx", mailDomain, records.noAnswer)];
  const wanted = zoneLine(mxRecord(mailDomain, smtpHostname));
  if (records.length === 0) return [fail(`${mailDomain} has no MX record`, `Add: ${wanted}`)];
  const seen = records
    .toSorted((one, other) => one.priority - other.priority)
    .map(({ exchange, priority }) => `${priority} ${plainName(exchange)}.`)
    .join(", ");
  // A null MX (RFC 7505 §3).
  if (records.every(({ exchange }) => plainName(exchange) === "")) {
    return [fail(`${mailDomain} accepts no mail (null MX)`, `Replace it with: ${wanted}`)];
  }
  const ours = records.filter(({ exchange }) => sameName(exchange, smtpHostname)).map(({ priority }) => priority);
  if (ours.length === 0) {
    return [
      fail(
        `mail for ${mailDomain}, and bounces of our mail, go to ${seen} and not to ${smtpHostname}`,
        `Replace them with: ${wanted}\nor set SMTP_HOSTNAME to the name of this host`,
      ),
    ];
  }
  const others = records.filter(({ exchange }) => !sameName(exchange, smtpHostname));
  if (others.some(({ priority }) => priority <= Math.min(...ours))) {
    return [
      warn(
        `mail for ${mailDomain} goes to ${seen}, and ${smtpHostname} is not the first of them`,
        "Remove the other records, unless those hosts forward all mail to this one",
      ),
    ];
  }
  return [ok(`${mailDomain}: ${seen}`)];
}

/** Checks that receivers find the public key for our signatures (RFC 6376 §3.6). */
async function checkDkim({ mailDomain, dkim, outbound }: DnsFacts, ask: Ask): Promise<Finding[]> {
  const { ok, warn, fail } = findingsOf("dns dkim");
  if (dkim === undefined) {
    const seen = "mail is sent unsigned";
    if (outbound.kind === "sandbox") return [ok(`${seen}, to nobody: sandbox mode`)];
    return [warn(seen, "Set DKIM_SELECTOR and DKIM_KEY, unless the relay signs for the mail domain")];
  }
  const wanted = dkimRecord(mailDomain, dkim.selector, dkim.record);
  const records = await lookUp(ask, wanted.name, "TXT");
  if ("noAnswer" in records) return [notAnswered("dns dkim", wanted.name, records.noAnswer)];
  const keys = records.map(keyIn);
  if (keys.includes(keyIn(dkim.record))) {
    if (records.length === 1) return [ok(`${wanted.name} has the public key of DKIM_KEY`)];
    // With several records the result is undefined (RFC 6376 §3.6.2.2).
    return [warn(`${wanted.name} has ${records.length} records`, `Leave only: ${zoneLine(wanted)}`)];
  }
  if (records.length === 0) return [fail(`${wanted.name} has no record`, `Add: ${zoneLine(wanted)}`)];
  const seen = keys.includes("")
    ? `${wanted.name} has a revoked key`
    : `${wanted.name} has another key than DKIM_KEY, so all signatures fail`;
  return [fail(seen, `Replace it with: ${zoneLine(wanted)}`)];
}

/** The public key in a DKIM record: its `p=` tag, without the white space that zone files put into it. Undefined without the tag. */
function keyIn(record: string): string | undefined {
  const tag = record.split(";").find((each) => /^\s*p\s*=/.test(each));
  return tag?.replace(/^\s*p\s*=/, "").replace(/\s/g, "");
}

/**
 * Checks that the domain, or one above it, has a policy for forged mail (RFC 7489 §6.6.3). One of these is the domain of the organisation,
 * whose policy counts for all below.
 */
async function checkDmarc({ mailDomain }: DnsFacts, ask: Ask): Promise<Finding[]> {
  const { ok, warn, fail } = findingsOf("dns dmarc");
  const wanted = zoneLine(dmarcRecord(mailDomain));
  for (const domain of withParents(mailDomain)) {
    const records = await lookUp(ask, `_dmarc.${domain}`, "TXT");
    if ("noAnswer" in records) return [notAnswered("dns dmarc", `_dmarc.${domain}`, records.noAnswer)];
    const policies = records.filter((text) => /^v=DMARC1\s*(?:;|$)/.test(text));
    const [policy] = policies;
    if (policy === undefined) continue;
    if (policies.length > 1) {
      return [
        fail(`_dmarc.${domain} has ${policies.length} records, and receivers ignore several`, "Keep one of them"),
      ];
    }
    if (!/;\s*p\s*=\s*(?:none|quarantine|reject)\s*(?:;|$)/i.test(policy)) {
      return [fail(`_dmarc.${domain} has no policy: ${policy}`, `Replace it with: ${wanted}`)];
    }
    return [ok(`_dmarc.${domain}: ${policy}`)];
  }
  return [warn(`${mailDomain} has no DMARC record, which large receivers require`, `Add: ${wanted}`)];
}
