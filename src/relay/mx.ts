import type { RelayOutcome } from "../domain/outcome.ts";
import { isIpAddress } from "../standards/ip.ts";
import { cleanLine } from "../standards/smtp-reply.ts";

/** What we ask the DNS; `node:dns/promises` and its `Resolver` have this shape. */
export interface MailResolver {
  resolveMx(domain: string): Promise<{ exchange: string; priority: number }[]>;
  resolve4(name: string): Promise<string[]>;
  resolve6(name: string): Promise<string[]>;
}

export interface LookUp {
  resolver: MailResolver;
  random: () => number;
  /** How long one look-up may take. */
  dnsMs: number;
  /** Nobody waits for answers any more. */
  signal: AbortSignal | undefined;
}

export type Unroutable = Exclude<RelayOutcome, { kind: "sent" }>;

/**
 * The names of the hosts that take mail for a domain, best first (RFC 5321 §5.1): by preference, equals shuffled so
 * that they share the load, the domain itself where it has no MX. Or why there are none.
 */
export async function mailHosts(domain: string, lookUp: LookUp): Promise<string[] | Unroutable> {
  const records = await answer(lookUp.resolver.resolveMx(domain), lookUp);
  if (records === undefined) return again(`the name server gives no MX records of ${domain}`);
  if (records.length === 0) return [domain];
  const hosts = records.map(({ exchange, priority }) => ({
    name: exchange.replace(/\.$/, "").toLowerCase(),
    priority,
  }));
  const usable = hosts.filter(({ name }) => name !== "");
  // The null MX: "this domain takes no mail" (RFC 7505 §3).
  if (usable.length === 0) return never(556, "5.1.10", `${domain} takes no mail (null MX)`);
  return usable
    .map((host) => ({ ...host, lot: lookUp.random() }))
    .sort((a, b) => a.priority - b.priority || a.lot - b.lot)
    .map(({ name }) => name);
}

/** The addresses of a host, IPv4 first; none when it has none or does not exist; `undefined` when nobody could say. */
export async function addressesOf(name: string, lookUp: LookUp): Promise<string[] | undefined> {
  // RFC 5321 §2.3.5 wants a name here, but some zones hold an address.
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
 * The records, none where there are none, or `undefined` where the DNS did not say in time. That a name doesn't exist
 * and that it has no such record come as one and the same error from some resolvers, so here they are one.
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
