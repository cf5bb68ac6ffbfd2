import { boundedMemory } from "../primitives/memory.ts";
import { type SharedPool, sharedPool } from "../primitives/shared-pool.ts";
import { originOf } from "../standards/ip.ts";

/** The connections to each mail host, by its address: however many domains lead there, it gets no more than its share of ours. */
export interface HostConnections {
  /** A connection to this address; undefined: not now. The connection ends with `leave`. */
  enter(address: string, accountId: string): { leave(): void } | undefined;
  /** In how many milliseconds to ask again, where there is none now. Those that ask are given times one behind the other. */
  againInMs(address: string, accountId: string): number;
  hasRoom(address: string, accountId: string): boolean;
}

/** An IPv4 address or an IPv6 /64 gets 20 connections at most. One account has 16, and the last ones one each. */
const connections = { common: 16, kept: 4 };
const againAfterMs = 1000;
/** As many as a host answers that takes a second for a mail. */
const betweenAsksMs = 50;

export function hostConnections(nowMs: () => number): HostConnections {
  const hosts = new Map<string, SharedPool<{ accountId: string }>>();
  const lastAsks = boundedMemory<string, number>(20_000);
  const hostOf = (address: string) => originOf(address).network;
  const isFree = (host: string, accountId: string) => {
    const pool = hosts.get(host);
    return pool === undefined || pool.left(0, accountId) > 0;
  };

  return {
    enter(address, accountId) {
      const host = hostOf(address);
      if (!isFree(host, accountId)) return undefined;
      const pool = hosts.get(host) ?? sharedPool<{ accountId: string }>(connections);
      hosts.set(host, pool);
      const stay = { accountId };
      pool.enter(stay);
      return {
        leave() {
          pool.leave(stay);
          if (pool.size() === 0) hosts.delete(host);
        },
      };
    },
    againInMs(address, accountId) {
      const asker = `${hostOf(address)} ${accountId}`;
      const askedMs = nowMs();
      const inMs = Math.max(againAfterMs, (lastAsks.get(asker) ?? 0) + betweenAsksMs - askedMs);
      lastAsks.set(asker, askedMs + inMs);
      return inMs;
    },
    hasRoom: (address, accountId) => isFree(hostOf(address), accountId),
  };
}
