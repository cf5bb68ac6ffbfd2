import { withParents } from "../domain/domains/domain-name.ts";
import { isReceiving } from "../domain/domains/readiness.ts";
import { passingMemory } from "../primitives/memory.ts";
import {
  findNearestHolder,
  listProvenDomains,
  type ProvenDomain,
  type ProvenDomains,
} from "../store/account/domains.ts";
import type { Deps } from "./deps.ts";

/** A host of a proven domain: the domain itself, a name below it that may have inboxes, or the host of its return paths. */
export interface OwnHost {
  domainId: string;
  /** Whether the host has return paths alone, and no inboxes. */
  hasReturnPaths: boolean;
  /** Whether our own mail to this host goes by our own door: its MX leads here, or nothing goes out in sandbox mode. */
  isLocal: boolean;
}

/** Finds the hosts of own and shared domains, for mail in both directions. */
export interface OwnHosts {
  find(host: string): Promise<OwnHost | undefined>;
  /** The host as it is remembered, without a read. */
  recall(host: string): OwnHost | undefined;
  /** Forgets all hosts, because a domain has changed. */
  forget(): void;
}

/** How long the proven domains are remembered. A changed domain is forgotten by a signal, and this is for a lost one. */
const rememberedMs = 5_000;
/** The most domains to have in memory, about 5 MB. Reading 10,000 takes 40 ms. */
const mostDomainsInMemory = 10_000;
/** Beyond that number of domains, hosts are remembered one by one: own ones as long as the inboxes of addresses are. */
const ownMs = 30_000;
const mostHosts = 10_000;

/**
 * Remembers all proven domains, so that neither mail for many of them nor mail to random foreign hosts costs a statement each. If there are
 * too many, each host is looked up, and remembered whether it is own or foreign.
 */
export function ownHosts(
  { db, now }: Pick<Deps, "db" | "now">,
  isSandbox: boolean,
  mostDomains = mostDomainsInMemory,
): OwnHosts {
  const hosts = passingMemory<string, OwnHost | "foreign">(mostHosts);
  let domains: { read: Promise<ProvenDomains>; untilMs: number } | undefined;
  let lastRead: ProvenDomains | undefined;
  let changes = 0;

  function provenDomains(nowMs: number): Promise<ProvenDomains> {
    if (domains !== undefined && nowMs < domains.untilMs) return domains.read;
    // One more, to see whether there are too many.
    const read = listProvenDomains(db.mail, mostDomains + 1);
    const reading = { read, untilMs: nowMs + rememberedMs };
    domains = reading;
    read.then(
      (found) => {
        if (domains === reading) lastRead = found;
      },
      () => {
        if (domains === reading) domains = undefined;
      },
    );
    return read;
  }

  function remembered(host: string): OwnHost | undefined {
    const known = hosts.get(host, now().getTime());
    return known === "foreign" ? undefined : known;
  }

  async function lookedUp(host: string, nowMs: number): Promise<OwnHost | undefined> {
    if (hosts.get(host, nowMs) !== undefined) return remembered(host);
    const changesBefore = changes;
    const found = hostOf(host, await findNearestHolder(db.mail, host), isSandbox);
    // A change during the read may have made its result old.
    if (changes === changesBefore)
      hosts.set(host, found ?? "foreign", nowMs + (found === undefined ? rememberedMs : ownMs));
    return found;
  }

  return {
    async find(host) {
      const nowMs = now().getTime();
      const all = await provenDomains(nowMs);
      return all.size <= mostDomains ? hostOf(host, nearestIn(all, host), isSandbox) : lookedUp(host, nowMs);
    },
    recall: (host) =>
      lastRead !== undefined && lastRead.size <= mostDomains
        ? hostOf(host, nearestIn(lastRead, host), isSandbox)
        : remembered(host),
    forget() {
      changes += 1;
      domains = undefined;
      lastRead = undefined;
      hosts.clear();
    },
  };
}

/** The domain with the nearest name: the host itself, or one above it. */
function nearestIn(all: ProvenDomains, host: string): ProvenDomain | undefined {
  for (const name of withParents(host)) {
    const domain = all.get(name);
    if (domain !== undefined) return domain;
  }
  return undefined;
}

function hostOf(host: string, nearest: ProvenDomain | undefined, isSandbox: boolean): OwnHost | undefined {
  if (nearest === undefined) return undefined;
  const { id: domainId, name, returnPath, subdomains } = nearest;
  if (host === `${returnPath}.${name}`) return { domainId, hasReturnPaths: true, isLocal: false };
  if (host !== name && !subdomains) return undefined;
  const isLocal = isSandbox || isReceiving(nearest, [host === name ? name : `*.${name}`]);
  return { domainId, hasReturnPaths: false, isLocal };
}
