import { domainReadiness } from "../../domain/domains/readiness.ts";
import { shownRecords, wantedRecords } from "../../domain/domains/records.ts";
import type { DomainOwner } from "../../store/account/domains.ts";
import type { DomainDeps, ShownDomain } from "./manage-domains.ts";

/** A domain as the API and the command line show it. Only its owner sees its records. */
export function asShown({ names }: Pick<DomainDeps, "names">, viewer: DomainOwner, domain: ShownDomain) {
  const { sending, receiving } = domainReadiness(domain);
  const isOwn = domain.accountId === viewer;
  return {
    id: domain.id,
    domain: domain.name,
    shared: domain.accountId === null,
    status: domain.status,
    sending,
    receiving,
    subdomains: domain.subdomains,
    records: isOwn ? shownRecords(wantedRecords(domain, domain.keys, names), domain).map(inOrder) : [],
    inboxCount: domain.inboxCount,
    checkedAt: domain.checkedAt?.toISOString() ?? null,
    nextCheckAt: domain.nextCheckAt?.toISOString() ?? null,
    verifiedAt: domain.verifiedAt?.toISOString() ?? null,
    failsAt: domain.failsAt?.toISOString() ?? null,
    createdAt: domain.createdAt.toISOString(),
  };
}

function inOrder(record: ReturnType<typeof shownRecords>[number]) {
  const { purpose, required, type, name, host, value, priority, status, problem, hint, found } = record;
  return { purpose, required, type, name, host, value, priority, status, problem, hint, found: [...found] };
}
