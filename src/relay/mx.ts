import type { RelayOutcome } from "../domain/outcome.ts";
import { isIpAddress } from "../standards/ip.ts";
import { cleanLine } from "../standards/smtp-reply.ts";

/** The DNS queries for routing. `node:dns/promises` and its `Resolver` have this shape. */
export interface MailResolver {
  resolveMx(domain: string): Promise<{ exchange: string; priority: number }[]>;
  resolve4(name: string): Promise<string[]>;
  resolve6(name: string): Promise<string[]>;
}

export interface LookUp {
  resolver: MailResolver;
  random: () => number;
  /** The time limit of one look-up. */
  dnsMs: number;
  /** Ends the look-ups. */
  signal: AbortSignal | undefined;
}

export type Unroutable = Exclude<RelayOutcome, { kind: "sent" }>;

/**
 * The names of the mail hosts of a domain, in order of preference (RFC 5321 §5.1), or the reason why there are none.
 * Hosts of equal preference are shuffled to share the load. A domain without MX records is its own mail host.
 */
export async function mailHosts(domain: string, lookUp: LookUp): Promise<string[] | Unroutable> {
  const records = await answer(lookUp.resolver.resolveMx(domain), lookUp);
  if (records === undefined) return again(`the DNS look-up of the MX records of ${domain} failed`);
  if (records.length === 0) return [domain];
  const hosts = records.map(({ exchange, priority }) => ({
    name: exchange.replace(/\.$/, "").toLowerCase(),
    priority,
  }));
  const usable = hosts.filter(({ name }) => name !== "");
  // A null MX: the domain accepts no mail (RFC 7505 §3).
  if (usable.length === 0) return never(556, "5.1.10", `${domain} takes no mail (null MX)`);
  return usable
    .map((host) => ({ ...host, lot: lookUp.random() }))
    .sort((a, b) => a.priority - b.priority || a.lot - b.lot)
    .map(({ name }) => name);
}

/** The addresses of a host, IPv4 first; an empty list if it has none or does not exist; `undefined` if the DNS failed. */
export async function addressesOf(name: string, lookUp: LookUp): Promise<string[] | undefined> {
  // An MX record must have a host name (RFC 5321 §2.3.5), but some zones have an IP address.
  if (isIpAddress(name)) return [name];
  const { resolver } = lookUp;
  const [v4, v6] = await Promise.all([
    answer(resolver.resolve4(name), lookUp),
    answer(resolver.resolve6(name), lookUp),
  ]);
  const found = [...(v4 ?? []), ...(v6 ?? [])];
  return found.length === 0 && (v4 === undefined || v6 === undefined) ? undefined : found;
}

export function again(reason: string): Unroutable {
  return {
    kind: "retry",
    failure: { code: null, enhancedCode: "4.4.3", message: cleanLine(`Cannot route: ${reason}`) },
    maybeAccepted: false,
  };
}

export function never(code: number, enhancedCode: string, reason: string): Unroutable {
  return { kind: "failed", failure: { code, enhancedCode, message: cleanLine(`Cannot route: ${reason}`) } };
}

/**
 * Waits for the records of a query. Returns an empty list if there are none, or `undefined` if the DNS failed or took too
 * long. Some resolvers report "no such name" and "no such record" as the same error, so both are an empty list here.
 */
async function answer<T>(query: Promise<T[]>, { dnsMs, signal }: LookUp): Promise<T[] | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const giveUp = () => resolve(undefined);
  const limit = setTimeout(giveUp, dnsMs);
  signal?.addEventListener("abort", giveUp, { once: true });
  if (signal?.aborted) giveUp();
  try {
    return await Promise.race([query, late]);
  } catch (error) {
    const { code } = error as { code?: string };
    return code === "ENOTFOUND" || code === "ENODATA" ? [] : undefined;
  } finally {
    clearTimeout(limit);
    signal?.removeEventListener("abort", giveUp);
  }
}
