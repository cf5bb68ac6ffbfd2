import type { NameServer } from "../standards/name-server.ts";
import { type Alias, type Answer, answerIn, maxAliases, unknown } from "./answers.ts";
import { exchange } from "./exchange.ts";
import { questionOf } from "./message.ts";
import { type RecordType, typeNumbers } from "./records.ts";

/**
 * Questions to the name servers of a zone itself, so that no cache repeats an old answer. Used to check the records of own domains: the
 * names, and the servers, are those of strangers, so questions, time and addresses are bounded.
 */
export interface ZoneQuestions {
  /** Finds the zone of a name by the NS records of it and the names above it. Undefined if nobody says. */
  zoneOf(name: string): Promise<string | undefined>;
  /**
   * Asks each server of the zone that has `domain`, which is the name or one above it. There is one answer if the servers could not be
   * found, or none of them is reached.
   */
  ask<Type extends RecordType>(name: string, type: Type, domain: string): Promise<readonly ServerAnswer<Type>[]>;
}

/** The answer of one server. */
export type ServerAnswer<Type extends RecordType = RecordType> = Answer<Type> & {
  /** Whether the name is an alias (CNAME). */
  isAlias: boolean;
};

export interface ZoneOptions {
  /** The servers that resolve any name: those of this machine, or of DNS_SERVERS. */
  resolvers: readonly NameServer[];
  /** Whether only `resolvers` are asked, each of them, instead of the zone's own servers. */
  resolversAlone: boolean;
  /** Whether the server of a zone may have this address. */
  isAllowed: (address: string) => boolean;
  randomBytes: (length: number) => Uint8Array;
  signal: AbortSignal;
  limits?: Partial<ZoneLimits>;
}

export interface ZoneLimits {
  questions: number;
  /** The time limit of all questions together. */
  ms: number;
  /** The time limit for one reply from one server. */
  tryMs: number;
  /** The most servers of a zone to ask. */
  servers: number;
  /** The port of a zone's servers. */
  port: number;
}

const usualLimits: ZoneLimits = { questions: 40, ms: 10_000, tryMs: 1500, servers: 3, port: 53 };

/** Servers to ask, and the zone that they serve. */
interface Zone {
  name: string | undefined;
  servers: readonly NameServer[];
}

