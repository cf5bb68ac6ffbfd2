import type { RelayOutcome } from "../domain/outcome.ts";
import { isPublicAddress } from "../standards/ip.ts";
import { addressesOf, again, type LookUp, type MailResolver, mailHosts, never } from "./mx.ts";
import type { Relay } from "./relay.ts";
import { openSession, type RelayedMail, type SmtpTarget, type SmtpTimings, smtpTimings } from "./smtp-session.ts";
import { SmtpTrouble } from "./smtp-trouble.ts";
import { workUnderWay } from "./under-way.ts";

export interface DirectOptions {
  /** Our name for EHLO. */
  hostname: string;
  resolver: MailResolver;
  random: () => number;
  port?: number;
  timings?: Partial<SmtpTimings>;
  dnsMs?: number;
  /** Lets MX records lead to loopback and private addresses. Foreign data must not make us knock at internal doors. */
  allowPrivate?: boolean;
}

/** Mail goes straight to the servers of each recipient's domain (`OUTBOUND=direct`), a connection for each mail. */
export function directRelay(options: DirectOptions): Relay {
  const { resolver, random, dnsMs = 15_000 } = options;
  const { keep, ended } = workUnderWay();

  /**
   * Each host in turn, of each host its addresses in turn until one answers. A temporary refusal leads to the next
   * host; what a server says for good about this mail is final (RFC 5321 §5.1, §4.2.1).
   */
  async function deliver(mail: RelayedMail, signal: AbortSignal | undefined): Promise<RelayOutcome> {
    const domain = domainOf(mail.to);
    const lookUp: LookUp = { resolver, random, dnsMs, signal };
    const hosts = await mailHosts(domain, lookUp);
    if (!Array.isArray(hosts)) return hosts;
    let attempts = 0;
    let last: RelayOutcome | undefined;
    for (const host of hosts.slice(0, maxHosts)) {
      const addresses = await addressesOf(host, lookUp);
      if (addresses === undefined) last ??= again(`the name server gives no address of ${host}`);
      for (const address of addresses ?? []) {
        if (options.allowPrivate !== true && !isPublicAddress(address)) continue;
        attempts += 1;
        if (attempts > maxAttempts) break;
        const { outcome, hasAnswered } = await deliverTo(host, address, mail, signal);
        // A mail that may have arrived is not offered to another host at once.
        if (outcome.kind !== "retry" || outcome.maybeAccepted) return outcome;
        last = outcome;
        if (hasAnswered || signal?.aborted) break;
      }
      if (signal?.aborted) break;
    }
    if (last) return last;
    if (hosts.length > maxHosts)
      return again(`none of the first ${maxHosts} mail hosts of ${domain} has a public address`);
    const hasMx = hosts.length > 1 || hosts[0] !== domain;
    return hasMx
      ? never(550, "5.4.4", `no mail host of ${domain} has a public address`)
      : never(550, "5.1.2", `${domain} doesn't exist or has no public address`);
  }

  async function deliverTo(host: string, address: string, mail: RelayedMail, signal: AbortSignal | undefined) {
    const target: SmtpTarget = {
      host,
      address,
      port: options.port ?? 25,
      tls: "opportunistic",
      login: undefined,
      ca: undefined,
      hostname: options.hostname,
      timings: { ...smtpTimings, ...options.timings },
    };
    try {
      const session = await openSession(target, signal);
      const { outcome } = await session.send(mail, signal);
      void keep(session.close());
      return { outcome, hasAnswered: true };
    } catch (error) {
      if (!(error instanceof SmtpTrouble)) throw error;
      // A 5xx greeting is taken for a temporary one, as by Postfix: it speaks of the host, not of the mail.
      const outcome: RelayOutcome = { kind: "retry", failure: error.failure, maybeAccepted: false };
      return { outcome, hasAnswered: false };
    }
  }

  return {
    send: (mail, signal) => keep(deliver(mail, signal)),
    close: ended,
    describe: () => "direct",
    destinationOf: domainOf,
  };
}

/** A domain with hundreds of hosts that are dead, or don't exist, must not keep us busy until the attempt's time is over. */
const maxHosts = 6;
const maxAttempts = 6;

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1).toLowerCase();
}
