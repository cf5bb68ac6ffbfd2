import { domainReadiness } from "../../domain/domains/readiness.ts";
import { shownRecords, wantedRecords } from "../../domain/domains/records.ts";
import {
  countListedDomains,
  type DomainOwner,
  type DomainPage,
  listDomainKeys,
  listDomains,
} from "../../store/account/domains.ts";
import type { DomainDeps, ShownDomain } from "./manage-domains.ts";

/** A page of the owner's domains and the shared ones, and how many there are in all. */
export async function shownDomains(deps: Pick<DomainDeps, "db" | "names">, page: DomainPage) {
  const { db } = deps;
  const [found, total] = await Promise.all([listDomains(db.api, page), countListedDomains(db.api, page)]);
  const ids = found.map(({ id }) => id);
  const keys = Map.groupBy(await listDomainKeys(db.api, ids), ({ domainId }) => domainId);
  return {
    data: found.map((domain) => asShown(deps, page.owner, { ...domain, keys: keys.get(domain.id) ?? [] })),
    total,
  };
}

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
