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
  /** The time limit for one domain; see `withinTime`. */
  attemptMs?: number;
  /** Allows loopback and private addresses in MX records. Otherwise a stranger's zone could make us connect to internal hosts. */
  allowPrivate?: boolean;
  nowMs?: () => number;
}

/**
 * Sends mail directly to the mail hosts of each recipient's domain (`OUTBOUND=direct`), over one connection for each mail
 * and domain. Domains are tried in order, each with its own time limit, so a dead domain only delays the next one.
 * Connections to one mail host are limited (host-connections.ts). A mail that finds none free is not tried, and waits in
 * the outbox.
 */
export function directRelay(options: DirectOptions): Relay {
  const { resolver, random, dnsMs = 15_000 } = options;
  const { keep, ended } = workUnderWay();
  const hostSlots: HostConnections = hostConnections(options.nowMs ?? performance.now.bind(performance));
  /** For each domain, the address that had no free connection last time. */
  const busyAddresses = boundedMemory<string, string>(20_000);

  /**
   * Delivers to one domain: tries each host in order, and the addresses of each host until one answers. Recipients with a
   * temporary failure are tried at the next host; a permanent failure is final (RFC 5321 §5.1, §4.2.1). If an address has
   * no free connection and no other address of its host answers, throws HostBusy instead of trying the next host: hosts of
   * lower preference may be worse.
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
      if (addresses === undefined) noAddress ??= again(`the DNS look-up of ${host} failed`);
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
      // A 5xx greeting counts as temporary, as in Postfix: it is about the host, not about the mail.
      const { failure, server } = error;
      const outcome: RelayOutcome = { kind: "retry", failure, maybeAccepted: false, server };
      return { outcomes: forAll(mail, outcome), hasAnswered: false };
    }
  }

  const relay: Relay = {
    send: deliver,
    close: ended,
    describe: () => "direct",
    serverOf: domainOf,
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
    // HostBusy means that nothing was tried. With several domains, a busy host counts as a temporary failure instead.
    const sent = await send(part).catch((error) => {
      if (error instanceof HostBusy && ofDomains.length > 1) return forAll(part, again(error.message));
      throw error;
    });
    for (const [index, recipient] of recipients.entries()) outcomes.set(recipient, sent[index]);
  }
  return mail.recipients.flatMap((recipient) => outcomes.get(recipient) ?? []);
}

/** Whether a server replied, or may have accepted the mail. */
function isAnswer(outcome: RelayOutcome): boolean {
  return outcome.kind !== "retry" || outcome.maybeAccepted || outcome.failure.code !== null;
}

/**
 * Whether a recipient may be tried at the next address: not after success, a permanent failure or a perhaps accepted mail.
 */
function maySeekOn(outcome: RelayOutcome | undefined): boolean {
  return outcome === undefined || (outcome.kind === "retry" && !outcome.maybeAccepted);
}

/** The outcome if no host of the domain has an address to try. */
function unreachable(domain: string, hosts: readonly string[]): RelayOutcome {
  if (hosts.length > maxHosts)
    return again(`none of the first ${maxHosts} mail hosts of ${domain} has a public address`);
  const hasMx = hosts.length > 1 || hosts[0] !== domain;
  return hasMx
    ? never(550, "5.4.4", `no mail host of ${domain} has a public address`)
    : never(550, "5.1.2", `${domain} doesn't exist or has no public address`);
}

/** The limits for one domain. Hundreds of dead hosts must not use up the time limit of the attempt. */
const maxHosts = 6;
const maxAttempts = 6;

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1).toLowerCase();
}
