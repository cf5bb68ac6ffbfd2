import type { HandOver } from "../domain/cell-peer.ts";
import { withCellPeers } from "../flows/send/cell-peers.ts";
import type { CellOfMoved } from "../http/shell/moved.ts";
import type { MailResolver } from "../relay/mx.ts";
import type { Relay } from "../relay/relay.ts";
import { version } from "../version.ts";
import { webhookClient } from "../webhook/client.ts";
import { askCell, mailHander } from "../webhook/hand-over.ts";
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

/** Makes the function that unsubscribes the recipient of a link in another cell. */
export function openUnsubscribing({ config, opened }: Pick<Opening, "config" | "opened">) {
  const client = webhookClient({ allowPrivate: true, version, timeoutMs: askMs });
  opened.push(client.close);
  return async (host: string, token: string): Promise<boolean> => {
    const peer = config.cellPeers.find((each) => each.host === host);
    if (peer === undefined) return false;
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const request = { url: `${peer.url}/u/${token}`, headers, body: "List-Unsubscribe=One-Click" };
    const reply = await client.post(request);
    return reply.kind === "answered" && reply.status === 200;
  };
}

/** Makes the function that finds that cell: the cell itself says it. */
export function cellsOfMoved({ config, closed, opened }: Pick<Opening, "config" | "closed" | "opened">): CellOfMoved {
  const client = webhookClient({ allowPrivate: true, version, timeoutMs: askMs });
  opened.push(client.close);
  const known = new Map<string, string>();
  return async (accountId) => {
    const host = closed.movedTo(accountId);
    const peer = config.cellPeers.find((each) => each.host === host);
    if (peer === undefined) return undefined;
    const remembered = known.get(peer.host);
    const answer = remembered === undefined ? await askCell(client, peer) : { cell: remembered };
    if ("why" in answer) return undefined;
    known.set(peer.host, answer.cell);
    // Two cells with one name would lead to each other for ever.
    return answer.cell === config.cell ? undefined : answer.cell;
  };
}

const askMs = 5_000;

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
