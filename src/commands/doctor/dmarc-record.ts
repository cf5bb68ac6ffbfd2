import type { Ask } from "../../dns/client.ts";
import { dmarcRecord, zoneLine } from "../../domain/dns-zone.ts";
import type { DnsFacts } from "./dns-facts.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { lookUp, notAnswered } from "./look-up.ts";

/** Whether the domain, or one above it, says what to do with forged mail (RFC 7489 §6.6.3). */
export async function checkDmarc({ mailDomain }: DnsFacts, ask: Ask): Promise<Finding[]> {
  const { ok, warn, fail } = findingsOf("dns dmarc");
  const wanted = zoneLine(dmarcRecord(mailDomain));
  for (const domain of withParents(mailDomain)) {
    const records = await lookUp(ask, `_dmarc.${domain}`, "TXT");
    if ("noAnswer" in records) return [notAnswered("dns dmarc", `_dmarc.${domain}`, records.noAnswer)];
    const policies = records.filter((text) => /^v=DMARC1\s*(?:;|$)/.test(text));
    const [policy] = policies;
    if (policy === undefined) continue;
    if (policies.length > 1) {
      return [fail(`_dmarc.${domain} has ${policies.length} records, and more than one is none`, "Leave one of them")];
    }
    if (!/;\s*p\s*=\s*(?:none|quarantine|reject)\s*(?:;|$)/i.test(policy)) {
      return [fail(`_dmarc.${domain} names no policy: ${policy}`, `Put in its place: ${wanted}`)];
    }
    return [ok(`_dmarc.${domain}: ${policy}`)];
  }
  return [warn(`${mailDomain} has no DMARC record, which large receivers ask for`, `Add: ${wanted}`)];
}

/** The domain and those above it that have two labels or more: the organisation's is one of these. */
function withParents(domain: string): string[] {
  const labels = domain.split(".");
  return labels.slice(0, Math.max(1, labels.length - 1)).map((_, index) => labels.slice(index).join("."));
}
