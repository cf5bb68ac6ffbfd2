import type { HandOver } from "../domain/cell-peer.ts";
import { withCellPeers } from "../flows/send/cell-peers.ts";
import type { MailResolver } from "../relay/mx.ts";
import type { Relay } from "../relay/relay.ts";
import { version } from "../version.ts";
import { webhookClient } from "../webhook/client.ts";
import { mailHander } from "../webhook/hand-over.ts";
import type { Opening } from "./opening.ts";

/** The time in which another cell takes a mail: a little more than it may need to store one. */
const handOverMs = 60_000;
/** A relay needs no DNS, so without an answer the mail goes out by it. */
const dnsMs = 5_000;

/** Makes the function that hands mail to other cells. Undefined if there are none. */
export function openHandOver({ config, opened }: Pick<Opening, "config" | "opened">): HandOver | undefined {
  const { cell, cellPeers, ingestToken: token } = config;
  if (cellPeers.length === 0 || token === undefined) return undefined;
  const client = webhookClient({ allowPrivate: true, version, timeoutMs: handOverMs });
  opened.push(client.close);
  return mailHander({ client, token, cell });
}

/** Adds the way to other cells to the way out, if there are any. */
export function withOtherCells(
  { config, deps, opened }: Pick<Opening, "config" | "deps" | "opened">,
  way: Relay,
  resolver: MailResolver,
): Relay {
  const handOver = openHandOver({ config, opened });
  if (handOver === undefined) return way;
  return withCellPeers(way, { peers: config.cellPeers, handOver, lookUp: { resolver, random: deps.random, dnsMs } });
}
