import type { CellPeer, HandOver } from "../../domain/cell-peer.ts";
import type { RelayOutcome } from "../../domain/outcome.ts";
import { boundedMemory } from "../../primitives/memory.ts";
import { type LookUp, mailHosts } from "../../relay/mx.ts";
import type { Relay } from "../../relay/relay.ts";
import { piecesOf, type RelayedMail } from "../../relay/relayed-mail.ts";
import { splitAddress } from "../../standards/address.ts";
import { sizeGate } from "../size-gate.ts";

export interface CellPeersOptions {
  peers: readonly CellPeer[];
  handOver: HandOver;
  lookUp: Omit<LookUp, "signal">;
}

/** Limits the bytes of mail for other cells that is in memory at the same time. */
const inMemory = sizeGate(24 << 20);

const mostRemembered = 20_000;

/**
 * Wraps the way out: mail for addresses of another cell is handed to that cell. These are the addresses at its own host, and at each domain
 * whose MX record names that host.
 */
export function withCellPeers(way: Relay, { peers, handOver, lookUp }: CellPeersOptions): Relay {
  const byHost = new Map(peers.map((peer) => [peer.host, peer]));
  const remembered = boundedMemory<string, CellPeer>(mostRemembered);

  async function peerOf(domain: string, signal: AbortSignal | undefined): Promise<CellPeer | undefined> {
    const own = byHost.get(domain);
    if (own !== undefined) return own;
    const hosts = await mailHosts(domain, { ...lookUp, signal });
    const peer = Array.isArray(hosts) ? hosts.flatMap((host) => byHost.get(host) ?? [])[0] : undefined;
    if (peer === undefined) remembered.delete(domain);
    else remembered.set(domain, peer);
    return peer;
  }

  /** Sends a mail to recipients who are all in one cell, or all outside. */
  async function sendTo(peer: CellPeer | undefined, mail: RelayedMail, signal?: AbortSignal): Promise<RelayOutcome[]> {
    if (peer === undefined) return way.send(mail, signal);
    const recipients = mail.recipients.map(({ address }) => address);
    const { envelopeFrom, body } = mail;
    return inMemory(body.sizeBytes, async () => {
      await mail.lookAgain?.();
      const raw = Buffer.concat(await Array.fromAsync(piecesOf(body)));
      return handOver(peer, { envelopeFrom, recipients, raw }, signal);
    });
  }

  return {
    ...way,
    async send(mail, signal) {
      const domains = [...new Set(mail.recipients.map(({ address }) => domainOf(address)))];
      const peerOfDomain = new Map(
        await Promise.all(domains.map(async (domain) => [domain, await peerOf(domain, signal)] as const)),
      );
      const groups = [...Map.groupBy(mail.recipients, ({ address }) => peerOfDomain.get(domainOf(address)))];
      const outcomes = new Map<object, RelayOutcome | undefined>();
      for (const [peer, recipients] of groups) {
        const sent = await sendTo(peer, { ...mail, recipients }, signal);
        for (const [index, recipient] of recipients.entries()) outcomes.set(recipient, sent[index]);
      }
      return mail.recipients.flatMap((recipient) => outcomes.get(recipient) ?? []);
    },
    describe: () => `${way.describe()}, ${peers.length === 1 ? "another cell" : `${peers.length} other cells`}`,
    checkRoom(to, accountId) {
      const domain = domainOf(to);
      if (!byHost.has(domain) && remembered.get(domain) === undefined) way.checkRoom?.(to, accountId);
    },
    serverOf(to) {
      const domain = domainOf(to);
      return (byHost.get(domain) ?? remembered.get(domain))?.url ?? way.serverOf(to);
    },
  };
}

function domainOf(address: string): string {
  return (splitAddress(address)?.domain ?? "").toLowerCase();
}
