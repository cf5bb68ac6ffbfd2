import type { RelayOutcome } from "../domain/outcome.ts";
import { isPublicAddress } from "../standards/ip.ts";
import { addressesOf, again, type LookUp, type MailResolver, mailHosts, never } from "./mx.ts";
import { type Relay, withinTime } from "./relay.ts";
import { forAll, inTransactions, type RelayedMail, type RelayedRecipient } from "./relayed-mail.ts";
import { openSession, type SmtpTarget, type SmtpTimings, smtpTimings } from "./smtp-session.ts";
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
  /** How long the mail for one domain may take; see `withinTime`. */
  attemptMs?: number;
  /** Lets MX records lead to loopback and private addresses. Foreign data must not make us knock at internal doors. */
  allowPrivate?: boolean;
}

/**
 * Mail goes straight to the servers of each recipient's domain (`OUTBOUND=direct`), a connection for each mail and domain.
 * The domains have their turn one after the other, and each its own time: a dead one costs the next nothing but patience.
 */
export function directRelay(options: DirectOptions): Relay {
  const { resolver, random, dnsMs = 15_000 } = options;
  const { keep, ended } = workUnderWay();

  /**
   * To one domain: each host in turn, of each host its addresses in turn until one answers. Whom a host puts off is
   * offered to the next one; what a server says for good about this mail is final (RFC 5321 §5.1, §4.2.1).
   */
  async function deliver(mail: RelayedMail, signal: AbortSignal | undefined): Promise<RelayOutcome[]> {
    const domain = domainOf(mail.recipients[0]?.address ?? "");
    const lookUp: LookUp = { resolver, random, dnsMs, signal };
    const hosts = await mailHosts(domain, lookUp);
    if (!Array.isArray(hosts)) return forAll(mail, hosts);
    let attempts = 0;
    let noAddress: RelayOutcome | undefined;
    const last = new Map<RelayedRecipient, RelayOutcome>();
    for (const host of hosts.slice(0, maxHosts)) {
      const addresses = await addressesOf(host, lookUp);
      if (addresses === undefined) noAddress ??= again(`the name server gives no address of ${host}`);
      for (const address of addresses ?? []) {
        if (options.allowPrivate !== true && !isPublicAddress(address)) continue;
        attempts += 1;
        if (attempts > maxAttempts) break;
        const recipients = mail.recipients.filter((recipient) => maySeekOn(last.get(recipient)));
        const { outcomes, hasAnswered } = await deliverTo(host, address, { ...mail, recipients }, signal);
        for (const [index, outcome] of outcomes.entries()) {
          const recipient = recipients[index];
          if (recipient !== undefined) last.set(recipient, outcome);
        }
        if (!outcomes.some(maySeekOn)) return mail.recipients.map(lastOf);
        if (hasAnswered || signal?.aborted) break;
      }
      if (signal?.aborted) break;
    }
    return mail.recipients.map(lastOf);

    function lastOf(recipient: RelayedRecipient): RelayOutcome {
      return last.get(recipient) ?? noAddress ?? unreachable(domain, hosts as string[]);
    }
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
      const outcomes = await inTransactions(mail, async (some) => (await session.send(some, signal)).outcomes);
      void keep(session.close());
      return { outcomes, hasAnswered: true };
    } catch (error) {
      if (!(error instanceof SmtpTrouble)) throw error;
      // A 5xx greeting is taken for a temporary one, as by Postfix: it speaks of the host, not of the mail.
      const outcome: RelayOutcome = { kind: "retry", failure: error.failure, maybeAccepted: false };
      return { outcomes: forAll(mail, outcome), hasAnswered: false };
    }
  }

  const relay: Relay = {
    send: deliver,
    close: ended,
    describe: () => "direct",
    destinationOf: domainOf,
  };
  const inTime = withinTime(relay, options.attemptMs);
  return { ...relay, send: (mail, signal) => keep(domainByDomain(mail, (some) => inTime.send(some, signal))) };
}

async function domainByDomain(
  mail: RelayedMail,
  send: (mail: RelayedMail) => Promise<RelayOutcome[]>,
): Promise<RelayOutcome[]> {
  const ofDomains = Map.groupBy(mail.recipients, ({ address }) => domainOf(address));
  const outcomes = new Map<RelayedRecipient, RelayOutcome | undefined>();
  for (const recipients of ofDomains.values()) {
    const sent = await send({ ...mail, recipients });
    for (const [index, recipient] of recipients.entries()) outcomes.set(recipient, sent[index]);
  }
  return mail.recipients.flatMap((recipient) => outcomes.get(recipient) ?? []);
}

/** A mail that may have arrived is not offered to another host at once. */
function maySeekOn(outcome: RelayOutcome | undefined): boolean {
  return outcome === undefined || (outcome.kind === "retry" && !outcome.maybeAccepted);
}

/** No host of the domain was one to knock at. */
function unreachable(domain: string, hosts: readonly string[]): RelayOutcome {
  if (hosts.length > maxHosts)
    return again(`none of the first ${maxHosts} mail hosts of ${domain} has a public address`);
  const hasMx = hosts.length > 1 || hosts[0] !== domain;
  return hasMx
    ? never(550, "5.4.4", `no mail host of ${domain} has a public address`)
    : never(550, "5.1.2", `${domain} doesn't exist or has no public address`);
}

/** A domain with hundreds of hosts that are dead, or don't exist, must not keep us busy until the attempt's time is over. */
const maxHosts = 6;
const maxAttempts = 6;

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1).toLowerCase();
}
