import { type DmarcPolicy, dmarcPolicies } from "../../domain/receive/authentication.ts";
import type { Check } from "../../domain/receive/verdict.ts";
import { findingMemory } from "./findings.ts";
import { mailauth } from "./mailauth-parts.ts";
import type { Questions } from "./questions.ts";

export interface FoundPolicy {
  record: "found" | "none" | "unknown";
  policy: DmarcPolicy | null;
  /** The name that has the record. */
  publishedBy: string | undefined;
  /** Whether the domain of SPF counts as the one in From. */
  spf: Check["alignment"];
  /** The same for each domain with a signature. */
  dkim: ReadonlyMap<string, Check["alignment"]>;
}

interface Domains {
  spf: string | null;
  dkim: readonly string[];
}

/**
 * Finds the DMARC policy of a domain and which of the other domains are aligned with it, by the tree walk of RFC 9989 §4.10. It runs while
 * SPF and DKIM are checked, so all their domains are given, whatever their results will be.
 */
export function findPolicy(fromDomain: string, domains: Domains, questions: Questions): Promise<FoundPolicy> {
  const key = [fromDomain, domains.spf ?? "", ...domains.dkim].join(" ");
  return policies.find(key, questions, (noted) => searchPolicy(fromDomain, domains, noted));
}

const policies = findingMemory<FoundPolicy>();

async function searchPolicy(fromDomain: string, domains: Domains, questions: Questions): Promise<FoundPolicy> {
  const dmarc = await mailauth.dmarc();
  const { response, dkimAligned } = await dmarc.evaluate({
    headerFrom: [`someone@${fromDomain}`],
    fromFields: 1,
    spfDomains: domains.spf === null ? [] : [domains.spf],
    dkimDomains: domains.dkim.map((domain) => ({ domain })),
    resolver: questions.ask,
    strict: true,
  });
  if (response === false) throw new Error(`Cannot find DMARC policy: ${fromDomain} is not a domain`);
  const { status, policyDomain, alignment } = response;
  if (policyDomain === undefined) {
    const record = status.result === "none" ? "none" : "unknown";
    const isSame = (domain: string) => dmarc.aligned(fromDomain, [{ domain }], false) !== false;
    const found = { record, policy: null, publishedBy: undefined } as const;
    return withAlignments(found, domains, (_kind, domain) => {
      if (domain === fromDomain) return "aligned";
      if (!isSame(domain)) return "other";
      return record === "none" ? "aligned" : "unknown";
    });
  }
  const aligned = {
    spf: alignment?.spf?.result === undefined ? new Set<string>() : new Set([domains.spf]),
    dkim: dkimAligned ?? new Set<string>(),
  };
  const found = {
    record: "found",
    policy: dmarcPolicies.find((each) => each === response.policy) ?? null,
    publishedBy: policyDomain,
  } as const;
  return withAlignments(found, domains, (kind, domain) => {
    if (aligned[kind].has(domain)) return "aligned";
    const isBelow = domain === response.domain || domain.endsWith(`.${response.domain}`);
    const isStrict = alignment?.[kind]?.strict === true;
    return isBelow && !isStrict && questions.hasFailed() ? "unknown" : "other";
  });
}

function withAlignments(
  found: Pick<FoundPolicy, "record" | "policy" | "publishedBy">,
  { spf, dkim }: Domains,
  alignmentOf: (kind: "spf" | "dkim", domain: string) => Check["alignment"],
): FoundPolicy {
  return {
    ...found,
    spf: spf === null ? "other" : alignmentOf("spf", spf),
    dkim: new Map(dkim.map((domain) => [domain, alignmentOf("dkim", domain)])),
  };
}
