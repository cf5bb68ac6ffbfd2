import { type DnsObserver, dnsOutcomes } from "../dns/client.ts";
import { type Proof, proofs } from "../domain/domains/domain-states.ts";
import type { Registry } from "./registry.ts";

/** Measures of DNS questions, and of the domains that are checked by them. */
export interface DnsWatch {
  /** Counts DNS questions. Undefined if metrics are off. */
  dns: DnsObserver | undefined;
  /** Counts the checks of domains by what they say about the proof. */
  domainChecked: ((proof: Proof) => void) | undefined;
}

export const unwatchedDns: DnsWatch = {
  dns: undefined,
  domainChecked: undefined,
};

export function watchDns(metrics: Registry): DnsWatch {
  return {
    dns: dnsObserver(metrics),
    domainChecked: domainObserver(metrics),
  };
}

function dnsObserver(metrics: Registry): DnsObserver {
  const questions = metrics.counter(
    "inboxd_dns_questions_total",
    "DNS questions by outcome: kept (answered from memory, or by a question that was out already), asked, timed_out, refused (not asked, because no name server answers or too many questions wait)",
    ["outcome"],
  );
  const byOutcome = new Map(dnsOutcomes.map((outcome) => [outcome, questions({ outcome })]));
  return (outcome) => byOutcome.get(outcome)?.add();
}

function domainObserver(metrics: Registry): DnsWatch["domainChecked"] {
  const checks = metrics.counter(
    "inboxd_domain_checks_total",
    "Checks of own domains by outcome: valid (the DKIM record is found), taken (so is that of another account, which has the domain), gone, unknown (no answer, or name servers that differ)",
    ["outcome"],
  );
  const byProof = new Map(proofs.map((outcome) => [outcome, checks({ outcome })]));
  return (proof) => byProof.get(proof)?.add();
}
