import type { RelayOutcome } from "../domain/outcome.ts";
import { boundedMemory } from "../primitives/memory.ts";
import { isPublicAddress } from "../standards/ip.ts";
import { type HostConnections, hostConnections } from "./host-connections.ts";
import { addressesOf, again, type LookUp, type MailResolver, mailHosts, never } from "./mx.ts";
import { HostBusy, type Relay, withinTime } from "./relay.ts";
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
  nowMs?: () => number;
}

/**
 * Mail goes straight to the servers of each recipient's domain (`OUTBOUND=direct`), a connection for each mail and domain.
 * The domains have their turn one after the other, and each its own time: a dead one costs the next nothing but patience.
 * A mail host gets so many connections at once (host-connections.ts), whatever domains lead to it: mail that finds none free is not
 * tried, and waits outside of the process.
 */
export function directRelay(options: DirectOptions): Relay {
  const { resolver, random, dnsMs = 15_000 } = options;
  const { keep, ended } = workUnderWay();
  const hostSlots: HostConnections = hostConnections(options.nowMs ?? performance.now.bind(performance));
  /** By domain, the address that had no connection free the last time. */
  const busyAddresses = boundedMemory<string, string>(20_000);

  /**
   * To one domain: each host in turn, of each host its addresses in turn until one answers. Whom a host puts off is
   * offered to the next one; what a server says for good about this mail is final (RFC 5321 §5.1, §4.2.1). A host of which an address
   * has no connection free is waited for: the next one may be worse.
   */
  async function deliver(mail: RelayedMail, signal: AbortSignal | undefined): Promise<RelayOutcome[]> {
    const { accountId = "" } = mail;
    const domain = domainOf(mail.recipients[0]?.address ?? "");
    const lookUp: LookUp = { resolver, random, dnsMs, signal };
    const hosts = await mailHosts(domain, lookUp);
    if (!Array.isArray(hosts)) return forAll(mail, hosts);
    let attempts = 0;
    let noAddress: RelayOutcome | undefined;
    let busyAddress: string | undefined;
    const last = new Map<RelayedRecipient, RelayOutcome>();
    for (const host of hosts.slice(0, maxHosts)) {
      const addresses = await addressesOf(host, lookUp);
      if (addresses === undefined) noAddress ??= again(`the name server gives no address of ${host}`);
      for (const address of addresses ?? []) {
        if (options.allowPrivate !== true && !isPublicAddress(address)) continue;
        if (attempts >= maxAttempts) break;
        const connection = hostSlots.enter(address, accountId);
        if (connection === undefined) {
          busyAddress ??= address;
          continue;
        }
        attempts += 1;
        const recipients = mail.recipients.filter((recipient) => maySeekOn(last.get(recipient)));
        const { outcomes, hasAnswered } = await deliverTo(host, address, { ...mail, recipients }, signal).finally(
          connection.leave,
        );
        for (const [index, outcome] of outcomes.entries()) {
          const recipient = recipients[index];
          if (recipient !== undefined) last.set(recipient, outcome);
        }
        if (!outcomes.some(maySeekOn)) return mail.recipients.map(lastOf);
        if (hasAnswered || signal?.aborted) break;
      }
      if (signal?.aborted || busyAddress !== undefined) break;
    }
    if (busyAddress !== undefined && ![...last.values()].some(isAnswer)) {
      busyAddresses.set(domain, busyAddress);
      throw new HostBusy(hostSlots.againInMs(busyAddress, accountId));
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
    checkRoom(to, accountId) {
      const address = busyAddresses.get(domainOf(to));
      if (address === undefined) return;
      if (!hostSlots.hasRoom(address, accountId)) throw new HostBusy(hostSlots.againInMs(address, accountId));
      busyAddresses.delete(domainOf(to));
    },
  };
  const inTime = withinTime(relay, options.attemptMs);
  return { ...relay, send: (mail, signal) => keep(domainByDomain(mail, (some) => inTime.send(some, signal))) };
}

async function domainByDomain(
  mail: RelayedMail,
  send: (mail: RelayedMail) => Promise<RelayOutcome[]>,
): Promise<RelayOutcome[]> {
  const ofDomains = [...Map.groupBy(mail.recipients, ({ address }) => domainOf(address)).values()];
  const outcomes = new Map<RelayedRecipient, RelayOutcome | undefined>();
  for (const recipients of ofDomains) {
    const part = { ...mail, recipients };
    // Where other domains have been tried, a host that is busy is one that puts the mail off.
    const sent = await send(part).catch((error) => {
      if (error instanceof HostBusy && ofDomains.length > 1) return forAll(part, again(error.message));
      throw error;
    });
    for (const [index, recipient] of recipients.entries()) outcomes.set(recipient, sent[index]);
  }
  return mail.recipients.flatMap((recipient) => outcomes.get(recipient) ?? []);
}

/** A server said it, or may have taken the mail. */
function isAnswer(outcome: RelayOutcome): boolean {
  return outcome.kind !== "retry" || outcome.maybeAccepted || outcome.failure.code !== null;
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
