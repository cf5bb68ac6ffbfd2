import { withParents } from "../domain/domains/domain-name.ts";
import { isReceiving } from "../domain/domains/readiness.ts";
import { passingMemory } from "../primitives/memory.ts";
import { type Domain, findNearestHolder, listProvenNames } from "../store/account/domains.ts";
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

/** How long a host is remembered, as the inbox of an address is. A changed domain is forgotten by a signal, and this is for a lost one. */
const rememberedMs = 30_000;
/** How long the names of domains are remembered, and with them which hosts are foreign. */
const foreignMs = 5_000;
const mostOwn = 20_000;
const mostForeign = 10_000;
/** The most names of domains to have in memory, about 2 MB. Reading 20,000 takes 20 ms, at most once in 5 seconds. */
export const mostNames = 20_000;

/**
 * Remembers the names of all proven domains, so that mail to random foreign domains costs no statement each. If there are too many names,
 * each unknown host is looked up, and foreign ones are remembered too.
 */
export function ownHosts({ db, now }: Pick<Deps, "db" | "now">, isSandbox: boolean): OwnHosts {
  const own = passingMemory<string, OwnHost>(mostOwn);
  const foreign = passingMemory<string, true>(mostForeign);
  let names: { read: Promise<ReadonlySet<string>>; untilMs: number } | undefined;
  let changes = 0;

  function provenNames(nowMs: number): Promise<ReadonlySet<string>> {
    if (names !== undefined && nowMs < names.untilMs) return names.read;
    const read = listProvenNames(db.mail, mostNames);
    const reading = { read, untilMs: nowMs + foreignMs };
    names = reading;
    read.catch(() => {
      if (names === reading) names = undefined;
    });
    return read;
  }

  return {
    async find(host) {
      const nowMs = now().getTime();
      const known = own.get(host, nowMs);
      if (known !== undefined || foreign.get(host, nowMs)) return known;
      const proven = await provenNames(nowMs);
      if (proven.size < mostNames && !withParents(host).some((name) => proven.has(name))) return undefined;
      const changesBefore = changes;
      const found = hostOf(host, await findNearestHolder(db.mail, host), isSandbox);
      // A change during the read may have made its result old.
      if (changes !== changesBefore) return found;
      if (found === undefined) foreign.set(host, true, nowMs + foreignMs);
      else own.set(host, found, nowMs + rememberedMs);
      return found;
    },
    recall: (host) => own.get(host, now().getTime()),
    forget() {
      changes += 1;
      names = undefined;
      own.clear();
      foreign.clear();
    },
  };
}

function hostOf(host: string, nearest: Domain | undefined, isSandbox: boolean): OwnHost | undefined {
  if (nearest === undefined) return undefined;
  const { id: domainId, name, returnPath, subdomains } = nearest;
  if (host === `${returnPath}.${name}`) return { domainId, hasReturnPaths: true, isLocal: false };
  if (host !== name && !subdomains) return undefined;
  const isLocal = isSandbox || isReceiving(nearest, [host === name ? name : `*.${name}`]);
  return { domainId, hasReturnPaths: false, isLocal };
}