/** The questions of one check. The servers that it has found are remembered until its end. */
export function zoneQuestions(options: ZoneOptions): ZoneQuestions {
  const { resolvers, resolversAlone, isAllowed, randomBytes, signal } = options;
  const limits = { ...usualLimits, ...options.limits };
  const endMs = performance.now() + limits.ms;
  let left = limits.questions;
  const zones = new Map<string, Promise<Zone>>();

  /** Asks one server, first with EDNS and then without, because a datagram may be lost and a server may not support EDNS. */
  async function askOne<Type extends RecordType>(
    server: NameServer,
    name: string,
    type: Type,
  ): Promise<(Answer<Type> | Alias) & { isAlias: boolean }> {
    const question = questionOf(name, type);
    if (question === undefined) return { kind: "no_name", ttlSeconds: 0, isAlias: false };
    let last: Answer<Type> = unknown("no answer in time");
    for (const isPlain of [false, true]) {
      const ms = Math.min(limits.tryMs, endMs - performance.now());
      if (ms <= 0 || signal.aborted) break;
      if (left <= 0) return { ...unknown("too many questions"), isAlias: false };
      left -= 1;
      const message = await exchange({ server, question, randomBytes, isPlain, ms, signal });
      if (typeof message === "string") {
        last = unknown(message);
        continue;
      }
      const isAlias = message.answers.some((each) => each.type === typeNumbers.CNAME && each.name === question.name);
      const answer = answerIn(message, question);
      if (answer.kind !== "unknown") return { ...answer, isAlias };
      last = answer;
    }
    return { ...last, isAlias: false };
  }

  /** Asks the resolvers in order, and returns the first usable answer. They follow aliases themselves. */
  async function resolve<Type extends RecordType>(name: string, type: Type): Promise<ServerAnswer<Type>> {
    let last: ServerAnswer<Type> = { ...unknown("no answer in time"), isAlias: false };
    for (const server of resolvers) {
      const answer = await askOne(server, name, type);
      if (answer.kind !== "alias" && answer.kind !== "unknown") return answer;
      if (answer.kind === "unknown") last = answer;
    }
    return last;
  }

  function zoneFor(name: string): Promise<Zone> {
    const known = zones.get(name);
    if (known !== undefined) return known;
    const found = findZone(name);
    zones.set(name, found);
    return found;
  }

  async function findZone(name: string): Promise<Zone> {
    const answer = await resolve(name, "NS");
    if (answer.kind === "unknown") return { name: undefined, servers: [] };
    if (answer.kind !== "found" || answer.isAlias) {
      const above = name.indexOf(".");
      return above < 0 ? { name: undefined, servers: [] } : zoneFor(name.slice(above + 1));
    }
    return { name, servers: resolversAlone ? [] : await serversNamed(answer.records.slice(0, 2 * limits.servers)) };
  }

  /** The servers of these names, one address each. A private address would make us send to machines beside this one. */
  async function serversNamed(hosts: readonly string[]): Promise<NameServer[]> {
    const servers: NameServer[] = [];
    for (const host of hosts) {
      if (servers.length === limits.servers) break;
      for (const type of ["A", "AAAA"] as const) {
        const answer = await resolve(host, type);
        const address = answer.kind === "found" ? answer.records.find(isAllowed) : undefined;
        if (address === undefined) continue;
        servers.push({ address, port: limits.port });
        break;
      }
    }
    return servers;
  }

  async function askZone<Type extends RecordType>(
    zone: Zone,
    name: string,
    type: Type,
    hops: number,
  ): Promise<readonly ServerAnswer<Type>[]> {
    if (zone.servers.length === 0) return [{ ...unknown("unreachable"), isAlias: false }];
    const answers = await Promise.all(zone.servers.map((server) => follow(zone, server, name, type, hops)));
    // A firewall that lets no DNS out answers nothing, whatever the zone. The resolvers are reached in spite of it.
    return answers.every(isSilent) ? [await resolve(name, type)] : answers;
  }

  /** Asks a server of a zone, and follows aliases and delegations to other zones. */
  async function follow<Type extends RecordType>(
    zone: Zone,
    server: NameServer,
    name: string,
    type: Type,
    hops: number,
  ): Promise<ServerAnswer<Type>> {
    const answer = await askOne(server, name, type);
    const target = answer.kind === "alias" ? answer.name : name;
    const goesOn = answer.kind === "alias" || (answer.kind === "unknown" && answer.reason === "a referral");
    if (!goesOn) return answer;
    if (hops >= maxAliases) return { ...unknown("aliases without end"), isAlias: answer.isAlias };
    const next = await zoneFor(target);
    if (answer.kind !== "alias" && next.name === zone.name) return answer;
    const further =
      next.name === zone.name
        ? [await follow(zone, server, target, type, hops + 1)]
        : await askZone(next, target, type, hops + 1);
    return { ...agreed(further), isAlias: answer.isAlias };
  }

  return {
    zoneOf: async (name) => (await zoneFor(name)).name,
    async ask(name, type, domain) {
      if (!resolversAlone) return askZone(await zoneFor(domain), name, type, 0);
      const answers = await Promise.all(resolvers.slice(0, limits.servers).map((server) => askOne(server, name, type)));
      return answers.map((answer) => (answer.kind === "alias" ? { ...unknown("a referral"), isAlias: true } : answer));
    },
  };
}

function isSilent(answer: Answer): boolean {
  return answer.kind === "unknown" && (answer.reason === "no answer in time" || answer.reason === "unreachable");
}

/** One answer of several servers. Those that gave none are left out. */
function agreed<Type extends RecordType>(answers: readonly ServerAnswer<Type>[]): Answer<Type> {
  const [first = unknown("unreachable"), ...others] = answers.filter(({ kind }) => kind !== "unknown");
  return others.every((other) => contentOf(other) === contentOf(first)) ? first : unknown("servers that differ");
}

function contentOf(answer: Answer): string {
  const records = answer.kind === "found" ? answer.records.map((record) => JSON.stringify(record)).toSorted() : [];
  return [answer.kind, ...records].join("\n");
}
