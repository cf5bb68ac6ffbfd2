import { boundedMemory } from "../primitives/memory.ts";
import { type SharedPool, sharedPool } from "../primitives/shared-pool.ts";
import { originOf } from "../standards/ip.ts";

/** Limits the connections to each mail host by its address, because many domains may share one host. */
export interface HostConnections {
  /** Takes a connection to this address, until `leave` is called; undefined if none is free. */
  enter(address: string, accountId: string): { leave(): void } | undefined;
  /** The delay before the next try if none is free. Each call for the same host and account gets a later time. */
  againInMs(address: string, accountId: string): number;
  hasRoom(address: string, accountId: string): boolean;
}

/**
 * At most 20 connections to an IPv4 address or an IPv6 /64. One account gets at most 16; the last 4 go to accounts with
 * few.
 */
const connections = { common: 16, kept: 4 };
const againAfterMs = 1000;
/** The interval between two tries: 20 a second, the rate of a host with 20 connections and one second for a mail. */
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
